#!/usr/bin/python3
"""Writes lorenz/testdata/blocks: lorenz blocks that the encoder of package lorenz does not write, and damaged ones.

    /usr/bin/python3 testdata/lorenz/blocks.py [-d DIR]

An encoder makes few of the decisions that the format allows. Here they are drawn at random or chosen to reach the
bounds of the format. For mode 4, the decoder of python/ runs with a range coder that chooses each bit and
writes the stream from which a decoder reads it. So any decisions make a valid block. The blocks of other modes are
written from docs/LORENZ.md. The sums in the files are those of the blocks as decoded by python/.

Needs Debian's python3-numpy. The output is the same on every machine.
"""
import argparse
import contextlib
import hashlib
import os
import sys
from unittest import mock

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "python"))

from cdfz import _adaptive, _arith, _matches, lorenz
from cdfz._streams import Reader

from damaged import damaged
from streams import BitString, groups, numbers, symbols, uv

CHAR, INT16, INT32, FLOAT32, FLOAT64, UINT8, INT64 = (lorenz.CHAR, lorenz.INT16, lorenz.INT32, lorenz.FLOAT32,
                                                      lorenz.FLOAT64, lorenz.UINT8, lorenz.INT64)
COLUMN = 3                       # kind of context of mode 6
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


# ---- Mode 4 (section 10)

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


class Model(_adaptive.Model):
    """Draws the low bits."""

    def __init__(self, coder):
        super().__init__(coder, b"")
        self.bits = BitString()

    def raw(self, k):
        v = self.coder.rng.below(1 << k)
        self.bits.add(v, k)
        self.low, self.low_at = self.bits.bytes(), self.bits.length
        return v


# Moods with residuals about as large as expected, and with ever larger ones.
NEAR = (95, 50), (90, 30), (100, 0), (0, 35), (90, 50), (0, 2), (80, 20), (0, 60)
LARGE = (50, 97), (0, 90), (30, 60), (60, 10), (0, 97), (50, 50), (90, 50)


def adaptive(name, type, shape, moods, zeros=False):
    """Returns the block and the number of its low bits."""
    p = lorenz.Parameters(type=type, shape=shape)
    lane = 64 if p.size == 8 else 32
    head = bytes([_adaptive.ZEROS * zeros])
    coder = Drawer(Random(name), moods)
    model = Model(coder)
    r = Reader(np.frombuffer(head + uv(0), np.uint8))
    with mock.patch.multiple(_adaptive, Coder=lambda data: coder, Model=lambda coder, low: model):
        _adaptive.read_adaptive(r, p.n, None, lane, *p.neighbours)
    stream = coder.stream()
    flags = lorenz.WIDE if lane == 64 else 0
    return p, bytes([lorenz.ADAPTIVE, flags, 0, 0]) + head + uv(len(stream)) + stream + model.low, model.low_at


def adaptive_blocks():
    for name, *args in (
            ("adaptiveline", INT16, (700,), LARGE, True),
            ("adaptiverows", INT32, (1, 30, 1, 25), NEAR),
            ("adaptivenarrow", INT32, (40, 5, 2), NEAR),                      # rows of two elements
            ("adaptivelong", INT64, (20, 20), LARGE)):
        p, block, _ = adaptive(name, *args)
        yield name, p, block


