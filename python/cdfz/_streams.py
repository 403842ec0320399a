"""The streams of lorenz blocks: symbols, numbers and groups (docs/LORENZ.md, section 8)."""
import numpy as np

from ._errors import need

CHUNK = 512                  # symbols of a chunk
BATCH = 1 << 16              # bytes of Huffman codes decoded at a time, at least one chunk
CONSTANT, RAW, HUFFMAN = range(3)
U64 = np.uint64


class Reader:
    """Reads the parts of a block in order."""

    def __init__(self, data):
        self.data, self.at = data, 0            # data: array of uint8

    def take(self, n, what):
        need(n <= len(self.data) - self.at, f"{what}: expected {n} bytes, found {len(self.data) - self.at}")
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self, what):
        return int(self.take(1, what)[0])

    def array(self, dtype, count, what):
        dtype = np.dtype(dtype)
        return np.frombuffer(self.take(count * dtype.itemsize, what).tobytes(), dtype)

    def uv(self, what, top, least=0):
        v = 0
        for shift in range(0, 64, 7):
            b = self.byte(what)
            v |= (b & 127) << shift
            if b < 128:
                need(least <= v <= top, f"{what}: expected {least} to {top}, found {v}")
                return v
        need(False, f"{what}: a number of more than 10 bytes")


