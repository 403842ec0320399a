"""The range coder and adaptive probabilities of lorenz blocks (docs/LORENZ.md, section 9)."""
from ._errors import need

CURVE = (1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047, 2549, 2994, 3348, 3607, 3785, 3901,
         3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094)
RATE = [131072 // (2 * c + 3) for c in range(128)]
TOP = (1 << 22) - 1
HALF = 1 << 21
M32 = 0xFFFFFFFF


def squash(x):
    if x > 2047:
        return 4095
    if x < -2047:
        return 1
    f, i = x % 128, x // 128 + 16
    return (CURVE[i] * (128 - f) + CURVE[i + 1] * f + 64) >> 7


SQUASH = [squash(x) for x in range(-2047, 2048)]
STRETCH = []
for _x in range(-2047, 2048):
    STRETCH += [_x] * (SQUASH[_x + 2047] + 1 - len(STRETCH))
STRETCH += [2047] * (4096 - len(STRETCH))


class Coder:
    """The range coder, with probabilities for any key."""

    def __init__(self, data):
        self.data, self.at = data + bytes(3), 4        # zeros follow
        need(len(data) > 0, "range coder: cut")
        self.low, self.high, self.x = 0, M32, int.from_bytes(self.data[:4], "big")
        self.known = {}                          # key: [probability, count]

    def bit(self, p):
        mid = self.low + ((self.high - self.low) * p >> 16)
        bit = self.x <= mid
        if bit:
            self.high = mid
        else:
            self.low = mid + 1
        while (self.low ^ self.high) < 1 << 24:
            self.shift()
        return int(bit)

    def shift(self):
        need(self.at < len(self.data), "range coder: cut")
        self.low = self.low << 8 & M32
        self.high = self.high << 8 & M32 | 255
        self.x = self.x << 8 & M32 | self.data[self.at]
        self.at += 1

    def end(self):
        need(self.at == len(self.data), "range coder: bytes after the end")

    def adaptive(self, key):
        state = self.known.setdefault(key, [HALF, 0])
        v, c = state
        bit = self.bit(min(max(v >> 6, 32), 65504))
        state[0] = v + ((TOP * bit - v) * RATE[c] >> 16)
        state[1] = min(c + 1, 127)
        return bit

    def mixed(self, states, w, speed):
        """Decodes a bit with several probabilities, which are mixed by the weights w."""
        t = [STRETCH[v >> 10] for v, _ in states]
        p = sum(a * b for a, b in zip(w, t)) >> 16
        p = SQUASH[p + 2047] if -2048 < p < 2048 else 4095 if p > 0 else 1
        bit = self.bit(min(max(16 * p, 32), 65504))
        err, target = (4096 * bit - p) * speed, TOP * bit
        for i, s in enumerate(states):
            w[i] += t[i] * err + 32768 >> 16
            v, c = s
            s[0] = v + ((target - v) * RATE[c] >> 16)
            if c < 127:
                s[1] = c + 1
        return bit

    def tree(self, key, bits):
        node = 1
        for _ in range(bits):
            node = 2 * node + self.adaptive((key, node))
        return node - (1 << bits)