def damaged_adaptive():
    p, block, low = adaptive("adaptivefilling", INT32, (10, 10), LARGE)
    assert low % 8
    yield "adaptivefilling", p, block[:-1] + bytes([block[-1] | 128])
    yield "adaptiveextra", p, block + b"\0"
    yield "adaptivelowcut", p, block[:-1], "10, the low bits are cut"
    yield "adaptiverepeats", p, bytes([block[0], lorenz.REPEATS]) + block[2:], "10, flag bit 4"
    cells = bytes([block[0], lorenz.CELLS, 0]) + uv(50) + uv(25) + block[3:]
    yield "adaptivecells", p, cells, "10, cells shorter than planes"
    yield "adaptiveoptions", p, block[:4] + bytes([block[4] | 2]) + block[5:], "10, option bit 1"
    end = 6 if block[5] < 128 else 7                    # of the length
    length = int(block[5]) & 127 | (int(block[6]) << 7 if end == 7 else 0)
    coded, rest = block[end:end + length], block[end + length:]
    for name, other, what in (("more", coded + b"\0", "a zero after the coded bits"), ("none", b"", "no coded bits")):
        yield "adaptive" + name, p, block[:5] + uv(len(other)) + other + rest, f"9, {what}"
    with mock.patch.object(_adaptive, "need", lambda ok, what: None), mock.patch.object(Drawer, "most_zeros", 64):
        p, block, _ = adaptive("adaptivezeros", INT32, (10, 10), NEAR, True)
    yield "adaptivezeros", p, block, "10, 32 trailing zeros and more"
    p, block, _ = adaptive("referencesadaptive", INT32, (100,), NEAR)
    block = bytes([lorenz.REFERENCES, 0, 0, 0, 2]) + UNSIGNED_GROUPS + block[4:]
    yield "referencesadaptiveoption", p, block[:4] + b"\6" + block[5:], "11, an option that is not there"
    yield "referencesadaptivecut", p, block[:-1], "11, adaptive differences that are cut"


# ---- Mode 3 (section 12)

class Steps(Drawer):
    """Draws the bits of mode 3. model is set before the first."""

    def adaptive(self, key):
        m = self.model
        if key[0] == "copy" and len(m.out) < 2 * m.unit or key[0] == "again" and m.end - len(m.out) < 2:
            self.script = [int(key[0] == "again")]
        return _arith.Coder.adaptive(self, key)

    def tree(self, key, bits):
        return _arith.Coder.tree(self, key, bits)


class Matches(_matches.Model):
    """Draws numbers that the bytes so far allow."""

    def decode(self, out, base, end):
        self.out, self.end, self.coder.model = out, end, self
        super().decode(out, base, end)

    def number(self, sort):
        rng = self.coder.rng
        far = type(sort) is tuple
        most = len(self.out) - 1 if far else self.end - len(self.out) - (1 if sort == "again" else 2)
        v = min(rng.wide(rng.below(22) if far else 6), most) if far or rng.percent(99) else min(most, 500)
        length = v.bit_length()
        slot = v if v < 4 else 2 * length - 2 + (v >> length - 2 & 1)
        more = length - 2 if v >= 4 else 0
        low = more if slot < 14 else 4
        bits = bits_of(slot, 6) + [v >> i & 1 for i in reversed(range(low, more))] + [v >> i & 1 for i in range(low)]
        self.coder.script = bits[::-1]
        return super().number(sort)


def matches(name, type, shape, number=0, unit=1, moods=NEAR):
    p = lorenz.Parameters(type=type, shape=shape)
    head = bytes([unit - 1 | number << 3])
    coder = Steps(Random(name), moods)
    with mock.patch.multiple(_matches, Coder=lambda data: coder, Model=Matches):
        _matches.decode_matches(Reader(np.frombuffer(head, np.uint8)), p.n, p.size)
    return p, bytes([lorenz.MATCHES]) + head + coder.stream()


