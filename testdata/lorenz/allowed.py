"""Lorenz blocks with the greatest and the least numbers that docs/LORENZ.md allows, for blocks.py. A reader that is too
strict rejects one of them. damaged.py has most of the numbers beyond.

Each function yields names, parameters and blocks.
"""
import struct

from cdfz import lorenz

from damaged import (CHAR, COLUMN, DICTIONARY, FIXED, FLOAT32, FLOAT64, INT32, RATIO, UINT8, ZEROS, block, classed, literals,
                     params)
from streams import BitString, groups, huffman, numbers, symbols, uv

INT64 = lorenz.INT64
ELEVEN = {i: min(i + 1, 11) for i in range(12)}          # lengths of the words of a code, up to 11 bits


def blocks():
    yield "emptylong", params(FLOAT64, 1 << 30, 1 << 30, 0), b"\0"
    p, ones = params(FLOAT64, 64), groups([2, 1, 4, 3] * 16)
    for q in -1074, 1023:
        yield f"exponent{q}", p, block(transform=FIXED, parameters=struct.pack("<h", q), residuals=ones)
    yield "divisormost", p, block(transform=RATIO, parameters=uv(2**53), residuals=ones)
    yield "dictionaryone", p, block(transform=DICTIONARY, parameters=uv(1) + groups([77], True), residuals=ones)
    # As many entries as elements. The lane after the last entry, and others beyond it, are entry 0.
    p, lanes = params(INT32, 33), groups([2 * y for y in [32, 33, 34, 5] * 8 + [31]])
    yield "dictionaryall", p, block(transform=DICTIONARY, parameters=uv(33) + groups([9] + [1] * 32, True), residuals=lanes)


def cells():
    p, some = params(FLOAT32, 64), groups([0x7F000000 + 5000 * i for i in range(64)])
    flags = lorenz.CELLS | lorenz.FLOAT
    yield "strides", p, block(predictor=b"\4" + uv(63) + b"\1\2\1", residuals=some)
    yield "cellsone", p, block(flags=lorenz.CELLS, cells=uv(64) + uv(64), predictor=b"\1" + uv(63), residuals=some)
    yield "floatrow", p, block(flags=lorenz.FLOAT, predictor=b"\1" + uv(5), residuals=some)
    yield "floatrowcells", p, block(flags=flags, cells=uv(32) + uv(32), predictor=b"\4" + uv(5) + uv(32), residuals=some)
    yield "floatdistance", p, block(flags=flags, cells=uv(1) + uv(1), predictor=b"\2" + uv(1) + uv(63), residuals=some)


def masks():
    n = 40
    p = params(UINT8, n)
    some = groups(list(range(20)))
    # The first run is empty, and all others have one element.
    yield "runsmost", p, block(flags=1, specials=b"A" + uv(0) + uv(n + 1) + numbers([0] + [1] * n), residuals=some)
    yield "runsdistancemost", p, block(flags=1, specials=b"A" + uv(n - 1) + uv(2) + numbers([20, 20]), residuals=some)
    yield "patchesmost", p, block(flags=lorenz.PATCHES, patches=uv(n) + numbers([0] + [1] * (n - 1)) + bytes(range(n)),
                                  residuals=ZEROS)
    repeats = numbers([n - 1]) + numbers([0]) + numbers([3 + n - 1])
    yield "repeatsfarthest", p, block(flags=lorenz.REPEATS, repeats=uv(1) + repeats, residuals=groups(list(range(5, n + 4))))


def bits(*fields):
    """Fields are numbers and their lengths in bits."""
    out = BitString()
    for v, length in fields:
        out.add(v, length)
    return out.bytes()


def chunk(stored):
    """A raw stream of one chunk, with extra bits."""
    return b"\5" + uv(len(stored)) + stored


def streams():
    p, wide = params(INT64, 32), lorenz.WIDE
    most = chunk(bits((248, 8), (5, 31 * 8), ((1 << 63) - 2, 63)))
    yield "groupsmost", p, block(flags=wide, residuals=b"\0\0\0" + symbols([1]) + most)
    # An excess of 22 groups of three bits. The two highest bits are ignored.
    excess = chunk(bits((15, 16 * 8), (int("7" + "f" * 21, 16), 88)))
    yield "groupsexcess", p, block(flags=wide, residuals=b"\0\1\0" + symbols([1]) + excess)
    low = bytes(range(4, 120))
    yield "groupsclassmost", params(INT32, 32), block(residuals=b"\0\0\0" + symbols([34]) + symbols(list(range(32))) + low)
    yield "groupszerosmost", params(INT32, 32), block(residuals=b"\1\0\0" + symbols([1]) + symbols([31]) + symbols(list(range(32))))
    yield "groupspackings", params(INT32, 32), block(residuals=classed(symbols([5] * 32), 32, packing=0xF000))
    # The bit that fills the last byte of the chunk, after 15 extra bits, is set.
    yield "groupsfilling", params(INT32, 32), block(residuals=classed(chunk(bits((200, 8), (0, 31 * 8), (0xC005, 16))), 32))


def texts():
    p = params(CHAR, 300)
    all = list(range(256)) + [7] * 44
    yield "codeall", p, literals(huffman(all, {y: 8 for y in range(256)}), 300)
    words = [y % 12 for y in range(300)]
    yield "codeeleven", p, literals(huffman(words, ELEVEN), 300)
    yield "textrowmost", p, literals(symbols(words), 300, kind=COLUMN, row=256, contexts=numbers([0] * 256))
    yield "textrowall", p, literals(symbols(words), 300, row=300)
    # A stream for each place in the row.
    yield "textstreamsmost", p, (literals(b"", 0, kind=COLUMN, row=16, contexts=numbers(list(range(16))), streams=16)[:-1]
                                 + b"".join(uv(len(words[i::16])) + symbols(words[i::16]) for i in range(16)))
    # A literal and two repeats of two bytes.
    yield "textrepeatsmost", params(CHAR, 5), literals(symbols([65]), 1, repeats=uv(2) + numbers([1, 0]) + numbers([0, 0]) + numbers([0, 0]))


def allowed():
    for part in blocks, cells, masks, streams, texts:
        yield from part()
