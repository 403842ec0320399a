"""Draws the decisions of lorenz blocks: random numbers, and range coders whose bits are chosen. A range coder here stands in
for that of a decoder, but writes the stream from which a decoder reads the bits.
"""
import hashlib
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "python"))

from cdfz import _arith

M64 = (1 << 64) - 1


class Random:
    """splitmix64, seeded by a name."""

    def __init__(self, name):
        self.state = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")

    def below(self, n):
        self.state = self.state + 0x9E3779B97F4A7C15 & M64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
        return (z ^ z >> 31) * n >> 64

    def between(self, a, b):
        return a + self.below(b - a + 1)

    def percent(self, p):
        return self.below(100) < p

    def pick(self, values):
        return values[self.below(len(values))]

    def wide(self, bits):
        """Returns a number of few bits or of many."""
        return self.below(1 << self.pick((2, 9, bits)))


def choose_distance(rng, recent, codes, distance, most):
    """Draws a code until its distance is allowed, and makes the distance the latest one."""
    while True:
        code = codes()
        d = recent[code] if code < 3 else distance(code)
        if 1 <= d <= most:
            recent.pop(code if code < 3 else 2)
            recent.insert(0, d)
            return code, d


# ---- The range coder (section 9)

class Unknown:
    """The number that a decoder compares with the middle of the range. Here each comparison is a decision."""

    def __init__(self, decide):
        self.decide = decide

    def __le__(self, middle):
        return self.decide(middle)


class Writer(_arith.Coder):
    """Stands in for the range coder of the decoder, but writes the stream. The bits are those of a script."""

    def __init__(self, script=()):
        super().__init__(b"\0")
        self.script, self.out = list(script)[::-1], bytearray()
        self.x = Unknown(self.decide)

    def decide(self, middle):
        return bool(self.script.pop())

    def shift(self):
        self.out.append(self.low >> 24)
        self.low = self.low << 8 & _arith.M32
        self.high = self.high << 8 & _arith.M32 | 255

    def stream(self):
        """One byte is enough to end in the range, as three zeros follow."""
        return bytes(self.out) + bytes([(self.low >> 24) + 1])


def bits_of(v, count):
    return [v >> i & 1 for i in reversed(range(count))]


class Drawer(Writer):
    """Draws bits. Each mood holds for some decisions: how many percent of the bits are drawn with the probability
    of the model, and how many percent of the others are ones."""

    EACH = 500
    most_zeros = 12

    def __init__(self, rng, moods):
        super().__init__()
        self.rng, self.moods, self.count = rng, moods, 0

    def decide(self, middle):
        if self.script:
            return super().decide(middle)
        follow, ones = self.moods[self.count // self.EACH % len(self.moods)]
        self.count += 1
        if self.rng.percent(follow):
            return self.rng.between(self.low, self.high) <= middle
        return self.rng.percent(ones)

    def adaptive(self, key):
        if key[0] == "zero":
            self.script = [self.rng.percent(20)]
        return super().adaptive(key)

    def tree(self, key, bits):
        """The trailing zeros of a group, which must be fewer than a lane has bits."""
        self.script = bits_of(self.rng.below(self.most_zeros), bits)[::-1]
        return super().tree(key, bits)


# Moods with residuals about as large as expected, and with ever larger ones.
NEAR = (95, 50), (90, 30), (100, 0), (0, 35), (90, 50), (0, 2), (80, 20), (0, 60)
LARGE = (50, 97), (0, 90), (30, 60), (60, 10), (0, 97), (50, 50), (90, 50)