def matches_blocks():
    for name, *args in (
            ("matcheschar", CHAR, (1500,)),
            ("matchesheader", CHAR, (3000,), 1),
            ("matcheswide", INT64, (20, 30), 0, 8, LARGE),
            ("matchesunit", INT16, (900,), 1, 3, LARGE),
            ("matchesedge", CHAR, (65536,), 0, 1, ((0, 60), (90, 50), (0, 90))),
            ("matcheslong", CHAR, (70000,), 0, 1, ((0, 60), (90, 50), (0, 90)))):
        yield name, *matches(name, *args)
    p = lorenz.Parameters(type=FLOAT32, order=1, shape=(3, 10))
    yield "matchesvaluesfew", p, bytes([lorenz.MATCHES, _matches.TABLE]) + table(7) + indices(7, 30)
    p = lorenz.Parameters(type=FLOAT32, shape=(1, 300))
    yield "matchesvaluesmost", p, bytes([lorenz.MATCHES, _matches.TABLE]) + table(256) + indices(256, 300)
    p = lorenz.Parameters(type=FLOAT32, shape=(17000,))  # more than 65536 bytes, but not as many indices
    yield "matchesvalueslong", p, bytes([lorenz.MATCHES, _matches.TABLE]) + table(256) + indices(256, 17000)


def indices(count, drawn, size=4):
    """A block of indices to a table. They are literals."""
    rng = Random("indices")
    script = []
    for _ in range(drawn):
        script += [0] + bits_of(rng.below(count) if len(script) else count - 1, 8)
    coder = Writer(script)
    head = b"\x10" + uv(256) + bytes(256 * size)
    with mock.patch.object(_matches, "Coder", lambda data: coder):
        _matches.decode_matches(Reader(np.frombuffer(head, np.uint8)), drawn, size)
    return coder.stream()


def table(count, size=4):
    return uv(count) + b"".join((i * 0x01020305 % 2**32).to_bytes(size, "big") for i in range(count))


def damaged_matches():
    p = lorenz.Parameters(type=FLOAT32, shape=(30,))
    head = bytes([lorenz.MATCHES, _matches.TABLE])
    yield "matchesvalue", p, head + table(6) + indices(7, 30)
    yield "matchesvalues", p, head + uv(257) + bytes(4 * 257) + indices(7, 30)
    yield "matchesvaluescut", p, head + table(7)[:-1]
    p, block = matches("matchescut", INT16, (300,))
    yield "matchescut", p, block[:-1]
    yield "matchesextra", p, block + b"\0"
    yield "matchesoptions", p, block[:1] + b"\x20" + block[2:]
    yield "matchesoption6", p, block[:1] + b"\x40" + block[2:]
    yield "matchesoption7", p, block[:1] + b"\x80" + block[2:]
    yield "matchesbeyond", lorenz.Parameters(type=INT16, shape=(299,)), block
    # A first step that copies from before the block, with and without a number, and one that is far too long.
    repeat, match = [1, 1, 0], [1, 0]
    yield "matchesbefore", p, steps(repeat + bits_of(0, 6))
    yield "matchesfar", p, steps(match + bits_of(0, 6) + bits_of(63, 6) + [1] * 30)
    literal = [0] + bits_of(65, 8)
    yield "matcheslength", p, steps(literal + repeat + bits_of(63, 6) + [1] * 30)
    # A last repeat of three bytes, of which the block has two.
    coder = Writer(literal + repeat + bits_of(2, 6))
    with mock.patch.object(_matches, "Coder", lambda data: coder):
        _matches.decode_matches(Reader(np.frombuffer(b"\0", np.uint8)), 4, 1)
    yield "matchesonebeyond", lorenz.Parameters(type=CHAR, shape=(3,)), bytes([lorenz.MATCHES, 0]) + coder.stream()


def steps(bits):
    """A block that begins with these bits, whatever follows them."""
    coder = Writer(bits)
    p = lorenz.Parameters(type=INT16, shape=(300,))
    with mock.patch.object(_matches, "Coder", lambda data: coder):
        try:
            _matches.decode_matches(Reader(np.frombuffer(b"\0", np.uint8)), p.n, p.size)
        except (lorenz.DamagedBlock, IndexError):
            pass
    return bytes([lorenz.MATCHES, 0]) + coder.stream() + b"\x55" * 8


# ---- Mode 2 (sections 3, 6 and 7)

