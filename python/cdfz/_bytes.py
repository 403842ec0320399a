"""Mode 3 of lorenz blocks: bytes with adaptive probabilities (docs/LORENZ.md, section 9).

Each bit depends on all earlier ones, so this is plain Python. It takes about 55 µs per stored byte.
"""
from ._arith import HALF, M32, RATE, SQUASH, STRETCH, TOP, Coder
from ._errors import need


class Literals:
    """The model of literal bytes: seven contexts, mixed."""

    def __init__(self, n, size, row):
        self.size, self.row = size, row
        bits = min(18, max(4, n.bit_length() + 2))
        self.shift = 36 - bits
        self.prob = [[HALF] * (1 << bits) for _ in range(7)]
        self.count = [bytearray(1 << bits) for _ in range(7)]
        self.weights = {}

    def read(self, coder, out, recent, history):
        """Reads the next byte of `out`."""
        at = len(out)
        size, row = self.size, self.row
        k = at % size
        before = lambda d: out[at - d] if d <= at else 0
        b1, b2 = before(1), before(2)
        contexts = (0, b1, b2 << 8 | b1, before(3) << 16 | b2 << 8 | b1, before(row) << 8 | b1,
                    before(row) << 8 | before(size), before(recent) << 2 | history)
        hashes = []
        for i, c in enumerate(contexts):
            c = at % row if i == 5 and size == 1 else c << 3 | k
            h = (c + (i << 29) + 1) * 0x9E3779B1 & M32
            hashes.append(h ^ h >> 15)
        shift, stretch = self.shift, STRETCH
        p0, p1, p2, p3, p4, p5, p6 = self.prob
        low, high, x = coder.low, coder.high, coder.x
        node = 1
        for i in range(8):
            if not i & 3:
                j, salt = 1, (node if i == 0 else 16 + (node & 15)) * 0x2F0B4C47
                rows = [((h + salt) * 0x85EBCA6B & M32) >> shift << 4 for h in hashes]
                r0, r1, r2, r3, r4, r5, r6 = rows
            v0, v1, v2, v3, v4, v5, v6 = v = (p0[r0 + j], p1[r1 + j], p2[r2 + j], p3[r3 + j], p4[r4 + j], p5[r5 + j],
                                              p6[r6 + j])
            t0, t1, t2, t3, t4, t5, t6 = (stretch[v0 >> 10], stretch[v1 >> 10], stretch[v2 >> 10], stretch[v3 >> 10],
                                          stretch[v4 >> 10], stretch[v5 >> 10], stretch[v6 >> 10])
            w = self.weights.get(node << 3 | k)
            if w is None:
                w = self.weights[node << 3 | k] = [26214] * 7
            w0, w1, w2, w3, w4, w5, w6 = w
            p = w0 * t0 + w1 * t1 + w2 * t2 + w3 * t3 + w4 * t4 + w5 * t5 + w6 * t6 >> 16
            p = SQUASH[p + 2047] if -2048 < p < 2048 else 4095 if p > 0 else 1
            mid = low + ((high - low) * min(max(16 * p, 32), 65504) >> 16)
            if x <= mid:
                bit, target, high = 1, TOP, mid
            else:
                bit, target, low = 0, 0, mid + 1
            while (low ^ high) < 1 << 24:
                coder.low, coder.high, coder.x = low, high, x
                coder.shift()
                low, high, x = coder.low, coder.high, coder.x
            err = (4096 * bit - p) * 10
            w[:] = (w0 + (t0 * err + 32768 >> 16), w1 + (t1 * err + 32768 >> 16), w2 + (t2 * err + 32768 >> 16),
                    w3 + (t3 * err + 32768 >> 16), w4 + (t4 * err + 32768 >> 16), w5 + (t5 * err + 32768 >> 16),
                    w6 + (t6 * err + 32768 >> 16))
            for prob, count, r, u in zip(self.prob, self.count, rows, v):
                c = count[r + j]
                prob[r + j] = u + ((target - u) * RATE[c] >> 16)
                if c < 127:
                    count[r + j] = c + 1
            node, j = 2 * node + bit, 2 * j + bit
        coder.low, coder.high, coder.x = low, high, x
        out.append(node & 255)


def decode_bytes(data, n, size, row):
    """Decodes a block of n bytes. size: bytes per element, row: bytes of the last dimension."""
    coder, literals, out = Coder(data.tobytes()), Literals(n, size, row), bytearray()
    recent, history = [size, row, 2 * row, 1], 0
    while len(out) < n:
        at = len(out)
        if not coder.adaptive(("repeat", history, at % size)):
            literals.read(coder, out, recent[0], history)
            history = 0
            continue
        if coder.adaptive(("recent", history)):
            d = recent.pop(coder.tree("which", 2))
            length = coder.number("recent length", False)
            history = 2
        else:
            length = 1 + coder.number("new length", False)
            d = coder.number(("distance", min(length - 2, 3)), True)
            recent.pop()
            history = 1
        recent.insert(0, d)
        need(1 <= d <= at, f"bytes: expected a distance of 1 to {at}, found {d}")
        need(length <= n - at, "bytes: a repeat beyond the end of the block")
        piece = out[at - d:at - d + length]
        out += (piece * (length // d + 1))[:length] if d < length else piece
    coder.end()
    return out
