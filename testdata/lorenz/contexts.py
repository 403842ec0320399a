"""Lorenz blocks of mode 8 (docs/LORENZ.md, section 17) for blocks.py, by an encoder written from the text: with masks,
weights, signs and tables that the encoder of package lorenz does not choose, and damaged blocks.

The classes, signs and low bits of the residuals are drawn. So all neighbours differ, and a decoder that takes another one
goes astray.
"""
import struct

import numpy as np

from cdfz import lorenz

from draw import Random
from streams import BitString, groups, numbers, uv

INT8, INT16, INT32, FLOAT32, FLOAT64, INT64 = (lorenz.INT8, lorenz.INT16, lorenz.INT32, lorenz.FLOAT32, lorenz.FLOAT64,
                                               lorenz.INT64)
ORDER, FIXED, RATIO, DICTIONARY, SINGLE = range(5)
STRIPES, SLOTS, END = 16, 2048, 1 << 16
single = np.float32


class Column:
    """The rows of a block, or of one of its columns."""

    def __init__(self, dims, plane, cell, first):
        dims = [d for d in dims if d > 1]
        n = int(np.prod(dims))
        self.dims, last = min(len(dims), 3), dims[-1]
        turned = len(dims) > 1 and last < 64 and last < dims[0]
        self.row = dims[0] if turned else last
        self.plane = 1 if len(dims) < 3 else last if turned else dims[-2]
        width = min(cell, plane - first)
        if cell < plane:
            self.row = width if len(dims) == 1 else last
            if len(dims) > 2:
                self.plane = max(2, min(self.plane, width // last))
            places = [p + first + i for p in range(0, n, plane) for i in range(width)]
        else:
            places = [c * (n // self.row) + g for g in range(n // self.row) for c in range(self.row)] if turned else list(range(n))
        self.places = places                             # the element of each position
        self.rows = len(places) // self.row
        sizes = [self.row // STRIPES + (q < self.row % STRIPES) for q in range(STRIPES)]
        self.starts = [sum(sizes[:q]) for q in range(STRIPES)]
        self.sizes = sizes

    def steps(self):
        """The elements of a row in the order of decoding: stripe, number in it, element."""
        for j in range(max(self.sizes)):
            for q in range(STRIPES):
                if j < self.sizes[q]:
                    yield q, j, self.starts[q] + j

    def taps(self):
        r = self.plane
        north = [(1, k) for k in range(-2, 3)]
        return ([], north + [(2, k) for k in (-1, 0, 1)], north + [(r, -1), (r, 0), (r, 1), (r + 1, 0), (r - 1, 0)])[self.dims - 1]


def magnitude(s):
    return single(0) if s == 0 else np.uint32((s + 254) << 22).view(single)


class State:
    """Magnitudes and signs (0, 1 for none, 2) of the rows of a column. Row g is at g + 1."""

    def __init__(self, column):
        self.mags = np.zeros((column.rows + 1, column.row), single)
        self.signs = np.ones((column.rows + 1, column.row), int)
        self.column = column

    def before(self, g, k):
        return g + 1 - k if k <= g else g

    def west(self, g, j, c):
        """The magnitudes of W and WW."""
        north = self.mags[self.before(g, 1)]
        row = self.mags[g + 1]
        if j == 0:
            return north[c], north[c]
        return row[c - 1], north[c - 1] if j == 1 else row[c - 2]

    def expectation(self, weights, g, j, c):
        column, v = self.column, single(0)
        for w, (k, d) in zip(weights[2:], column.taps()):
            v = v + single(w) * self.mags[self.before(g, k), min(max(c + d, 0), column.row - 1)]
        w, ww = self.west(g, j, c)
        v = v + single(weights[1]) * ww
        v = v + single(1)
        v = v + single(weights[0]) * w
        return int(v.view(np.uint32) >> 19) - 2032

    def sign(self, g, j, c):
        west = self.signs[g + 1, c - 1] if j else 1
        if self.column.dims == 1:
            return int(west)
        north = self.signs[self.before(g, 1)]
        below = self.signs[self.before(g, 2 if self.column.dims == 2 else self.column.plane)]
        return int(27 * west + 9 * north[c] + 3 * below[c] + north[max(c - 1, 0)])


def difference(bits, d, k):
    u = 2 * d if d >= 0 else -2 * d - 1
    for _ in range(u >> k):
        bits.add(1, 1)
    bits.add(0, 1)
    bits.add(u & (1 << k) - 1, k)


class Table:
    """A table for some classes, with levels that are drawn."""

    def __init__(self, rng, classes):
        self.first, self.count = min(classes), max(classes) - min(classes) + 1
        self.levels = [rng.between(2, 11) for _ in range(self.count)]
        slots = [v if v < 4 else 4 + (v & 3) << (v >> 2) - 1 for v in self.levels]
        slots[self.levels.index(max(self.levels))] += SLOTS - sum(slots)
        self.slots = {self.first + i: (sum(slots[:i]), n) for i, n in enumerate(slots)}
        self.k = rng.below(4)

    def write(self, bits):
        bits.add(self.first, 7)
        bits.add(self.count - 1, 7)
        if self.count > 1:
            bits.add(self.k, 3)
            level = 16
            for v in self.levels:
                difference(bits, v - level, self.k)
                level = v


def inverse(y, before, slots, p, negative):
    """The state before that of a class and a sign."""
    if p is not None:
        part, at = (p, 0) if negative else (32 - p, p)
        y = (y // part << 5) + y % part + at
    return (y // slots << 11) + y % slots + before


def draw_classes(rng, column, most, kinds):
    """Classes that change along and across rows, by rows; None for masked elements."""
    bases = [rng.below(most - 4) for _ in range(8)]
    out = []
    for g in range(column.rows):
        out.append([None if kinds[column.places[g * column.row + c]] else
                    min(most, bases[(c // 5 + 3 * g) % 8] + rng.below(5)) if rng.percent(85) else rng.below(most + 1)
                    for c in range(column.row)])
    return out


def contextual(name, type, shape, weights=None, order=0, cells=None, transform=ORDER, parameters=b"", most=40, predictor=b"\0",
               flags=0, kinds=None, specials=b"", first=None, zeros=False, patches=b"", classes=draw_classes, positive=50, bounds=None):
    """kinds: of the elements, 1 and 2 for masked ones. most: the greatest class. first: the residual of the first
    element. positive: how many percent of the residuals are."""
    rng = Random(name)
    p = lorenz.Parameters(type=type, order=order, shape=shape)
    lane = 64 if p.size == 8 and transform in (ORDER, FIXED, RATIO) and flags & lorenz.WIDE == lorenz.WIDE else 32
    plane, cell = cells or (p.n, p.n)
    columns = [Column(shape, plane, cell, at) for at in range(0, plane, cell)]
    taps = len(columns[0].taps())
    if weights is None:                                  # none is 0, no two are equal
        weights = []
        while len(weights) < 2 + taps:
            w = rng.between(9, 60)
            if w not in weights:
                weights.append(w)
    kinds = [0] * p.n if kinds is None else kinds
    # The residuals: class and sign of each position, and E.
    coded, every = [], []
    for column in columns:
        state, list_ = State(column), []
        drawn = classes(rng, column, most, kinds)
        for g in range(column.rows):
            for q, j, c in column.steps():
                s, negative, e, sign = drawn[g][c], not rng.percent(positive), None, None
                if s is None:
                    state.mags[g + 1, c] = state.west(g, j, c)[0]
                    continue
                if first is not None and column.places[g * column.row + c] == 0:
                    negative = first < 0
                    b = abs(first).bit_length() - 1
                    s = 2 * b + (abs(first) >> b - 1 & 1)
                e, sign = state.expectation(weights, g, j, c), state.sign(g, j, c)
                state.mags[g + 1, c] = magnitude(s)
                state.signs[g + 1, c] = 1 if s == 0 else 0 if negative else 2
                list_.append((q, g * column.row + c, s, negative, e, sign))
        coded.append(list_)
        every += list_
    # As many contexts as possible, each with about as many elements.
    found = sorted(x[4] for x in every)
    if bounds is None:
        bounds = sorted({found[i * len(found) // 16] for i in range(1, 16)} - {0, found[0]})
    context = lambda e: sum(b <= e for b in bounds)
    tables = []
    for k in range(len(bounds) + 1):
        tables.append(Table(rng, [x[2] for x in every if context(x[4]) == k] or [0]))
    signs = [[rng.between(1, 31) if rng.percent(80) else None for _ in range(2)] for _ in range(81 if taps else 3)]
    bits = BitString()
    for t in tables:
        t.write(bits)
    for pair in signs:
        for v in pair:
            bits.add(v is not None, 1)
            if v is not None:
                bits.add(v, 5)
    heads, bodies = b"", b""
    for number, (column, list_) in enumerate(zip(columns, coded)):
        low = bits if zeros and cells is None else BitString()
        t = [0] * -(-len(column.places) // 32)
        if zeros:
            k = rng.below(3)
            low.add(k, 3)
            last = 0
            for i in range(len(t)):
                t[i] = rng.below(12)
                difference(low, t[i] - last, k)
                last = t[i]
        if low is bits:
            low = BitString()
        value = abs(first) if first is not None and number == 0 else None
        for _, at, s, _, _, _ in sorted(list_, key=lambda x: x[1]):
            many = max(0, s // 2 - 1 - t[at // 32]) if s > 1 else 0
            own = column.places[at] == 0 and value is not None
            low.add(value >> t[at // 32] & (1 << many) - 1 if own else rng.below(1 << many), many)
        states, words = [END] * STRIPES, []
        for q, _, s, negative, e, sign in reversed(list_):
            start, slots = tables[context(e)].slots[s]
            chance = None if s == 0 else signs[sign][s > 1] or 16
            x = inverse(states[q], start, slots, chance, negative)
            if x >> 32:
                words.append(states[q] & 0xffff)
                x = inverse(states[q] >> 16, start, slots, chance, negative)
            states[q] = x
        packed = struct.pack("<16I", *states)
        stored = struct.pack(f"<{len(words)}H", *reversed(words))
        if cells is None:
            bodies += packed + uv(len(words)) + stored + low.bytes()
        else:
            heads += uv(len(words)) + uv(len(low.bytes()))
            bodies += packed + stored + low.bytes()
    if cells is not None:
        flags |= lorenz.CELLS
    head = bytes([lorenz.CONTEXTS, flags | max(kinds), transform]) + (uv(plane) + uv(cell) if cells else b"")
    tail = bytes([zeros]) + bytes(weights) + bytes([len(tables)]) + b"".join(map(uv, bounds)) + bits.bytes()
    return name, p, head + predictor + specials + parameters + patches + tail + heads + bodies


# ---- Masks

def runs(kinds, values):
    """The special values and their runs (section 6)."""
    lengths, last = [], 0
    at = 0
    if values == 1 and kinds[0]:
        lengths.append(0)
    if values == 2:
        last = 2
        if kinds[0] == 2:
            lengths.append(0)
            last = 0
    while at < len(kinds):
        end = at
        while end < len(kinds) and kinds[end] == kinds[at]:
            end += 1
        lengths.append(end - at if values == 1 else 2 * (end - at) + (kinds[at] - last - 1) % 3)
        last, at = kinds[at], end
    return uv(0) + uv(len(lengths)) + numbers(lengths)


def masked(name, type, shape, values, cells=None, rows=(0,), **more):
    """Some rows are masked as a whole. Of the others, stripes begin with masked elements, or have them at the second one
    or later."""
    rng = Random(name + "mask")
    n = int(np.prod(shape))
    plane, cell = cells or (n, n)
    kinds = [0] * n
    for at in range(0, plane, cell):
        column = Column(shape, plane, cell, at)
        for g in range(column.rows):
            for q, (start, size) in enumerate(zip(column.starts, column.sizes)):
                at_, count = rng.pick(((0, 1), (0, 2), (0, 9), (1, 1), (1, 2), (2, 2), (0, 0), (0, 0), (0, 0)))
                if g in rows:
                    at_, count = 0, size
                kind = rng.between(1, values)
                for c in range(start + at_, min(start + at_ + count, start + size)):
                    kinds[column.places[g * column.row + c]] = kind
    size = lorenz.SIZES[type]
    patterns = b"".join(bytes([0xC0 + 16 * i + k for k in range(size)]) for i in range(values))
    return contextual(name, type, shape, kinds=kinds, specials=patterns + runs(kinds, values), cells=cells, **more)


def masks():
    yield masked("contextsmaskline", INT16, (203,), 1, rows=())
    yield masked("contextsmasklinecells", INT32, (300,), 2, cells=(300, 130), rows=())
    yield masked("contextsmaskplane", INT32, (9, 70), 1)
    yield masked("contextsmaskplanetwo", FLOAT32, (9, 77), 2, rows=(0, 1, 5), predictor=b"\1\1")
    yield masked("contextsmaskplanecells", INT32, (8, 66), 1, cells=(264, 66), predictor=b"\1" + uv(264))
    yield masked("contextsmaskplanes", INT64, (4, 3, 65), 2, flags=lorenz.WIDE, most=90)
    yield masked("contextsmaskplanescells", INT32, (3, 5, 37), 1, cells=(185, 74), rows=(0, 3), zeros=True)
    yield masked("contextsmaskturned", INT32, (45, 3, 4), 2)
    yield masked("contextsmaskturnedline", FLOAT64, (90, 5), 1, flags=lorenz.WIDE, zeros=True)


# ---- Weights

def weights():
    """Every neighbour counts, at the ends of rows as well as elsewhere."""
    wide = lorenz.WIDE
    yield contextual("contextsweightsline", INT32, (401,))
    yield contextual("contextsweightslinecells", INT32, (401,), cells=(401, 160))
    yield contextual("contextsweightsplane", INT32, (12, 40))
    yield contextual("contextsweightsplanecells", INT32, (12, 35), cells=(210, 70))
    yield contextual("contextsweightsplanes", INT32, (5, 4, 33))
    yield contextual("contextsweightsplaneswide", INT64, (4, 5, 36), flags=wide, most=100)
    yield contextual("contextsweightsplanescells", INT32, (4, 7, 34), cells=(238, 102))
    yield contextual("contextsweightsplaneslong", INT32, (3, 2, 3, 34), cells=(204, 136))
    yield contextual("contextsweightsturned", INT32, (39, 3, 4))
    yield contextual("contextsweightsturnedplane", INT32, (50, 9))
    for name, shape, cells in (("contextsone", (3, 4, 1, 64), None), ("contextsonecells", (3, 6, 1, 64), (384, 192)), ("contextsones", (4, 1, 3, 1, 40, 1), None),
                               ("contextsoneturned", (40, 1, 2, 1, 3), None)):
        yield contextual(name, INT32, shape, cells=cells)


# ---- Rounding

def steep(most):
    """Pairs of rows. In the upper one, three neighbours have 2^a, 2^(a - 8) and 2^(a - 16). With weights near 255 their
    sum has 24 bits and is little less than a power of two. In the lower one, all is near the unit of its last bit, so
    that the rounding of each addition decides whether the sum reaches that power."""
    def classes(rng, column, _, kinds):
        near = [s for s in range(2 * most - 38, 2 * most - 29) if s >= 0]
        return [[rng.pick(near) for _ in range(column.row)] if g % 2 else
                [2 * (most - 8 * ((c + g // 2) % 3)) for c in range(column.row)] for g in range(column.rows)]
    return classes


def rounding():
    wide = lorenz.WIDE
    for name, type, shape, most, flags, cells, weights in (
            ("plane", INT32, (32, 64), 28, 0, None, [1, 1, 0, 255, 255, 253, 0, 1, 1, 2]),
            ("one", INT32, (32, 64), 17, 0, None, [1, 1, 0, 255, 255, 253, 0, 0, 1, 0]),
            ("onewide", INT64, (32, 64), 17, wide, None, [1, 2, 0, 255, 255, 251, 0, 0, 0, 0]),
            ("planewide", INT64, (32, 50), 60, wide, None, [1, 1, 0, 255, 255, 255, 0, 0, 1, 0]),
            ("planes", FLOAT64, (6, 4, 48), 55, wide, None, [1, 1, 0, 255, 255, 253, 0, 1, 1, 2, 0, 0]),
            ("planescells", FLOAT64, (5, 8, 48), 55, wide, (384, 192), [1, 1, 0, 255, 255, 255, 0, 1, 0, 1, 0, 0])):
        b = (most + 8) * 16
        yield contextual("contextsrounding" + name, type, shape, weights=weights, flags=flags, cells=cells, classes=steep(most),
                         bounds=[v for v in (b - 16 * 12, b - 16, b - 8, b - 1, b, b + 1) if v > 0])


# ---- Orders, patches and transforms

def others():
    wide = lorenz.WIDE
    patches = lambda size, at: uv(len(at)) + numbers([b - a for a, b in zip([0] + at, at)]) + bytes((7 * i) & 255 for i in range(len(at) * size))
    yield contextual("contextslittle", INT16, (7, 40), order=1, flags=lorenz.PATCHES, patches=patches(2, [0, 1, 41, 279]))
    yield contextual("contextspatchescells", INT32, (6, 2, 40), order=1, flags=lorenz.PATCHES, patches=patches(4, [3, 79, 80, 200, 479]), cells=(80, 40))
    yield contextual("contextsfixed", FLOAT32, (6, 44), transform=FIXED, parameters=struct.pack("<h", -3), predictor=b"\1\1", most=30)
    yield contextual("contextsfixedwide", FLOAT64, (5, 3, 36), transform=FIXED, parameters=struct.pack("<h", 5), flags=wide, cells=(108, 36), most=70)
    yield contextual("contextsratio", FLOAT64, (6, 44), transform=RATIO, parameters=uv(100), most=40, flags=wide, order=1)
    yield contextual("contextsrationarrow", FLOAT32, (300,), transform=RATIO, parameters=uv(10), most=30, zeros=True)
    entries = groups([5] + [1000 + 7 * i for i in range(40)], True)
    yield contextual("contextsdictionary", FLOAT32, (8, 40), transform=DICTIONARY, parameters=uv(41) + entries, most=11, positive=90)
    yield contextual("contextsdictionarywide", INT64, (3, 3, 40), order=1, transform=DICTIONARY, parameters=uv(41) + entries, most=11,
                     positive=90, cells=(120, 80))
    yield contextual("contextssingle", FLOAT64, (6, 50), transform=SINGLE, most=30, predictor=b"\1\1", first=0x3F800000 - (1 << 31),
                     flags=lorenz.PATCHES, patches=patches(8, [5, 299]))
    kinds = [1 + i % 2 if i // 7 % 4 == 0 or i < 50 else 0 for i in range(300)]
    yield contextual("contextsall", FLOAT64, (6, 50), order=1, transform=RATIO, parameters=uv(8), most=40, predictor=b"\1" + uv(150), kinds=kinds,
                     specials=bytes(range(16)) + runs(kinds, 2), flags=lorenz.PATCHES | wide, patches=patches(8, [60, 299]), cells=(150, 50), zeros=True)


def contexts_blocks():
    for part in masks, weights, rounding, others:
        yield from part()