def two_specials(p):
    rng = Random("specials")
    specials = b"ABCD" + uv(20) + uv(6) + numbers([0, 33, 60, 21, 80, 201])      # the first run is empty
    kinds, _ = lorenz.read_specials(Reader(np.frombuffer(specials, np.uint8)), 2, p)
    unmasked = int(np.count_nonzero(kinds == 0))
    return bytes([lorenz.GROUPS, 2, 0]) + b"\1\2" + specials + groups([rng.wide(32) for _ in range(unmasked)])


def repeated(count):
    rng = Random("repeated")
    recent, repeats, at, stored = [1, 1, 1], [], 0, 0
    while at < count - 30:
        literals, length = rng.between(at == 0, 9), rng.between(1, 20)
        at += literals
        stored += literals
        codes = lambda: rng.pick((0, 1, 2, 4, 5, 3 + rng.between(1, at)))
        code, _ = choose_distance(rng, recent, codes, lambda c: c - 3, at)
        repeats.append((literals, length - 1, code))
        at += length
    stored += count - at
    head = bytes([lorenz.GROUPS, lorenz.REPEATS, 0]) + b"\1\1" + uv(len(repeats))
    return head + b"".join(map(numbers, zip(*repeats))) + groups([rng.wide(32) for _ in range(stored)])


# ---- Mode 5 (section 11)

def references(codes, differences, complements):
    return bytes([lorenz.REFERENCES, 0, 0, 0, complements]) + groups(codes, True) + groups(differences)


def complements(count):
    rng = Random("complements")
    recent, codes = [1, 1, 1], []
    for i in range(count):
        some = lambda: rng.pick((0, 1, 2, 1, 2, 4, 5, 6, rng.between(4, 4 + i)))
        code, _ = choose_distance(rng, recent, some, lambda c: c - 3, i + 1)
        codes.append(2 * code + rng.below(2))
    return references(codes, [rng.wide(32) for _ in range(count)], True)


# ---- Mode 6 (section 12)

def text(name, p, kind, streams, row):
    """The first three codes are 2, so that all three distances of the start are used."""
    rng, size = Random(name), p.n * p.size
    stream_of = [rng.below(streams) for _ in range(row if kind == COLUMN else 256)]
    stored = [[] for _ in range(streams)]
    out, recent, repeats = bytearray(), [1, row, 2 * row], []

    def literals(count):
        for _ in range(count):
            context = len(out) % row if kind == COLUMN else out[-1] if out else 0
            b = rng.pick(b"abcdefgh\0\1")
            stored[stream_of[context]].append(b)
            out.append(b)

    def code():
        if len(repeats) < 3:
            return 2
        return rng.pick((0, 1, 2, 3, 4, 5, 65, 66, 67, 68, 69, 100, 66 + rng.between(1, len(out))))

    while len(out) < size - 300:
        run, length = rng.pick((0, 0, 1, 2, 5, 30)) if out else 2 * row, rng.pick((2, 3, 5, 200))
        literals(run)
        c, d = choose_distance(rng, recent, code, lambda c: (c - 2) * row if c <= 66 else c - 66, len(out))
        repeats.append((run, length - 2, c))
        for _ in range(length):
            out.append(out[-d])
    literals(size - len(out))
    return (bytes([lorenz.TEXT, kind | streams - 1 << 2]) + uv(row) + numbers(stream_of) + uv(len(repeats))
            + b"".join(map(numbers, zip(*repeats))) + b"".join(uv(len(s)) + symbols(s) for s in stored))


# ---- Mode 7 (section 13)

STACK = lorenz.Parameters(type=INT16, shape=(1, 9, 4))
ROW = bytes([lorenz.RAW]) + bytes(range(8))
THREE = bytes([lorenz.RAW]) + bytes(range(100, 124))
SAME = bytes([lorenz.CONST]) + b"\1\2"


