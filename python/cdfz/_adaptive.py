"""Mode 4 of lorenz blocks: residuals with adaptive probabilities (docs/LORENZ.md, section 10).

Each residual depends on all earlier ones, so this is plain Python. It takes about 25 µs per residual, and almost
nothing for 32 zeros in a row.
"""
import numpy as np

from ._arith import HALF, Coder
from ._errors import need

ZEROS = 1
GROUP = 32
FARTHEST = 1 << 20


def clamp(v, lo, hi):
    return lo if v < lo else hi if v > hi else v


class Model:
    """The state on which the decisions about a residual depend."""

    def __init__(self, coder, low):
        self.coder, self.low, self.low_at = coder, low, 0
        self.inputs, self.weights = {}, {}

    def raw(self, k):
        at = self.low_at
        self.low_at += k
        need(self.low_at <= 8 * len(self.low), "low bits: cut")
        return int.from_bytes(self.low[at >> 3:(at + k + 7) >> 3], "little") >> (at & 7) & (1 << k) - 1

    def above(self, contexts, z, d):
        """Decides whether a residual has more than d bits above the expected number."""
        node = clamp(d + 8, 0, 15)
        states = [self.inputs.setdefault((i, c, node), [HALF, 0]) for i, c in enumerate(contexts)]
        w = self.weights.setdefault((z, node), [78640 // len(contexts)] * len(contexts))
        return self.coder.mixed(states, w, 6)

    def residual(self, mag, small, i, north, below, zeros, lane):
        n, b = i - north, i - below
        expected = 3 * mag[i - 1] + mag[i - 2] + 2 * mag[n] + mag[n + 1] + mag[n - 1]
        start, part = expected + 8 >> 4, expected >> 1 & 7
        z, base = min(start, 3), 2 * start - 4
        sw, sn, sb = small[i - 1], small[n], clamp(small[b], -1, 1)
        near = lambda k: clamp(mag[k] - base, 0, 8)
        contexts = (min(start, 11) * 8 + part, z * 81 + near(i - 1) * 9 + near(n))
        if z < 3:
            contexts += z * 81 + near(b) * 9 + near(i - 2), z * 75 + (sw + 2) * 15 + (sn + 2) * 3 + sb + 1
        k = min(start, lane - 1)
        if self.above(contexts, z, k - start):
            k += 1
            while k < lane and self.above(contexts, z, k - start):
                k += 1
        else:
            k -= 1
            while k >= 0 and not self.above(contexts, z, k - start):
                k -= 1
            k += 1
        if k == 0:
            return 0
        bit = self.coder.adaptive
        negative = bit(("sign", clamp(sw, -1, 1), clamp(sn, -1, 1), sb, min(k, 3)))
        x, rest = 1, k - 1
        if rest > zeros:
            rest -= 1
            x = 2 + bit(("lead", min(k, 8), clamp(k - start + 3, 0, 7), part))
        if rest > zeros:
            x = x << rest - zeros | self.raw(rest - zeros)
            rest = zeros
        x <<= rest
        mag[i] = 2 * k - 1 + (x >> k - 2 & 1 if k > 1 else 0)
        small[i] = -min(x, 2) if negative else min(x, 2)
        return -x if negative else x


def read_adaptive(r, n, masked, lane, north, below):
    """The residuals of n elements, 0 for those that are masked. lane: bits of a lane."""
    need(max(north, below) <= FARTHEST, f"mode 4: neighbours at a distance of more than {FARTHEST}")
    flags = r.byte("options")
    need(flags <= ZEROS, f"unknown options {flags}")
    body = r.take(r.uv("adaptive stream", len(r.data) - r.at), "adaptive stream")
    coder = Coder(body.tobytes())
    model = Model(coder, r.take(len(r.data) - r.at, "low bits").tobytes())
    pad = north + below + 4
    mag, small, values = [0] * (n + pad), [0] * (n + pad), [0] * (n + pad)
    left, zeros, flat, history = 0, 0, 0, 0
    every = (1 << lane) - 1
    for i in range(pad, n + pad):
        if masked is not None and masked[i - pad]:
            mag[i] = mag[i - 1]
            continue
        if not left:
            left = GROUP
            flat = coder.adaptive(("zero", history))
            history = 2 * history & 7 | flat
            if flags & ZEROS and not flat:
                zeros = coder.tree(("zeros", zeros), 6)
                need(zeros < lane, "trailing zeros longer than a lane")
        left -= 1
        if flat:
            continue
        values[i] = model.residual(mag, small, i, north, below, zeros, lane) & every
    coder.end()
    need((model.low_at + 7) >> 3 == len(model.low), "low bits: bytes after the end")
    need(model.low_at % 8 == 0 or model.low[-1] >> model.low_at % 8 == 0, "low bits: set after the end")
    return np.array(values[pad:], np.uint64 if lane == 64 else np.uint32)
