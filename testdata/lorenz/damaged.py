"""Lorenz blocks with one fault each, for blocks.py. A reader that lacks the check of a fault decodes the block.

Each function yields names, parameters, blocks and comments. A comment begins with the section of docs/LORENZ.md that
the block violates.
"""
import struct

from cdfz import lorenz

from streams import BitString, chunk_lengths, code_lengths, groups, huffman, numbers, symbols, uv

INT16, INT32, FLOAT32, FLOAT64, UINT8, CHAR = (lorenz.INT16, lorenz.INT32, lorenz.FLOAT32, lorenz.FLOAT64,
                                               lorenz.UINT8, lorenz.CHAR)
ORDER, FIXED, RATIO, DICTIONARY, SINGLE = range(5)
NONE, BEFORE, AGAIN, COLUMN = range(4)                  # contexts of mode 6
MORE = 4                                                # the bit of a stream whose symbols may have extra bits


def params(type, *shape):
    return lorenz.Parameters(type=type, shape=shape)


def block(mode=lorenz.GROUPS, flags=0, transform=ORDER, cells=b"", predictor=b"\0", specials=b"", parameters=b"",
          patches=b"", repeats=b"", residuals=b""):
    """The parts of section 3 in their order."""
    return bytes([mode, flags, transform]) + cells + predictor + specials + parameters + patches + repeats + residuals


ZEROS = b"\0\0\0\0\0"                                   # a group stream of any number of zeros
UNSIGNED = b"\2\0\0\0\0"
WRONG = bytes([MORE, 0, 1, 0])                          # a stream of equal symbols whose only chunk has a byte too many