def parts(*given):
    """Each part is a number of rows with its block, or with the first row of the source of a copy."""
    heads = b"".join(uv(rows) + (uv(0) + uv(of) if isinstance(of, int) else uv(len(of))) for rows, of in given)
    return bytes([lorenz.PARTS]) + heads + b"".join(of for _, of in given if not isinstance(of, int))


def damaged_parts():
    for name, block in {
        "nested": parts((8, parts((1, ROW), (7, SAME))), (1, ROW)),
        "whole": parts((9, SAME)),
        "none": parts((3, THREE), (0, ROW), (6, SAME)),
        "more": parts((3, THREE), (7, SAME)),
        "ahead": parts((3, THREE), (1, 3), (5, SAME)),
        "copied": parts((3, THREE), (1, 0), (1, 3), (4, SAME)),
        "across": parts((3, THREE), (3, SAME), (3, 1)),
        "long": parts((3, THREE), (6, SAME)) + b"\0",
        "short": parts((3, THREE), (6, THREE + THREE))[:-1],
        "row": parts((3, ROW), (6, SAME)),
        "zero": parts((3, THREE), (0, 0), (6, SAME)),
        "beyond": bytes([lorenz.PARTS]) + uv(3) + uv(25) + uv(6) + uv(1 << 20) + THREE + SAME,
        "source": parts((3, THREE), (1, 9), (5, SAME)),
    }.items():
        yield "parts" + name, STACK, block
    yield "partsempty", lorenz.Parameters(type=INT16, shape=(3, 0)), parts((2, b"\0"), (1, b"\0"))
    yield "partsone", lorenz.Parameters(type=INT16, shape=(1, 1)), parts((1, SAME))


# ---- Streams of constant symbols, and the bounds of section 14

def constant(symbol, extra=False):
    """A stream of any number of equal symbols, in two bytes. With extra, symbols may have extra bits, but have none."""
    return bytes([4, symbol, 0, 0]) if extra else bytes([0, symbol])


ZERO_GROUPS = b"\0\0\0" + constant(0)                   # a group stream of zeros
UNSIGNED_GROUPS = b"\2\0\0" + constant(0)