class Bits:
    """Reads bits at many places of a byte array at once."""

    def __init__(self, data):
        words = np.zeros(len(data) // 8 + 2, "<u8")
        words.view(np.uint8)[:len(data)] = data
        self.words = words.astype(U64, copy=False)

    def get(self, at, width):
        """Returns the numbers of `width` bits, 0 to 64, that start at the bits `at`."""
        at = at.astype(U64, copy=False)
        width = np.asarray(width, U64)
        q, r = (at >> U64(6)).astype(np.intp), at & U64(63)
        v = self.words.take(q + 1, mode="clip")
        v <<= U64(1)
        v <<= U64(63) - r
        v |= self.words.take(q, mode="clip") >> r
        v &= ((U64(1) << (width >> U64(1))) << (width - (width >> U64(1)))) - U64(1)
        return v


class Symbols:
    """A symbol stream. If symbols may have extra bits, `bits` holds all chunks, and `at` and `end` are the bits at
    which the extra bits of each chunk begin and the chunk ends."""

    def __init__(self, values, bits=None, at=None, end=None):
        self.values, self.bits, self.at, self.end = values, bits, at, end

    def finish(self, used):
        """Checks that each chunk ends with the last byte of its extra bits. `used` is their number."""
        if self.bits is not None:
            need(((self.at + used + 7) // 8 * 8 == self.end).all(), "chunk of a wrong length")


def read_symbols(r, count, extra):
    if count == 0:
        return Symbols(np.empty(0, np.uint8))
    head = r.byte("symbol stream")
    method, wide = head & 3, head >> 2
    need(method <= HUFFMAN and wide <= extra, f"symbol stream: unexpected first byte {head}")
    symbol, code = 0, None
    if method == CONSTANT:
        symbol = r.byte("constant symbol")
    elif method == HUFFMAN:
        code = read_code(r)
    elif not wide:
        return Symbols(r.take(count, "symbols"))
    if method == CONSTANT and not wide:
        return Symbols(np.full(count, symbol, np.uint8))

    lens = read_chunk_lengths(r, -(-count // CHUNK))
    ends = np.cumsum(lens)
    starts, data = ends - lens, r.take(int(ends[-1]), "chunks")
    if method == CONSTANT:
        values, at = np.full(count, symbol, np.uint8), starts * 8
    elif method == RAW:
        sizes = np.minimum(CHUNK, count - CHUNK * np.arange(len(lens)))
        need((sizes <= lens).all(), "chunk of a wrong length")
        from_ = np.repeat(starts - CHUNK * np.arange(len(lens)), sizes) + np.arange(count)
        values, at = data[from_], (starts + sizes) * 8
    else:
        values, at = decode_huffman(data, starts, ends, count, *code)
    s = Symbols(values, Bits(data) if wide else None, at, ends * 8)
    if not wide:
        need(((at + 7) // 8 == ends).all(), "chunk of a wrong length")
    return s


def read_chunk_lengths(r, chunks):
    least = r.uv("smallest chunk", 65535)
    if chunks == 1:
        return np.array([least], np.int64)
    width = r.byte("chunk lengths")
    need(width <= 16, f"chunk lengths: expected at most 16 bits, found {width}")
    bits = Bits(r.take((chunks * width + 7) // 8, "chunk lengths"))
    return least + bits.get(width * np.arange(chunks), width).astype(np.int64)


def read_code(r):
    """The tables of a Huffman code: length and symbol of each window of 11 bits."""
    window = r.data[r.at:r.at + 1200].tobytes()
    stream, at, size = int.from_bytes(window, "little"), 8, 8 * len(window)

    def gamma():
        nonlocal at
        need(at < size, "code lengths: cut")
        rest = stream >> at
        zeros = (rest & -rest).bit_length() - 1
        need(0 <= zeros <= 8, "code lengths: a number of more than 9 bits")
        at += 2 * zeros + 1
        need(at <= size, "code lengths: cut")
        return (1 << zeros) | (rest >> (zeros + 1)) & ((1 << zeros) - 1)

    last, present, sym, run, on = stream & 255, [], 0, 0, True
    while sym <= last:
        run = gamma() - (sym == 0 and on)
        need(run <= last + 1 - sym, "code lengths: more symbols than announced")
        if on:
            present += range(sym, sym + run)
        sym, on = sym + run, not on
    need(not on, "code lengths: the last symbol is absent")
    lengths, length = [], 5
    for _ in present:
        z = gamma() - 1
        length += (z >> 1) ^ -(z & 1)
        need(1 <= length <= 11, f"code lengths: expected 1 to 11, found {length}")
        lengths.append(length)
    r.take((at + 7) // 8, "code lengths")
    need(sum(2048 >> x for x in lengths) == 2048, "code lengths: the code is not complete")

    # In order of length and symbol, each word covers a run of windows, highest bit first.
    order = sorted(range(len(present)), key=lambda i: lengths[i])   # stable, so then by symbol
    runs = np.array([2048 >> lengths[i] for i in order])
    by_value = np.arange(2048)
    reverse = np.zeros(2048, np.intp)
    for bit in range(11):
        reverse |= (by_value >> bit & 1) << (10 - bit)
    table_len = np.repeat(np.array([lengths[i] for i in order]), runs)[reverse]
    table_sym = np.repeat(np.array([present[i] for i in order], np.uint8), runs)[reverse]
    return table_len, table_sym


def decode_huffman(data, starts, ends, count, table_len, table_sym):
    """Returns the symbols of all chunks, and the bit after the last code word of each. For a code word that begins
    at some bit, the table `jump` holds the bit at which the next one begins. All chunks are decoded at the same
    time."""
    values, after = np.empty(count, np.uint8), np.empty(len(starts), np.int64)
    first = 0
    while first < len(starts):
        stop = max(first + 1, int(np.searchsorted(ends, starts[first] + BATCH, side="right")))
        base, lanes = int(starts[first]), stop - first
        d = np.zeros(int(ends[stop - 1]) - base + 2, np.uint32)
        d[:-2] = data[base:base + len(d) - 2]
        windows = d[:-2] | d[1:-1] << np.uint32(8) | d[2:] << np.uint32(16)
        windows = (windows[:, None] >> np.arange(8, dtype=np.uint32) & np.uint32(2047)).ravel().astype(np.intp)
        bits = len(windows)
        jump = np.empty(bits + 2, np.intp)          # bits + 1 stands for all places beyond the end
        np.add(table_len.take(windows, mode="clip"), np.arange(bits), out=jump[:-2])
        np.minimum(jump, bits + 1, out=jump)
        jump[bits:] = bits + 1
        # With few chunks, tables of jumps over 2, 4, … words compensate.
        steps = min(CHUNK, count - first * CHUNK)
        jumps = [jump]
        while lanes << len(jumps) < 256 and 1 << len(jumps) <= steps:
            jumps.append(jumps[-1].take(jumps[-1], mode="clip"))
        stride = 1 << len(jumps) - 1
        places = np.empty((-(-steps // stride) * stride + 1, lanes), np.intp)
        places[0] = (starts[first:stop] - base) * 8
        for i in range(0, len(places) - 1, stride):
            jumps[-1].take(places[i], out=places[i + stride], mode="clip")
        for j in reversed(jumps[:-1]):
            places[stride // 2::stride] = j.take(places[:-1:stride], mode="clip")
            stride //= 2
        if bits:
            v = table_sym.take(windows.take(places[:steps], mode="clip"), mode="clip").T.ravel()
        else:
            v = np.zeros(0, np.uint8)
        n = min(count, stop * CHUNK) - first * CHUNK
        need(n <= len(v), "chunk of a wrong length")
        values[first * CHUNK:first * CHUNK + n] = v[:n]
        at = places[min(steps, CHUNK)].copy()
        at[-1] = places[n - (lanes - 1) * CHUNK, -1]
        after[first:stop] = at + base * 8
        first = stop
    need((after <= ends * 8).all(), "chunk of a wrong length")
    return values, after


def read_numbers(r, count, what):
    """A number stream."""
    s = read_symbols(r, count, True)
    need(count == 0 or s.values.max() <= 248, f"{what}: symbol above 248")
    return widen(s, s.values.astype(U64), what)


def widen(s, v, what):
    """Returns the numbers of a number stream's symbols."""
    big = np.flatnonzero(s.values >= 192)
    used = 0
    if len(big):
        need(s.bits is not None, f"{what}: a large number without extra bits")
        width = s.values[big].astype(np.int64) - 185
        chunk = big // CHUNK
        used = np.bincount(chunk, width, len(s.at)).astype(np.int64)
        before = np.cumsum(width) - width
        at = s.at[chunk] + before - (np.cumsum(used) - used)[chunk]
        s.finish(used)
        v[big] = s.bits.get(at, width) | U64(1) << width.astype(U64)
    else:
        s.finish(0)
    return v


def read_packed(r, values, packing, what):
    """A stream of values, 1, 2 or 4 per symbol."""
    if packing == 0:
        return read_numbers(r, values, what)
    per, width = (2, 4) if packing == 1 else (4, 2)
    s = read_symbols(r, values // per, True)
    v = (s.values[:, None] >> np.arange(0, 8, width, dtype=np.uint8) & np.uint8((1 << width) - 1)).ravel()
    large = np.flatnonzero(v == (1 << width) - 1)
    v = v.astype(U64)
    if len(large) == 0 or s.bits is None:
        need(len(large) == 0, f"{what}: a large value without extra bits")
        s.finish(0)
        return v
    # The extra bits of a chunk are groups of 4 bits. A group without the highest bit ends a value.
    need((s.at <= s.end).all(), "chunk of a wrong length")
    groups = (s.end - s.at) // 4
    first = np.cumsum(groups) - groups
    at = np.repeat(s.at - 4 * first, groups) + 4 * np.arange(groups.sum())
    group = s.bits.get(at, 4).astype(np.uint8)
    last = np.flatnonzero(group < 8)
    chunk = large // (CHUNK * per)
    wanted = np.bincount(chunk, minlength=len(groups))
    have = np.searchsorted(last, first)                     # number of ends before each chunk
    need((wanted <= np.searchsorted(last, first + groups) - have).all(), f"{what}: chunk of a wrong length")
    rank = np.arange(len(large)) - (np.cumsum(wanted) - wanted)[chunk]
    stop = last[have[chunk] + rank] + 1
    start = np.where(rank > 0, np.concatenate(([0], stop[:-1])), first[chunk])
    used = np.zeros(len(groups), np.int64)
    used[chunk] = (stop - first[chunk]) * 4                 # the last one of a chunk stays
    s.finish(used)
    size = stop - start
    need(size.max() <= 22, f"{what}: a value of more than 22 groups of bits")
    for i in range(int(size.max())):
        has = np.flatnonzero(size > i)
        v[large[has]] += (group[start[has] + i] & np.uint8(7)).astype(U64) << U64(3 * i)
    return v


def read_groups(r, m, lane, unsigned=None):
    """A group stream of m values. lane: the type of lanes, uint32 or uint64. unsigned: the required flag."""
    if m == 0:
        return np.empty(0, lane)
    bits = lane.itemsize * 8
    flags = r.byte("group stream")
    packing = int(r.array("<u2", 1, "group stream")[0])
    need(not flags & 4, "group stream: unknown flag")
    need(all(packing >> 2 * i & 3 < 3 for i in range(6)), "group stream: unknown packing")
    need(unsigned is None or bool(flags & 2) == unsigned, "group stream: signed, where that is not allowed")
    groups = -(-m // 32)
    classes = np.add.accumulate(read_symbols(r, groups, False).values, dtype=np.uint8)
    need(classes.max() <= bits + 2, f"group stream: expected classes up to {bits + 2}, found {classes.max()}")
    zeros = None
    if flags & 1:
        zeros = read_symbols(r, groups, False).values
        need(zeros.max() < bits, "group stream: too many trailing zeros")
    stream_of = [0, 0]                                      # by class; class 0 has none
    for i in range(1, 6):
        stream_of.append(stream_of[-1] + (not flags >> 2 + i & 1))
    streams = np.array(stream_of)[np.minimum(classes, 6)]
    streams[classes == 0] = -1
    u = np.zeros((groups, 32), lane)
    for i in range(6):
        rows = np.flatnonzero(streams == i)
        if len(rows):
            u[rows] = read_packed(r, 32 * len(rows), packing >> 2 * i & 3, "group stream").reshape(-1, 32).astype(lane)
    low = np.maximum(classes.astype(np.int64) - 5, 0)
    rows = np.flatnonzero(low)
    data = r.take(4 * int(low.sum()), "low bits")
    if len(rows):
        k, start = low[rows, None], 32 * (np.cumsum(low) - low)[rows, None]
        part = Bits(data).get(start + k * np.arange(32), k).astype(lane)
        u[rows] = u[rows] << k.astype(lane) | part
    u = u.ravel()[:m]
    if not flags & 2:
        u = u >> lane.type(1) ^ (~(u & lane.type(1)) + lane.type(1))
    if zeros is not None:
        u = u << np.repeat(zeros, 32)[:m].astype(lane)
    return u