def wrong_first(count):
    """A stream of zeros, of which only the first chunk has a byte too many."""
    bits, chunks = BitString(), -(-count // 512)
    bits.add(1, chunks)
    return bytes([MORE, 0]) + uv(0) + b"\1" + bits.bytes() + b"\0"


def wrong_last(count, symbol=0):
    bits, chunks = BitString(), -(-count // 512)
    bits.add(1 << chunks - 1, chunks)
    return bytes([MORE, symbol]) + uv(0) + b"\1" + bits.bytes() + b"\0"


def classed(stream, values, flags=0, packing=0, zeros=b""):
    """A group stream of class 1."""
    classes = [1] + [0] * (-(-values // 32) - 1)
    return bytes([flags]) + struct.pack("<H", packing) + huffman(classes, {0: 1, 1: 1}) + zeros + stream


def blocks():
    """Modes, flags and transforms."""
    ints, floats, doubles = params(INT32, 64), params(FLOAT32, 64), params(FLOAT64, 64)
    yield "nothing", ints, b"", "2, no mode"
    yield "modeonly", ints, b"\2", "3, the block ends after the mode"
    yield "constantshort", params(INT16, 5), b"\1\1", "2, one byte for an element of two"
    yield "constantempty", params(INT16, 0), b"\1\1\2", "2, mode 1 for a block without elements"
    yield "groupsempty", params(INT16, 0), b"\2\0\0\0", "2, mode 2 for a block without elements"
    for name, p, mode, rest in (
            ("adaptive", params(INT16, 0), lorenz.ADAPTIVE, b"\0\0\0\0\1\1"), ("references", params(INT16, 0), lorenz.REFERENCES, b"\0\0\0\0"),
            ("text", params(CHAR, 0), lorenz.TEXT, b"\0\1\0\0"), ("rawextra", params(CHAR, 0), lorenz.RAW, b"A")):
        yield "empty" + name, p, bytes([mode]) + rest, f"2, bytes in mode {mode} for a block without elements"
    for mode in 130, 255:
        yield f"mode{mode}", ints, block(mode=mode, residuals=ZEROS), f"2, mode {mode} with the data of mode 2"
    yield "flagthree", ints, block(flags=lorenz.UNUSED, residuals=ZEROS), "3, flag bit 3"
    yield "threespecials", ints, block(flags=3, specials=bytes(12) + uv(0) + uv(1) + numbers([128]), residuals=ZEROS), \
        "3, three special values"
    wide = lorenz.WIDE
    for name, p, flags, transform, parameters in (
            ("orderwide", ints, wide, ORDER, b""), ("ordernarrow", doubles, 0, ORDER, b""),
            ("fixedints", ints, 0, FIXED, b"\0\0"), ("fixedfloatwide", floats, wide, FIXED, b"\0\0"),
            ("ratioints", ints, 0, RATIO, b"\1"), ("ratiofloatwide", floats, wide, RATIO, b"\1"),
            ("dictionarywide", doubles, wide, DICTIONARY, uv(1) + UNSIGNED), ("singlewide", doubles, wide, SINGLE, b""),
            ("singlefloats", floats, 0, SINGLE, b""), ("five", doubles, 0, 5, b"")):
        yield "transform" + name, p, block(flags=flags, transform=transform, parameters=parameters, residuals=ZEROS), \
            "4, a transform that the type or the lanes do not have"
    for name, q in ("low", -1075), ("high", 1024):
        yield "exponent" + name, doubles, block(transform=FIXED, parameters=struct.pack("<h", q), residuals=ZEROS), \
            f"4, exponent {q}"
    for name, d in ("zero", 0), ("large", 2**53 + 1):
        yield "divisor" + name, doubles, block(transform=RATIO, parameters=uv(d), residuals=ZEROS), f"4, divisor {d}"
    yield "divisorlong", doubles, block(transform=RATIO, parameters=b"\x81" + b"\x80" * 9 + b"\0", residuals=ZEROS), \
        "introduction, a number in 11 bytes"
    yield "divisorwide", doubles, block(transform=RATIO, parameters=b"\x81" + b"\x80" * 8 + b"\2", residuals=ZEROS), \
        "introduction, a number of more than 64 bits"
    for name, stream, what in (("none", uv(0), "no entries"), ("signed", uv(3) + ZEROS, "entries whose unsigned flag is clear"),
                               ("many", uv(65) + UNSIGNED, "more entries than elements"),
                               ("chunk", uv(3) + b"\2\0\0" + symbols([1]) + WRONG, "an entry's chunk is too long")):
        yield "dictionary" + name, ints, block(transform=DICTIONARY, parameters=stream, residuals=ZEROS), f"4, {what}"


def cells():
    p = params(FLOAT32, 64)
    cells, float = lorenz.CELLS, lorenz.FLOAT
    for name, plane, cell, what in (
            ("noplane", 0, 1, "planes of no elements"), ("nocell", 64, 0, "cells of no elements"),
            ("divide", 24, 24, "planes that do not divide the block"), ("longer", 32, 33, "cells longer than planes"),
            ("plane", 128, 1, "planes longer than the block")):
        yield "cells" + name, p, block(flags=cells, cells=uv(plane) + uv(cell), residuals=ZEROS), f"3, {what}"
    yield "cellsrepeats", p, block(flags=cells | lorenz.REPEATS, cells=uv(32) + uv(8), repeats=uv(0), residuals=ZEROS), \
        "3, cells with repeats"
    for name, strides, what in (("zero", [0], "a stride of 0"), ("long", [64], "a stride of all elements"),
                                ("many", [1] * 5, "five strides")):
        yield "stride" + name, p, block(predictor=bytes([len(strides)]) + b"".join(map(uv, strides)), residuals=ZEROS), f"5, {what}"
    yield "stridecell", p, block(flags=cells, cells=uv(32) + uv(8), predictor=b"\1" + uv(8), residuals=ZEROS), \
        "3, a stride of a cell"
    yield "strideacross", p, block(flags=cells, cells=uv(32) + uv(8), predictor=b"\1" + uv(16), residuals=ZEROS), \
        "3, a stride that crosses cells but not planes"
    for name, flags, layout, predictor, what in (
            ("kindnone", 0, b"", (0, 8), "kind 0"), ("kindsix", 0, b"", (6, 8), "kind 6"),
            ("rownone", 0, b"", (1, 0), "rows of no elements"), ("rowlong", cells, uv(32) + uv(32), (1, 40), "rows longer than cells"),
            ("rowcell", cells, uv(32) + uv(16), (1, 5), "rows that do not divide a cell"),
            ("distanceshort", cells, uv(32) + uv(32), (2, 8, 0), "a distance of 0"),
            ("distancelong", cells, uv(32) + uv(32), (2, 8, 64), "a distance of all elements"),
            ("distanceplane", cells, uv(16) + uv(16), (2, 8, 24), "a distance that is no multiple of the plane"),
            ("distancecells", 0, b"", (2, 8, 8), "a distance without cells")):
        yield "float" + name, p, block(flags=float | flags, cells=layout, predictor=b"".join(map(uv, predictor)),
                                       residuals=ZEROS), f"5, {what}"
    yield "floatints", params(INT32, 64), block(flags=float, predictor=b"\1" + uv(8), residuals=ZEROS), \
        "5, a float predictor of integers"
    yield "floatfixed", p, block(flags=float, transform=FIXED, predictor=b"\1" + uv(8), parameters=b"\0\0", residuals=ZEROS), \
        "5, a float predictor with transform 1"


def specials():
    n = 100
    p = params(UINT8, n)

    def one(lengths, distance=0, count=None, stream=None):
        stream = numbers(lengths) if stream is None else stream
        return block(flags=1, specials=b"A" + uv(distance) + uv(len(lengths) if count is None else count) + stream,
                     residuals=ZEROS)

    def two(runs, distance=0):
        return block(flags=2, specials=b"AB" + uv(distance) + uv(len(runs)) + numbers(runs), residuals=ZEROS)

    for name, b, what in (
            ("distance", one([60, 40], n), "a distance of all elements"),
            ("none", one([]), "no runs"),
            ("short", one([60, 39]), "runs that end before the block"),
            ("long", one([60, 41]), "a run that ends beyond the block"),
            ("empty", one([60, 0, 40]), "an empty run after the first"),
            ("after", one([60, 40, 1]), "a run after the end of the block"),
            ("twoshort", two([120, 78]), "runs of two special values that end before the block"),
            ("twolong", two([120, 82]), "a run of two special values that ends beyond the block"),
            ("twoempty", two([120, 0, 80]), "an empty run of two special values after the first"),
            ("huge", one([60, 1 << 31]), "a run of 2^31 elements"),
            ("twohuge", two([121, 1 << 31]), "a run of 2^30 elements of two special values")):
        yield "runs" + name, p, b, f"6, {what}"
    n = 16384                                           # decoders may read so many numbers at once
    for name, specials, steps, runs, what in (
            ("later", b"A", {0: 1, 1: 1}, [1] * n + [0, 1], "empty run number 16384"),
            ("twolater", b"AB", {0: 1, 2: 1}, [2] * n + [0, 2], "empty run number 16384 of two special values"),
            ("first", b"A", {0: 2, 1: 1, 191: 2}, [1] * 5 + [0] + [1] * (n - 6) + [191] * 90, "empty run number 5 of 16474")):
        yield "runs" + name, params(UINT8, n + 1 if name != "first" else 191 * 90 - 1), block(
            flags=len(specials), specials=specials + uv(0) + uv(len(runs)) + huffman(runs, steps), residuals=ZEROS), f"6, {what}"
    yield "runschunk", params(UINT8, n), block(flags=1, specials=b"A" + uv(0) + uv(n + 1) + wrong_last(n + 1, 1), residuals=ZEROS), \
        "8, the last chunk of run lengths is too long"
    yield "runsmasked", params(UINT8, 64), block(flags=1, specials=b"A" + uv(0) + uv(2) + numbers([32, 32]),
                                                 residuals=classed(WRONG, 32)), "8, a chunk of the residuals of unmasked elements is too long"
    p = params(UINT8, 100)

    def patched(distances, elements, count=None, stream=None):
        stream = numbers(distances) if stream is None else stream
        return block(flags=lorenz.PATCHES, patches=uv(len(distances) if count is None else count) + stream + elements, residuals=ZEROS)

    for name, b, what in (
            ("beyond", patched([60, 40], b"AB"), "a patch beyond the end of the block"),
            ("twice", patched([60, 0], b"AB"), "an element patched twice"),
            ("many", patched([0] + [1] * 100, bytes(101)), "more patches than elements"),
            ("chunk", patched([], b"AB", 2, WRONG), "a chunk of distances is too long")):
        yield "patches" + name, p, b, f"6, {what}"
    yield "patcheswide", params(FLOAT64, 64), block(flags=lorenz.PATCHES | lorenz.WIDE, patches=uv(1) + numbers([64]) + bytes(8),
                                                    residuals=ZEROS), "6, a patch beyond the end of a block with lanes of 64 bits"


def repeats():
    n = 100
    p = params(UINT8, n)

    def some(literals, lengths, codes, residuals=ZEROS):
        parts = [x if isinstance(x, bytes) else numbers(x) for x in (literals, lengths, codes)]
        return block(flags=lorenz.REPEATS, repeats=uv(1 if isinstance(literals, bytes) else len(literals)) + b"".join(parts),
                     residuals=residuals)

    for name, b, what in (
            ("many", some([1] * 101, [0] * 101, [0] * 101), "more repeats than elements"),
            ("literals", some([101], [4], [0]), "literals beyond the end"),
            ("length", some([1], [99], [0]), "a repeat beyond the end"),
            ("lengthall", some([1], [100], [0]), "a repeat longer than the block"),
            ("together", some([60, 30], [9, 9], [0, 0]), "literals and repeats beyond the end"),
            ("before", some([5], [4], [9]), "a repeat from before the block"),
            ("first", some([0], [4], [0]), "a repeat without anything before it"),
            ("zero", some([5], [4], [3]), "a distance of 0"),
            ("literalschunk", some(WRONG, [0], [0]), "a chunk of literals is too long"),
            ("lengthschunk", some([5], WRONG, [0]), "a chunk of lengths is too long"),
            ("codeschunk", some([5], [4], WRONG), "a chunk of codes is too long"),
            ("literalshuge", some([1 << 31], [4], [0]), "2^31 literals"),
            ("lengthshuge", some([1], [(1 << 32) - 1], [0]), "a repeat of 2^32 elements"),
            ("residuals", some([1], [n - 2], [0], classed(WRONG, 1)), "a chunk of the residuals is too long"),
            ("masked", block(flags=lorenz.REPEATS | 1, specials=b"A" + uv(0) + uv(2) + numbers([60, 40]),
                             repeats=uv(1) + numbers([5]) + numbers([4]) + numbers([9]), residuals=ZEROS),
             "a repeat from before the block that has masked elements")):
        yield "repeats" + name, p, b, f"7, {what}"
    n = 131072 + 64
    last = block(flags=lorenz.REPEATS, repeats=uv(1) + numbers([1]) + numbers([0]) + numbers([0]), residuals=classed(wrong_last(n), n))
    yield "repeatslast", params(UINT8, n + 1), last, "7, the last chunk of the residuals is too long"


def streams():
    p = params(INT32, 64)

    def residuals(b):
        return block(residuals=b)

    def extra(values, bits, count):
        """A stream of raw symbols in one chunk, with extra bits."""
        chunk = BitString()
        for v in values:
            chunk.add(v, 8)
        chunk.add(bits, count)
        return b"\5" + uv(len(chunk.bytes())) + chunk.bytes()

    low = bytes(4 * 30 * 2)
    for name, b, what in (
            ("flag", b"\4\0\0\0\0", "flag bit 2"),
            ("class", b"\0\0\0" + symbols([35, 0]) + symbols([0] * 64) + low, "class 35"),
            ("zeros", b"\1\0\0" + symbols([1, 0]) + symbols([32, 0]) + symbols([1] * 64), "32 trailing zeros"),
            ("packing", b"\0\3\0" + symbols([1, 0]) + symbols([0] * 64), "packing 3"),
            ("packingunused", b"\0\0\x0c" + symbols([1, 0]) + symbols([0] * 64), "packing 3 of an empty stream"),
            ("classesextra", b"\0\0\0" + bytes([MORE, 0, 0]), "classes with extra bits"),
            ("classeschunk", b"\0\0\0" + huffman([0, 0], {0: 1, 1: 1}, table=uv(2)) + b"\0", "a chunk of classes is too long"),
            ("zerosextra", b"\1\0\0" + symbols([0, 0]) + bytes([MORE, 0, 0]), "trailing zeros with extra bits"),
            ("zeroschunk", b"\1\0\0" + symbols([0, 0]) + huffman([0, 0], {0: 1, 1: 1}, table=uv(2)) + b"\0",
             "a chunk of trailing zeros is too long"),
            ("large", b"\0\0\0" + symbols([1, 0]) + symbols([0, 200] + [0] * 62), "a large number in a stream without extra bits"),
            ("pairs", b"\0\1\0" + symbols([1, 0]) + symbols([0, 15] + [0] * 30), "a large number of a pair in a stream without extra bits"),
            ("fours", b"\0\2\0" + symbols([1, 0]) + symbols([0, 3] + [0] * 14), "a large number of four in a stream without extra bits"),
            ("symbol", b"\0\0\0" + symbols([1, 0]) + extra([0, 249] + [0] * 62, 5, 64), "symbol 249"),
            ("after", b"\0\0\0" + symbols([1, 0]) + extra([0, 200] + [0] * 62, 5, 15 + 8), "a byte after the extra bits of a chunk"),
            ("cut", b"\0\0\0" + symbols([1, 0]) + extra([0, 200] + [0] * 62, 5, 8), "a chunk ends before its extra bits"),
            ("nibbles", b"\0\1\0" + symbols([1, 0]) + extra([0, 15] + [0] * 30, int("1" + "9" * 22, 16), 92), "23 groups of three bits"),
            ("symbols", b"\0\0\0" + symbols([1, 0]) + extra([0] * 63, 0, 0), "a chunk ends before its symbols"),
            ("nosymbols", b"\0\0\0" + symbols([1, 0]) + b"\5" + uv(0), "a chunk without its symbols"),
            ("symbolcut", b"\0\0\0" + symbols([1, 0]) + extra([0, 249] + [0] * 62, 0, 0), "symbol 249 without extra bits"),
            ("equal", b"\0\0\0" + symbols([1, 0]) + WRONG, "a chunk of equal symbols has a byte"),
            ("words", b"\0\0\0" + symbols([1, 0]) + huffman([0, 1] * 32, {0: 1, 1: 1}, table=uv(9)) + b"\0", "a byte after the code words of a chunk"),
            ("lowcut", b"\0\0\0" + symbols([7, 0]) + symbols([0] * 64) + bytes(15), "low bits that are cut")):
        yield "groups" + name, p, residuals(b), f"8, {what}"
    yield "groupswideclass", params(FLOAT64, 32), block(flags=lorenz.WIDE, residuals=b"\0\0\0" + symbols([67]) + symbols([0] * 32) + bytes(4 * 62)), \
        "8, class 67 of lanes of 64 bits"
    yield "groupswidezeros", params(FLOAT64, 32), block(flags=lorenz.WIDE, residuals=b"\1\0\0" + symbols([1]) + symbols([64]) + symbols([1] * 32)), \
        "8, 64 trailing zeros of lanes of 64 bits"
    n = 131072 + 64
    yield "groupspieces", params(UINT8, n), residuals(classed(wrong_first(n), n)), "8, only the first of 257 chunks is too long"

    def patches(stream, count=1):
        return block(flags=lorenz.PATCHES, patches=uv(count) + stream + bytes(count), residuals=ZEROS)

    p = params(UINT8, 300)
    for name, stream, what in (
            ("large", symbols([192]), "a large number in a stream without extra bits"),
            ("beyond", extra([184 + 33], 5, 32), "number 2^32 + 5"),
            ("symbol", extra([249], 5, 64), "symbol 249"),
            ("after", extra([5], 0, 8), "a byte after the symbols of a chunk"),
            ("cut", extra([200], 0, 8), "a chunk ends before its extra bits"),
            ("method", b"\3\1\5", "method 3"),
            ("methodraw", b"\3\5", "method 3, as if raw"),
            ("bits", b"\x0b\1\5", "bit 3 of the first byte")):
        yield "numbers" + name, p, patches(stream), f"8, {what}"
    for bit in range(3, 8):
        yield f"numbersbit{bit}", p, patches(bytes([1 | 1 << bit, 5])), f"8, bit {bit} of the first byte"
    yield "numberswords", p, patches(huffman([5], {5: 1, 6: 1}, table=uv(2)) + b"\0"), "8, a byte after the code words of a chunk"
    yield "numbersnone", p, patches(b"\5" + uv(0)), "8, a chunk without its symbol"
    yield "numbersymbols", p, patches(extra([5], 0, 0), 2), "8, a chunk ends before its symbols"


def literals(stream, count=64, kind=NONE, row=1, contexts=b"", streams=1, repeats=uv(0)):
    return bytes([lorenz.TEXT, kind | streams - 1 << 2]) + uv(row) + contexts + repeats + uv(count) + stream


def codes():
    """Huffman codes, as those of the literals of a text."""
    p = params(CHAR, 64)
    two, text = {0: 1, 1: 1}, [0, 1] * 32
    for name, stream, what in (
            ("run", huffman(text, {0: 1, 1: 2, 2: 2}, code_lengths({0: 1, 1: 2, 2: 2}, last=1, runs=[3])), "a run beyond the last symbol"),
            ("runlong", huffman(text, two, code_lengths(two, runs=[600])), "a run of 600 symbols"),
            ("absent", huffman(text, two, code_lengths(two, last=2, runs=[2, 1])), "absent symbols at the end"),
            ("step", huffman(text, {0: 21, 1: 1}), "a code length that differs by 16 from the one before"),
            ("longer", huffman(text, {0: 2, 1: 2, 2: 2, 3: 2, 4: 12}), "a code word of 12 bits"),
            ("empty", huffman(text, two, code_lengths({0: 1, 1: 1, 2: 0})), "a code word of 0 bits"),
            ("incomplete", huffman(text, {0: 1, 1: 2}), "a code that is not complete"),
            ("over", huffman(text, two, code_lengths({0: 1, 1: 1, 2: 1})), "more code words than there are"),
            ("after", huffman(text, two, table=uv(9)) + b"\0", "a byte after the code words of a chunk"),
            ("cut", huffman(text, two, table=uv(7)), "a chunk ends before its code words")):
        yield "code" + name, p, literals(stream), f"8, {what}"
    yield "chunkswidth", params(CHAR, 1024), literals(huffman(text * 16, two, table=uv(64) + b"\x11" + bytes(5)), 1024), \
        "8, differences of 17 bits between lengths of chunks"
    yield "chunkslong", params(CHAR, 1024), literals(huffman(text * 16, two, table=uv(65536) + b"\1" + bytes(1)), 1024), \
        "8, a smallest length of 65536"
    yield "chunkssum", params(CHAR, 1024), literals(huffman(text * 16, two, table=uv(64) + b"\1" + b"\3"), 1024), \
        "8, chunks that end beyond the block"


def texts():
    n = 64
    p = params(CHAR, n)
    raw, contexts = symbols([65] * n), numbers([0] * 256)
    numbered = lambda *lists: uv(len(lists[0])) + b"".join(map(numbers, lists))
    for name, b, what in (
            ("norow", literals(raw, row=0), "rows of no bytes"),
            ("rowlong", literals(raw, row=n + 1), "rows longer than the block"),
            ("rowcolumn", literals(raw, kind=COLUMN, row=n + 1, contexts=numbers([0] * (n + 1))), "rows of columns longer than the block"),
            ("streams", literals(raw, kind=BEFORE, contexts=contexts, streams=17) + uv(0) * 16, "17 streams"),
            ("streamsnone", literals(raw, streams=2) + uv(0), "two streams without contexts"),
            ("stream", literals(raw, kind=BEFORE, contexts=numbers([0] * 255 + [1])), "a context of stream 1 of 1"),
            ("contexts", literals(raw, kind=BEFORE, contexts=WRONG), "a chunk of streams of contexts is too long"),
            ("extra", literals(b"\5" + uv(n) + bytes([65] * n)), "literals with extra bits"),
            ("after", literals(raw) + b"\0", "a byte after the streams"),
            ("repeats", literals(symbols([65]), 1, repeats=numbered([1] + [0] * 32, [0] * 33, [0] * 33)), "more repeats than fit"),
            ("manyliterals", literals(symbols([65] * (n + 1)), n + 1), "more literals than bytes"),
            ("runlong", literals(raw, repeats=numbered([n + 1], [0], [0])), "literals beyond the end"),
            ("few", literals(symbols([65] * (n - 1)), n - 1), "too few literals"),
            ("fewbefore", literals(symbols([65] * 9), 9, repeats=numbered([10], [n - 12], [0])), "too few literals before a repeat"),
            ("fewcontext", literals(symbols([65] * (n - 1)), n - 1, kind=BEFORE, contexts=contexts), "too few literals of a context"),
            ("length", literals(symbols([65] * 9), 9, repeats=numbered([9], [n - 9 - 1], [0])), "a repeat beyond the end"),
            ("distance", literals(symbols([65] * (n - 2)), n - 2, repeats=numbered([9], [0], [66 + 10])), "a repeat from before the block"),
            ("distancelong", literals(symbols([65] * (n - 2)), n - 2, repeats=numbered([9], [0], [66 + 200])), "a distance longer than the block"),
            ("unused", literals(symbols([65] * 10), 10, repeats=numbered([9], [n - 11], [0])), "a literal that is not used"),
            ("unusedstream", literals(symbols([65] * 9), 9, kind=BEFORE, contexts=contexts, streams=2, repeats=numbered([9], [n - 11], [0]))
             + uv(1) + symbols([65]), "a stream that is not used"),
            ("literalwords", literals(huffman([0, 1] * 32, {0: 1, 1: 1}, table=uv(9)) + b"\0"), "a chunk of literals is too long")):
        yield "text" + name, p, b, f"12, {what}"
    yield "modeeight", p, b"\x08" + literals(raw)[1:], "2, mode 8 with the data of mode 6"
    for bit in range(3, 8):
        yield f"textbit{bit}", p, literals(bytes([1 | 1 << bit]) + raw[1:]), f"8, bit {bit} of the first byte of literals"
    for i, what in enumerate(("literals", "lengths", "codes")):
        stored = [numbers([9]), numbers([n - 11]), numbers([0])]
        stored[i] = WRONG
        count = n if i == 0 else 9
        yield "text" + what + "chunk", p, literals(symbols([65] * count), count, repeats=uv(1) + b"".join(stored)), \
            f"12, a chunk of {what} of repeats is too long"


def references():
    p = params(INT32, 64)

    def some(codes, differences=ZEROS, options=0, **more):
        return block(mode=lorenz.REFERENCES, residuals=bytes([options]) + codes + differences, **more)

    for name, b, what in (
            ("options", some(UNSIGNED, options=4), "an option that is not there"),
            ("signed", some(ZEROS), "codes whose unsigned flag is clear"),
            ("zero", some(groups([3] * 64, True)), "a distance of 0"),
            ("codes", some(classed(WRONG, 64, 2)), "a chunk of codes is too long"),
            ("differences", some(UNSIGNED, classed(WRONG, 64)), "a chunk of differences is too long"),
            ("repeats", some(UNSIGNED, flags=lorenz.REPEATS), "flag bit 4"),
            ("cells", some(UNSIGNED, flags=lorenz.CELLS, cells=uv(32) + uv(32)), "flag bit 5"),
            ("after", some(UNSIGNED, ZEROS + b"\0"), "a byte after the differences")):
        yield "references" + name, p, b, f"11, {what}"
    for bit in range(3, 8):
        yield f"referencesoption{bit}", p, some(UNSIGNED, options=1 << bit), f"11, option bit {bit}"


def damaged():
    for part in blocks, cells, specials, repeats, streams, codes, texts, references:
        yield from part()