def constant_blocks():
    """Blocks of few bytes with the largest counts."""
    n = 40000                                            # more numbers than decoders use at once
    p = lorenz.Parameters(type=UINT8, shape=(n,))
    head = bytes([lorenz.GROUPS])
    for extra in False, True:
        name = "constant" + "extra" * extra
        ones, none = constant(1, extra), constant(0, extra)
        # Runs of one element. The steps are 0, 1, 2, 0, … and the kinds the sums of these.
        yield name + "runs", p, head + b"\2\0\0" + b"AB" + uv(3) + uv(n) + constant(2, extra) + ZERO_GROUPS
        yield name + "run", p, head + b"\1\0\0" + b"A" + uv(100) + uv(n) + ones + ZERO_GROUPS
        yield name + "repeats", p, head + b"\x10\0\0" + uv(n // 2) + ones + none + none + ZERO_GROUPS
        yield name + "patches", p, head + b"\x40\0\0" + uv(n - 1) + ones + (bytes(range(250)) * 160)[1:] + ZERO_GROUPS
        yield name + "text", p, (bytes([lorenz.TEXT, 0]) + uv(1) + uv(n // 2 - 1) + numbers([1] + [0] * (n // 2 - 2))
                                 + none + none + uv(2) + symbols([7, 9]))
    yield "constantreferences", p, bytes([lorenz.REFERENCES]) + b"\0\0\0\0" + UNSIGNED_GROUPS + ZERO_GROUPS


def bounds():
    """Blocks at the bounds, and blocks that exceed them. The latter have no sum."""
    most = 1 << 20
    for name, n, count in (("dictionarymost", most + 1, most), ("dictionarymore", most + 1, most + 1)):
        p = lorenz.Parameters(type=CHAR, shape=(n,))
        yield name, p, bytes([lorenz.GROUPS]) + b"\0\3\0" + uv(count) + UNSIGNED_GROUPS + ZERO_GROUPS
    for name, row in (("adaptivefar", most // 2), ("adaptivefarther", most // 2 + 1)):
        coder = Writer([1] * -(-2 * row // 32))         # all groups are zeros
        r = Reader(np.frombuffer(b"\0" + uv(0), np.uint8))
        with mock.patch.object(_adaptive, "Coder", lambda data: coder):
            _adaptive.read_adaptive(r, 2 * row, None, 32, 4, 8)
        stream = coder.stream()
        p = lorenz.Parameters(type=INT16, shape=(2, row))
        yield name, p, bytes([lorenz.ADAPTIVE]) + b"\0\0\0\0" + uv(len(stream)) + stream


# ---- All blocks, with their parameters

def good():
    yield from adaptive_blocks()
    yield from matches_blocks()
    p, block, _ = adaptive("referencesadaptive", INT32, (100,), NEAR)
    yield "referencesadaptive", p, bytes([lorenz.REFERENCES, 0, 0, 0, 2]) + UNSIGNED_GROUPS + block[4:]
    p = lorenz.Parameters(type=INT16, shape=(14, 14))
    yield "specials", p, two_specials(p)
    yield "repeated", lorenz.Parameters(type=INT32, shape=(20, 30)), repeated(600)
    yield "complements", lorenz.Parameters(type=INT32, shape=(20, 25)), complements(500)
    p = lorenz.Parameters(type=FLOAT64, shape=(20, 25))
    yield "textbefore", p, text("textbefore", p, 1, 3, 8)
    yield "partscopies", STACK, parts((3, THREE), (2, 1), (1, ROW), (1, 0), (1, 5), (1, SAME))
    p = lorenz.Parameters(type=INT32, order=1, shape=(7, 30))
    yield "partsmodes", p, parts((5, references([0] * 150, [3] * 150, False)), (1, bytes([lorenz.CONST]) + b"abcd"), (1, 4))
    p = lorenz.Parameters(type=UINT8, shape=(300,))
    yield "partselements", p, parts((24, THREE), (276, SAME[:2]))
    yield from constant_blocks()
    yield from ((name, p, block) for name, p, block in bounds() if not name.endswith(("more", "farther")))


def bad():
    yield from damaged_adaptive()
    yield from damaged_matches()
    yield from damaged_parts()
    yield from ((name, p, block) for name, p, block in bounds() if name.endswith(("more", "farther")))
    yield "referencesbefore", lorenz.Parameters(type=INT32, shape=(3,)), references([0, 6, 0], [1, 2, 3], False)
    p = lorenz.Parameters(type=CHAR, shape=(25, 40))
    yield "textrow", p, text("textrow", p, COLUMN, 3, 257)


def main():
    parser = argparse.ArgumentParser(description="Writes lorenz blocks for tests.")
    parser.add_argument("-d", default=os.path.join(ROOT, "lorenz/testdata/blocks"), help="folder to write to")
    folder = parser.parse_args().d
    os.makedirs(folder, exist_ok=True)

    def write(name, p, line, block):
        parameters = " ".join(map(str, (p.version, p.type, p.order, len(p.shape), *p.shape)))
        with open(os.path.join(folder, name), "wb") as f:
            f.write(f"parameters: {parameters}\n{line}\n\n".encode() + block)

    for name, p, block in good():
        write(name, p, f"sha256: {hashlib.sha256(lorenz.decode_block(block, p)).hexdigest()}", block)
    for name, p, block, *comment in (*bad(), *damaged()):
        try:
            lorenz.decode_block(block, p)
        except lorenz.DamagedBlock:
            write(name, p, "\n".join(["expect: corrupt", *(f"comment: section {c}" for c in comment)]), block)
        else:
            raise AssertionError(f"{name} can be decoded")


if __name__ == "__main__":
    main()
