"""Lorenz blocks of mode 3 (docs/LORENZ.md, section 12), valid and damaged, for blocks.py."""
from unittest import mock

import numpy as np

from draw import LARGE, NEAR, Drawer, Random, Writer, bits_of

from cdfz import _arith, _matches, lorenz
from cdfz._streams import Reader

from streams import uv

CHAR, INT16, INT64, FLOAT32 = lorenz.CHAR, lorenz.INT16, lorenz.INT64, lorenz.FLOAT32


def number(v):
    length = v.bit_length()
    slot = v if v < 4 else 2 * length - 2 + (v >> length - 2 & 1)
    more = length - 2 if v >= 4 else 0
    low = more if slot < 14 else 4
    return bits_of(slot, 6) + [v >> i & 1 for i in reversed(range(low, more))] + [v >> i & 1 for i in range(low)]


def literals(values):
    return [bit for b in values for bit in [0] + bits_of(b, 8)]


def again(rank, length):
    """A repeat at one of the distances used last."""
    return [1, 1] + ([0], [1, 0], [1, 1])[rank] + number(length - 1)


def match(distance, length):
    return [1, 0] + number(length - 2) + number(distance - 1)


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
        self.coder.script = number(v)[::-1]
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
            ("matchesabove", CHAR, (65537,), 0, 1, ((0, 60), (90, 50), (0, 90))),
            ("matcheslong", CHAR, (70000,), 0, 1, ((0, 60), (90, 50), (0, 90)))):
        yield name, *matches(name, *args)
    p = lorenz.Parameters(type=FLOAT32, order=1, shape=(3, 10))
    yield "matchesvaluesfew", p, bytes([lorenz.MATCHES, _matches.TABLE]) + table(7) + indices(7, 30)
    p = lorenz.Parameters(type=FLOAT32, shape=(1, 300))
    yield "matchesvaluesmost", p, bytes([lorenz.MATCHES, _matches.TABLE]) + table(256) + indices(256, 300)
    p = lorenz.Parameters(type=FLOAT32, shape=(17000,))  # more than 65536 bytes, but not as many indices
    yield "matchesvalueslong", p, bytes([lorenz.MATCHES, _matches.TABLE]) + table(256) + indices(256, 17000)
    yield from bounds_matches()


def scripted(p, script, options=0, values=b""):
    """A block of these bits. The last step may be one that the format does not allow: a decoder that lacks the check
    then finds nothing else."""
    coder = Writer(script)
    head = bytes([options]) + values
    with mock.patch.object(_matches, "Coder", lambda data: coder):
        try:
            _matches.decode_matches(Reader(np.frombuffer(head, np.uint8)), p.n, p.size)
        except lorenz.DamagedBlock:
            assert not coder.script
    return p, bytes([lorenz.MATCHES]) + head + coder.stream()


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
    return uv(count) + b"".join((i * 0x01020305 % 2 ** (8 * size)).to_bytes(size, "big") for i in range(count))


D = len(_matches.dictionary())
LONGEST = _matches.LONGEST


def block(type, *shape):
    return lorenz.Parameters(type=type, shape=shape)


def bounds_matches():
    """Blocks at the bounds of mode 3."""
    header, few = _matches.DICTIONARY, literals(b"few")
    yield "matchesfirst", *scripted(block(CHAR, 20), few + match(3, 17))
    yield "matchesfirstagain", *scripted(block(INT16, 30), literals(b"fewer") + again(1, 5) + again(2, 50), 5 - 1)
    yield "matchesfirstword", *scripted(block(CHAR, 50), few + match(D + 3, 47), header)
    yield "matcheslongest", *scripted(block(CHAR, LONGEST), literals(b"x") + match(1, LONGEST - 1))
    # The indices are fewer than the bytes of the elements. They may be copied from the dictionary.
    n = LONGEST // 2 + 1
    yield "matchesvaluesmany", *scripted(block(INT16, n), literals(b"\1") + match(1, n - 1), _matches.TABLE, table(2, 2))
    yield "matchesvaluesword", *scripted(block(FLOAT32, 40), match(D, 40), _matches.TABLE | header, table(256))
    # 2 in ten bytes
    yield "matchesvaluesten", *scripted(block(FLOAT32, 9), literals(b"\0\1") + match(2, 7), _matches.TABLE,
                                        b"\x82" + b"\x80" * 8 + b"\0" + table(2)[1:])
    # Probabilities at both bounds, alone and mixed, and then other decisions.
    rng = Random("c3")                                   # sums of 2047, where squash has a step, are among them
    rest = bytes(rng.below(256) for _ in range(40))
    letters = b"".join(bytes([rng.below(256)]) * 600 + rest[:rng.below(9)] for _ in range(9))
    yield "matchescertain", *scripted(block(CHAR, len(letters)), literals(letters))
    yield "matchescertainagain", *scripted(block(CHAR, 3041), literals(b"a") + again(0, 1) * 3000 + literals(rest))
    # So many literals that tables of contexts have several in one place.
    rng = Random("columns")
    columns = b"".join(bytes([rng.below(99), 3 * rng.below(40) + i]) for i in range(7) for _ in range(170))
    yield "matchescolumns", *scripted(block(CHAR, len(columns)), literals(columns), header | 7 - 1)


def beyond_matches():
    """Blocks whose last step goes beyond a bound, and others."""
    header, few = _matches.DICTIONARY, literals(b"few")
    for name, p, script, options in (
            ("farther", block(CHAR, 20), few + match(4, 17), 0),
            ("fartherword", block(CHAR, 50), few + match(D + 4, 47), header),
            ("fartheragain", block(INT16, 30), literals(b"four") + again(1, 56), 5 - 1),
            ("fartheragaintwice", block(INT16, 30), literals(b"ninebytes") + again(2, 51), 5 - 1),
            ("longer", block(CHAR, 20), few + match(3, 18), 0),
            ("longeragain", block(CHAR, 20), few + again(0, 18), 0)):
        yield "matches" + name, *scripted(p, script, options)
    with mock.patch.object(_matches, "LONGEST", LONGEST + 1):
        yield "matcheslongestmore", *scripted(block(CHAR, LONGEST + 1), literals(b"x") + match(1, LONGEST))
    yield "matchesvalueword", *scripted(block(FLOAT32, 40), match(D, 40), _matches.TABLE | header, table(7))
    yield "matchesvaluesnone", *scripted(block(FLOAT32, 9), literals(b"\0") + match(1, 8), _matches.TABLE, table(0))
    yield "matchesempty", block(INT16, 0), bytes([lorenz.MATCHES, 0, 1])
    p, good = scripted(block(FLOAT32, 9), literals(b"\0") + match(1, 8), _matches.TABLE, table(1))
    yield "matchesvalueseleven", p, good[:2] + b"\x81" + b"\x80" * 9 + b"\0" + good[3:]


def damaged_matches():
    yield from beyond_matches()
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
    yield "matchesbefore", p, steps(again(0, 1))
    yield "matchesfar", p, steps(match(1 << 32, 2))
    yield "matcheslength", p, steps(literals(b"A") + again(0, 1 << 32))
    # A last repeat of three bytes, of which the block has two.
    coder = Writer(literals(b"A") + again(0, 3))
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
