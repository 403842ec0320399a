"""Mode 6 of lorenz blocks: text (docs/LORENZ.md, section 12)."""
from ._errors import need
from ._streams import read_numbers, read_symbols

NONE, BEFORE, AGAIN, COLUMN = range(4)
RECENT, ROWS = 3, 64


def decode_text(r, n):
    """Returns the n bytes of a block as a bytearray."""
    options = r.byte("options")
    kind, streams = options & 3, (options >> 2) + 1
    need(streams <= (1 if kind == NONE else 16), f"text: expected at most 16 streams, found {streams}")
    row = r.uv("row", 256 if kind == COLUMN else n, 1)
    need(row <= n, f"row: expected at most {n}, found {row}")
    stream_of = [0]
    if kind != NONE:
        stream_of = read_numbers(r, row if kind == COLUMN else 256, "streams of contexts").tolist()
        need(max(stream_of) < streams, "text: a context of an unknown stream")
    count = r.uv("repeats", n // 2)
    literals, lengths, codes = (read_numbers(r, count, what).tolist() for what in ("literals", "lengths", "distances"))
    stored, left = [], n
    for _ in range(streams):
        have = r.uv("literals", left)
        left -= have
        symbols = read_symbols(r, have, False)
        symbols.finish(0)
        stored.append(iter(symbols.values.tolist()))
    out, recent = bytearray(), [1, row, 2 * row]

    def take(k):
        need(k <= n - len(out), "text: literals beyond the end of the block")
        try:
            if kind == NONE:
                out.extend([next(stored[0]) for _ in range(k)])
                return
            for _ in range(k):
                at, d = len(out), 1 if kind == BEFORE else recent[0]
                context = at % row if kind == COLUMN else out[at - d] if d <= at else 0
                out.append(next(stored[stream_of[context]]))
        except StopIteration:
            need(False, "text: too few literals")

    for run, length, code in zip(literals, lengths, codes):
        take(run)
        if code < RECENT:
            d = recent.pop(code)
        else:
            d = (code - RECENT + 1) * row if code < RECENT + ROWS else code - RECENT - ROWS + 1
        recent.insert(0, d)
        del recent[3:]
        length += 2
        need(d <= len(out), "text: repeat from before the block")
        need(length <= n - len(out), "text: repeat beyond the end of the block")
        piece = out[len(out) - d:]
        out += (piece * (length // d + 1))[:length]
    take(n - len(out))
    need(not any(True for s in stored for _ in s), "text: unused literals")
    return out
