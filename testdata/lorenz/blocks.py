#!/usr/bin/python3
"""Writes lorenz/testdata/blocks: lorenz blocks that the encoder of package lorenz does not write, and damaged ones.

    /usr/bin/python3 testdata/lorenz/blocks.py [-d DIR]

An encoder makes few of the decisions that the format allows. Here they are drawn at random or chosen to reach the
bounds of the format. For the modes 3 and 4, the decoder of python/ runs with a range coder that chooses each bit and
writes the stream from which a decoder reads it. So any decisions make a valid block. The blocks of other modes are
written from docs/LORENZ.md. The sums in the files are those of the blocks as decoded by python/.

Needs Debian's python3-numpy. The output is the same on every machine.
"""
import argparse
import hashlib
import os
from unittest import mock

import numpy as np

from draw import LARGE, NEAR, ROOT, Drawer, Random, Writer, bits_of, choose_distance

from cdfz import _adaptive, lorenz
from cdfz._streams import Reader

from allowed import allowed
from contexts import contexts_blocks
from damaged import damaged
from matches import damaged_matches, matches_blocks
from streams import BitString, groups, numbers, symbols, uv

CHAR, INT16, INT32, FLOAT32, FLOAT64, UINT8 = (lorenz.CHAR, lorenz.INT16, lorenz.INT32, lorenz.FLOAT32, lorenz.FLOAT64,
                                               lorenz.UINT8)
INT64 = lorenz.INT64
COLUMN = 3                       # kind of context of mode 6


# ---- Mode 4 (section 10)

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
    yield "adaptivezerosmost", *zeros(31)
    yield "adaptivethree", *empty(64)


def coded(p, script, option=0):
    """A block whose bits are those of a script, without low bits."""
    coder = Writer(script)
    r = Reader(np.frombuffer(bytes([option]) + uv(0), np.uint8))
    with mock.patch.object(_adaptive, "Coder", lambda data: coder), mock.patch.object(_adaptive, "need", lambda ok, what: None):
        _adaptive.read_adaptive(r, p.n, None, 32, *p.neighbours)
    stream = coder.stream()
    return p, bytes([lorenz.ADAPTIVE, 0, 0, 0, option]) + uv(len(stream)) + stream


def zeros(trailing):
    """A group with so many trailing zeros, whose residuals are 0 nevertheless."""
    return coded(lorenz.Parameters(type=INT32, shape=(32,)), [0] + bits_of(trailing, 6) + [0] * 32, _adaptive.ZEROS)


def empty(n):
    """A block of empty groups. So few bits are in the first byte, which is 0 here and then equals the zeros that follow."""
    p, block = coded(lorenz.Parameters(type=INT32, shape=(n,)), [1] * (n // 32))
    assert block[5:] == b"\1\1"
    return p, block[:6] + b"\0"


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
    for bit in range(2, 8):
        yield f"adaptiveoption{bit}", p, block[:4] + bytes([block[4] | 1 << bit]) + block[5:], f"10, option bit {bit}"
    end = 6 if block[5] < 128 else 7                    # of the length
    length = int(block[5]) & 127 | (int(block[6]) << 7 if end == 7 else 0)
    coded, rest = block[end:end + length], block[end + length:]
    for name, other, what in (("more", coded + b"\0", "a zero after the coded bits"), ("none", b"", "no coded bits")):
        yield "adaptive" + name, p, block[:5] + uv(len(other)) + other + rest, f"9, {what}"
    with mock.patch.object(_adaptive, "need", lambda ok, what: None), mock.patch.object(Drawer, "most_zeros", 64):
        p, block, _ = adaptive("adaptivezeros", INT32, (10, 10), NEAR, True)
    yield "adaptivezeros", p, block, "10, 32 trailing zeros and more"
    yield "adaptivezeroslane", *zeros(32), "10, 32 trailing zeros"
    p, block = empty(64)
    yield "adaptivefour", p, block[:5] + uv(0), "9, four zeros are read"
    p, block, _ = adaptive("referencesadaptive", INT32, (100,), NEAR)
    block = bytes([lorenz.REFERENCES, 0, 0, 0, 2]) + UNSIGNED_GROUPS + block[4:]
    yield "referencesadaptiveoption", p, block[:4] + b"\6" + block[5:], "11, an option that is not there"
    yield "referencesadaptivecut", p, block[:-1], "11, adaptive differences that are cut"


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
    for name, *shape in (("adaptivefar", 2, most // 2), ("adaptivefarther", 2, most // 2 + 1), ("adaptivefaronemore", 2, 17, 61681)):
        p = lorenz.Parameters(type=INT16, shape=shape)
        yield name, *coded(p, [1] * -(-p.n // 32))      # all groups are zeros


# ---- All blocks, with their parameters

def good():
    yield from adaptive_blocks()
    yield from matches_blocks()
    yield from contexts_blocks()
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
    yield from allowed()
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

    names = set()

    def write(name, p, line, block):
        assert name not in names, f"two blocks are called {name}"
        names.add(name)
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
