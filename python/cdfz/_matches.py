"""Mode 3 of lorenz blocks: literals and copies of bytes with adaptive probabilities (docs/LORENZ.md, section 12).

Each byte depends on all earlier ones, so this is plain Python. It takes about 30 µs for a literal or a copy.
"""
import functools
import pathlib

import numpy as np

from ._arith import HALF, Coder
from ._errors import need

LONGEST, MOST_VALUES = 1 << 24, 256
DICTIONARY, TABLE = 8, 16
MULTIPLIER = 0x9E3779B1


@functools.cache
def dictionary():
    """The bytes that can come before those of a block."""
    return pathlib.Path(__file__).with_name("dictionary1.bin").read_bytes()


def decode_matches(r, n, size):
    """Decodes n elements of size bytes."""
    options = r.byte("options")
    need(options < 32, f"unknown options {options}")
    total = n * size
    if options & TABLE:
        count, total = r.uv("values", MOST_VALUES), n
        values = r.take(count * size, "values").reshape(count, size)
    need(total <= LONGEST, f"mode 3: more than {LONGEST} bytes")
    out = bytearray(dictionary() if options & DICTIONARY else b"")
    coder = Coder(r.take(len(r.data) - r.at, "coded bits").tobytes())
    Model(coder, (options & 7) + 1, total).decode(out, len(out), len(out) + total)
    coder.end()
    out = np.frombuffer(out, np.uint8)[len(out) - total:]
    if options & TABLE:
        need(out.max() < count, "index of a value that is not there")
        out = values[out].ravel()
    return out


class Model:
    def __init__(self, coder, unit, size):
        self.coder, self.unit = coder, unit
        self.shift = 16 if size <= 1 << 16 else 14
        self.weights = {}

    def number(self, sort):
        bit = self.coder.adaptive
        slot = self.coder.tree((sort, "slot"), 6)
        if slot < 4:
            return slot
        more = (slot >> 1) - 1
        v = (2 | slot & 1) << more
        low, key = more, slot
        if slot >= 14:
            for i in reversed(range(4, more)):
                v |= self.coder.bit(1 << 15) << i
            low, key = 4, "low"
        node = 1
        for i in range(low):
            b = bit((sort, key, node))
            v |= b << i
            node = 2 * node + b
        return v

    def literal(self, out, column, last, kind):
        before = lambda d: out[-d] if d <= len(out) else 0
        guess, k = before(last), column << 24
        keys = k | before(self.unit), k | before(1) | before(2) << 8, k | guess | kind << 28
        known = self.coder.known
        w = self.weights.setdefault((kind, column), [19660] * 4)
        node = 1
        for i in reversed(range(8)):
            agrees = 1 + (guess >> i & 1) if (guess | 256) >> i + 1 == node else 0
            at = [(t, ((key | node << 16) * MULTIPLIER & 0xFFFFFFFF) >> self.shift) for t, key in enumerate(keys)]
            at.append(("agree", kind, agrees, node))
            node = 2 * node + self.coder.mixed([known.setdefault(a, [HALF, 0]) for a in at], w, 14)
        return node & 255

    def decode(self, out, base, end):
        bit, unit = self.coder.adaptive, self.unit
        last, history = [1, unit, 2 * unit], 0
        while len(out) < end:
            column = (len(out) - base) % unit
            kind = 0
            if not bit(("copy", history, column)):
                out.append(self.literal(out, column, last[0], history % 3))
            else:
                if bit(("again", history)):
                    kind = 1
                    rank = bit(("older", history))
                    if rank:
                        rank += bit(("oldest", history))
                    n = self.number("again") + 1
                    last.insert(0, last.pop(rank))
                else:
                    kind = 2
                    n = self.number("match")
                    last = [self.number(("distance", min(n, 3))) + 1] + last[:2]
                    n += 2
                d = last[0]
                need(d <= len(out), "copy from before the block")
                need(n <= end - len(out), "copy beyond the end of the block")
                while n > 0:
                    piece = out[len(out) - d:len(out) - d + n]
                    out += piece
                    n -= len(piece)
            history = (3 * history + kind) % 9
