"""The streams of docs/LORENZ.md, section 8, as simple as possible: raw, and all groups of class 1. Streams of Huffman
codes have the code lengths that the caller gives, valid or not.
"""
import struct


def uv(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out) + bytes([v])


class BitString:
    """Collects numbers, lowest bit first."""

    def __init__(self):
        self.value, self.length = 0, 0

    def add(self, v, bits):
        self.value |= v << self.length
        self.length += bits

    def bytes(self):
        return self.value.to_bytes((self.length + 7) // 8, "little")


def symbols(values):
    return b"\1" + bytes(values) if values else b""


def numbers(values):
    if not values:
        return b""
    chunks = []
    for i in range(0, len(values), 512):
        chunk, extra = BitString(), BitString()
        for v in values[i:i + 512]:
            chunk.add(v if v < 192 else 184 + v.bit_length(), 8)
            if v >= 192:
                extra.add(v - (1 << v.bit_length() - 1), v.bit_length() - 1)
        chunk.add(extra.value, extra.length)
        chunks.append(chunk.bytes())
    return b"\5" + chunk_lengths(chunks) + b"".join(chunks)


def groups(values, unsigned=False):
    """values: as stored, that is as zigzag numbers unless unsigned."""
    if not values:
        return b""
    classes = [1] + [0] * ((len(values) - 1) // 32)      # as differences
    return bytes([2 * unsigned, 0, 0]) + symbols(classes) + numbers(values + [0] * (-len(values) % 32))


def gamma(bits, v):
    n = v.bit_length() - 1
    bits.add(0, n)
    bits.add(1, 1)
    bits.add(v - (1 << n), n)


def code_lengths(lengths, last=None, runs=None):
    """lengths: of the words by symbol. The last symbol and the runs follow from them, unless they are given."""
    bits = BitString()
    last = max(lengths) if last is None else last
    if runs is None:
        runs, present = [0], True
        for y in range(last + 1):
            if (y in lengths) != present:
                runs.append(0)
                present = not present
            runs[-1] += 1
    bits.add(last, 8)
    for i, run in enumerate(runs):
        gamma(bits, run + (i == 0))
    before = 5
    for y in sorted(lengths):
        d = lengths[y] - before
        gamma(bits, (2 * d if d >= 0 else -2 * d - 1) + 1)
        before = lengths[y]
    return bits.bytes()


def words(lengths):
    """The code words of the canonical code, first bit lowest, and their lengths."""
    out, code, before = {}, 0, 0
    for y in sorted(lengths, key=lambda y: (lengths[y], y)):
        n = lengths[y]
        code <<= n - before
        out[y] = int(f"{code:0{n}b}"[::-1], 2), n
        code, before = code + 1, n
    return out


def huffman(values, lengths, head=None, table=None):
    """A stream of symbols without extra bits. head and table replace the code lengths and the lengths of chunks."""
    code, chunks = words(lengths), []
    for i in range(0, len(values), 512):
        chunk = BitString()
        for y in values[i:i + 512]:
            chunk.add(*code[y])
        chunks.append(chunk.bytes())
    if table is None:
        table = chunk_lengths(chunks)
    return b"\2" + (code_lengths(lengths) if head is None else head) + table + b"".join(chunks)


def chunk_lengths(chunks):
    least = min(map(len, chunks))
    if len(chunks) == 1:
        return uv(least)
    return uv(least) + b"\x10" + b"".join(struct.pack("<H", len(c) - least) for c in chunks)
