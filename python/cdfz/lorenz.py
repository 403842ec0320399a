"""A decoder of lorenz blocks, written from docs/LORENZ.md.

    decode(data, type=FLOAT32, shape=(4, 180, 360))     # the decoded bytes, as an array

Needs only numpy. Comments refer to sections of that page. There is no encoder. If the package was installed with the
decoder in C, that decodes instead (_native).
"""
import bisect
import math

import numpy as np

from . import _native
from ._adaptive import read_adaptive
from ._contexts import LEAST_COLUMN, read_contexts
from ._errors import DamagedBlock, LorenzError, ParameterError, need
from ._matches import decode_matches
from ._predict import add_float, add_strides, from_lane, running_sums
from ._streams import U64, Reader, read_groups, read_numbers
from ._text import decode_text

__all__ = ["decode", "Parameters", "LorenzError", "ParameterError", "DamagedBlock"]

VERSION, MAX_BYTES, MAX_PARTS, MAX_ENTRIES = 1, 1 << 30, 1 << 16, 1 << 20
INT8, CHAR, INT16, INT32, FLOAT32, FLOAT64, UINT8, UINT16, UINT32, INT64, UINT64 = range(1, 12)
SIZES = {INT8: 1, CHAR: 1, INT16: 2, INT32: 4, FLOAT32: 4, FLOAT64: 8, UINT8: 1, UINT16: 2, UINT32: 4, INT64: 8,
         UINT64: 8}
RAW, CONST, GROUPS, MATCHES, ADAPTIVE, REFERENCES, TEXT, PARTS, CONTEXTS = range(9)
ORDER, FIXED, RATIO, DICTIONARY, SINGLE = range(5)
FLOAT, UNUSED, REPEATS, CELLS, PATCHES, WIDE = (1 << i for i in range(2, 8))


class Parameters:
    """The parameters of a block, which a decoder must know (section 1)."""

    def __init__(self, version=VERSION, type=FLOAT32, order=0, shape=()):
        number = lambda x: isinstance(x, (int, np.integer)) and not isinstance(x, bool)
        if not number(version) or version != VERSION:
            raise ParameterError(f"lorenz: expected format version {VERSION}, found {version!r}")
        if not number(type) or type not in SIZES:
            raise ParameterError(f"lorenz: expected an element type of 1 to 11, found {type!r}")
        if not number(order) or order not in (0, 1):
            raise ParameterError(f"lorenz: expected byte order 0 or 1, found {order!r}")
        try:
            self.shape = tuple(shape)
        except TypeError:
            raise ParameterError(f"lorenz: expected a list of dimensions, found {shape!r}") from None
        if not all(number(d) and 0 <= d <= MAX_BYTES for d in self.shape):
            raise ParameterError(f"lorenz: expected dimensions of 0 to {MAX_BYTES}, found {self.shape!r}")
        self.version, self.type, self.order, self.size = version, type, order, SIZES[type]
        self.n = math.prod(int(d) for d in self.shape)
        if self.n * self.size > MAX_BYTES:
            raise ParameterError(f"lorenz: expected a block of at most {MAX_BYTES} bytes, found shape {self.shape!r}")

    @classmethod
    def from_vector(cls, v):
        """Parses the parameters of a filter. An effort may follow the dimensions; decoding ignores it."""
        if len(v) < 4 or not 4 + v[3] <= len(v) <= 5 + v[3]:
            raise ParameterError(f"lorenz: expected 4 parameters and dimensions, found {len(v)}")
        if len(v) == 5 + v[3] and (v[-1] > 6 or v[-1] == 3):
            raise ParameterError(f"lorenz: expected an effort of 0 to 2 or 4 to 6, found {v[-1]}")
        return cls(v[0], v[1], v[2], v[4:4 + v[3]])

    @property
    def floating(self):
        return self.type in (FLOAT32, FLOAT64)

    @property
    def neighbours(self):
        """Returns the distances north and below of mode 4 (section 10)."""
        dims = [int(d) for d in self.shape if d > 1]
        if len(dims) < 2:
            return 4, 8
        row = dims[-1]
        return max(row, 3), max(row * dims[-2] if len(dims) > 2 else 2 * row, 3)


def decode(data, version=VERSION, type=FLOAT32, order=0, shape=()):
    """Returns the decoded bytes of a block as a new array of uint8."""
    return decode_block(data, Parameters(version, type, order, shape))


def memory(data, p):
    """Bounds the bytes of memory for decoding a block, beside the block: eight arrays of 8 bytes for each element, or
    for each byte in the modes that code bytes."""
    if _native.LIBRARY:
        return _native.memory(p)
    mode = data[0] if len(data) else RAW
    return 0 if mode in (RAW, CONST) else 64 * p.n * (p.size if mode in (MATCHES, TEXT, PARTS) else 1)


def decode_block(data, p, span=None):
    """Returns the decoded bytes of a block. Those outside of a span of elements may have any value."""
    out = _native.decode(data, p, span) if _native.LIBRARY else None
    if out is None:
        _native.warn()
        out = decode_slowly(data, p)
    return out


def decode_slowly(data, p):
    r = Reader(np.frombuffer(data, np.uint8))
    mode = r.byte("mode")
    if mode == RAW:
        out = r.take(p.n * p.size, "elements").copy()
    elif mode == PARTS:
        out = decode_parts(r, p)
    else:
        need(mode <= CONTEXTS, f"mode {mode}: this archive needs a later version of cdfz")
        need(p.n > 0, f"mode {mode} for a block without elements")
        if mode == CONST:
            out = np.tile(r.take(p.size, "element"), p.n)
        elif mode in (GROUPS, ADAPTIVE, REFERENCES, CONTEXTS):
            out = decode_groups(r, p, mode)
        elif mode == MATCHES:
            out = decode_matches(r, p.n, p.size)
        else:
            out = np.frombuffer(decode_text(r, p.n * p.size), np.uint8)
        if p.order and mode != CONST:
            out = out.reshape(-1, p.size)[:, ::-1].ravel()
    need(r.at == len(r.data), f"{len(r.data) - r.at} bytes after the end")
    return out


def decode_parts(r, p):
    """Decodes mode 7 (section 13)."""
    dims = p.shape
    while dims and dims[0] == 1:
        dims = dims[1:]
    need(dims and p.n > 0, "parts of less than two rows")
    rows, size = int(dims[0]), p.n // int(dims[0]) * p.size
    parts, starts, row = [], [], 0
    while row < rows:
        need(len(parts) < MAX_PARTS, f"more than {MAX_PARTS} parts")
        count = r.uv("rows of a part", min(rows - 1, rows - row), 1)
        length = r.uv("length of a part", len(r.data) - r.at)
        source = None
        if length == 0:
            source = r.uv("source of a copy", row)
            first, many, stored, _ = parts[bisect.bisect(starts, source) - 1] if source < row else (0, 0, 0, None)
            need(stored and source + count <= first + many, "a copy of rows that are not in one part")
        starts.append(row)
        parts.append((row, count, length, source))
        row += count
    out = np.empty((rows, size), np.uint8)
    for row, count, length, source in parts:
        if length == 0:
            out[row:row + count] = out[source:source + count]
            continue
        block = r.take(length, "part")
        need(block[0] != PARTS, "parts within a part")
        part = Parameters(p.version, p.type, p.order, (count, *dims[1:]))
        out[row:row + count] = decode_slowly(block.tobytes(), part).reshape(count, size)
    return out.ravel()


def decode_groups(r, p, mode):
    """Decodes modes 2 (section 3), 4, 5 and 8 to big-endian bytes."""
    n = p.n
    flags, transform = r.byte("flags"), r.byte("transform")
    need(flags & 3 < 3, "expected at most 2 special values, found 3")
    need(not flags & UNUSED, "flag bit 3 is set")
    lane = np.dtype(np.uint64 if flags & WIDE else np.uint32)
    need(transform <= SINGLE, f"unknown transform {transform}")
    need(transform in (ORDER, DICTIONARY) or p.floating, f"transform {transform} of integers")
    need(transform != SINGLE or p.type == FLOAT64, f"transform {transform} of another type than float64")
    if transform == ORDER:
        need((lane.itemsize == 8) == (p.size == 8), "lanes of a wrong length")
    elif transform in (DICTIONARY, SINGLE) or p.size == 4:
        need(lane.itemsize == 4, "lanes of a wrong length")
    plane = cell = n
    if flags & CELLS:
        plane = r.uv("plane", n, 1)
        cell = r.uv("cell", plane, 1)
        need(n % plane == 0, f"planes of {plane} do not divide {n} elements")
        need(not flags & REPEATS, "cells with repeats")
        need(mode != CONTEXTS or cell == plane or -(-plane // cell) * LEAST_COLUMN <= len(r.data) - r.at,
             "mode 8: more columns than the block has room for")
    predictor = read_predictor(r, flags, p, transform, plane, cell)
    kinds, specials = read_specials(r, flags & 3, p) if flags & 3 else (None, None)
    inverse = read_transform(r, transform, p, lane)
    patches = read_patches(r, p) if flags & PATCHES else None
    need(mode == GROUPS or not flags & REPEATS, f"repeats in mode {mode}")
    need(mode != REFERENCES or not flags & CELLS, "cells in mode 5")
    need(mode != ADAPTIVE or cell == plane, f"cells shorter than planes in mode {mode}")
    order = by_cells(n, plane, cell) if cell < plane and (plane < n or mode == CONTEXTS) else None
    if mode == ADAPTIVE:
        masked = None if kinds is None else (kinds != 0).tolist()
        y = read_adaptive(r, n, masked, 8 * lane.itemsize, *p.neighbours)
        kept = None
    elif mode == CONTEXTS:
        y = read_contexts(r, p.shape, n, None if kinds is None else kinds != 0, 8 * lane.itemsize, order, plane, cell)
        kept = order = None
    else:
        kept = kinds
        used = n if kinds is None else int(np.count_nonzero(kinds == 0))
        if mode == REFERENCES:
            y = read_references(r, used, lane)
        else:
            y = read_repeats(r, used, lane) if flags & REPEATS else read_groups(r, used, lane)
    if order is not None:
        if kept is not None:
            order = order[kinds[order] == 0]
        z = np.zeros(n, lane)
        z[order] = y
        y = z
    elif kept is not None:
        z = np.zeros(n, lane)
        z[kinds == 0] = y
        y = z
    y = add_float(y, *predictor, plane, cell) if flags & FLOAT else add_strides(y, predictor, plane, cell)
    with np.errstate(all="ignore"):
        bits = inverse(y)
    out = np.ascontiguousarray(bits.astype(bits.dtype.newbyteorder(">"))).view(np.uint8).reshape(n, p.size)
    if kinds is not None:
        for i, special in enumerate(specials):
            out[kinds == i + 1] = special
    if patches:
        out[patches[0]] = patches[1]
    return out.ravel()


def by_cells(n, plane, cell):
    """Returns the elements in the order of cells (section 3)."""
    rest = np.arange(n).reshape(-1, plane)
    return np.concatenate([rest[:, c:c + cell].ravel() for c in range(0, plane, cell)])


# ---- section 5

def read_predictor(r, flags, p, transform, plane, cell):
    """Returns the strides of a chain, or kind, row and distance of a float predictor."""
    n = p.n
    if not flags & FLOAT:
        count = r.byte("strides")
        need(count <= 4, f"expected at most 4 strides, found {count}")
        strides = [r.uv("stride", n - 1, 1) for _ in range(count)]
        need(all(s < cell or s % plane == 0 for s in strides), "stride across cells")
        return strides
    need(p.floating and transform == ORDER, "float predictor with a transform or integers")
    kind = r.byte("float predictor")
    need(1 <= kind <= 5, f"unknown float predictor {kind}")
    row, distance = r.uv("row", cell, 1), 0
    need(cell == plane or cell % row == 0, "rows do not divide the cell")
    if kind in (2, 3, 4):
        distance = r.uv("distance", n - 1, plane)
        need(distance % plane == 0, "distance is not a number of planes")
    return kind, row, distance


# ---- section 6

def read_specials(r, count, p):
    """Returns the kind of each element (0 if unmasked) and the special values."""
    specials = r.take(count * p.size, "special values").reshape(count, p.size)
    distance = r.uv("distance of the runs", p.n - 1)
    runs = r.uv("runs", p.n + 1)
    v = read_numbers(r, runs, "runs")
    lengths = v if count == 1 else v >> U64(1)
    need(runs > 0 and lengths.max() <= p.n and lengths[1:].all(), "runs of a wrong length")
    lengths = lengths.astype(np.int64)
    need(lengths.sum() == p.n, "runs do not cover the block")
    if count == 1:
        steps = np.arange(runs) & 1
    else:
        steps = (2 + np.cumsum(1 + (v & U64(1)).astype(np.int64))) % 3
    kinds = np.repeat(steps.astype(np.uint32), lengths)
    if distance:
        kinds = running_sums(kinds.reshape(1, -1), distance).ravel() % np.uint32(count + 1)
    return kinds.astype(np.uint8), specials


def read_patches(r, p):
    """Returns the places of patches and their elements."""
    count = r.uv("patches", p.n)
    v = read_numbers(r, count, "patches")
    if count:
        need(v.max() < p.n and v[1:].all(), "patch outside of the block")
    at = np.cumsum(v.astype(np.int64))
    need(count == 0 or at[-1] < p.n, "patch outside of the block")
    return at, r.take(count * p.size, "patches").reshape(count, p.size)


# ---- section 7

def read_repeats(r, m, lane):
    count = r.uv("repeats", m)
    literals, lengths, codes = (read_numbers(r, count, what) for what in ("literals", "lengths", "distances"))
    if count:
        need(literals.max() <= m and lengths.max() < m and codes.max() <= m + 2, "repeats beyond the end of the block")
    literals, lengths = literals.astype(np.int64), lengths.astype(np.int64) + 1
    ends = np.cumsum(literals + lengths)
    need(count == 0 or ends[-1] <= m, "repeats beyond the end of the block")
    distances, recent = [], [1, 1, 1]
    for code in codes.tolist():
        d = recent.pop(code) if code < 3 else code - 3
        recent.insert(0, d)
        del recent[3:]
        distances.append(d)
    distances = np.array(distances, np.int64)
    need(((1 <= distances) & (distances <= ends - lengths)).all(), "repeat from before the block")
    # The distance of each residual to the one it repeats, or 0 if it is in the group stream
    runs = np.column_stack((literals, lengths)).ravel()
    back = np.repeat(np.column_stack((np.zeros(count, np.int64), distances)).ravel(), runs)
    back = np.concatenate((back, np.zeros(m - len(back), np.int64)))
    source = np.arange(m) - back
    copies = np.flatnonzero(back)
    new = back == 0
    out = np.empty(m, lane)
    out[new] = read_groups(r, int(np.count_nonzero(new)), lane)
    while len(copies):                          # halves the distance to the origin
        copies = copies[~new[source[copies]]]
        source[copies] = source[source[copies]]
    return out[source]


# ---- section 11

def read_references(r, m, lane):
    options = r.byte("options")
    need(options <= 3, "references: unknown option")
    signs, coded = options & 1, options >> 1
    codes = read_groups(r, m, np.dtype(np.uint32), True)
    complements = codes & np.uint32(signs)
    codes = codes >> np.uint32(signs)
    need(((codes < 3) | (codes > 3) & (codes <= np.arange(4, m + 4))).all(), "reference to before the block")
    mask = (1 << 8 * lane.itemsize) - 1
    flips = (complements.astype(lane) * lane.type(mask)).tolist()
    y = [0]                                     # before the first residual
    recent = [1, 1, 1]
    differences = read_adaptive(r, m, None, 8 * lane.itemsize, 4, 8) if coded else read_groups(r, m, lane)
    for i, (code, flip, difference) in enumerate(zip(codes.tolist(), flips, differences.tolist())):
        if code:
            d = recent.pop(code) if code < 3 else code - 3
            recent.insert(0, d)
            del recent[3:]
        y.append((difference + (y[i + 1 - recent[0]] ^ flip)) & mask)
    return np.array(y[1:], lane)


# ---- section 4: each function reads parameters and returns a function from lanes to the bits of elements

def read_transform(r, transform, p, lane):
    bits = np.dtype(f"u{p.size}")
    real = np.dtype("f4" if p.size == 4 else "f8")
    sign = lane.type(1 << lane.itemsize * 8 - 1)
    signed = lambda y: y.view(f"i{lane.itemsize}")
    rounded = lambda x: x.astype(real).view(bits)

    def ordered(y):
        if p.floating:
            half = y.dtype.type(1 << y.itemsize * 8 - 1)
            return from_lane(y, half)
        return y.astype(bits)

    if transform == ORDER:
        return ordered
    if transform == FIXED:
        q = int(r.array("<i2", 1, "exponent")[0])
        need(-1074 <= q <= 1023, f"exponent: expected -1074 to 1023, found {q}")
        return lambda y: rounded(np.ldexp(signed(y).astype("f8"), q))
    if transform == RATIO:
        d = r.uv("divisor", 1 << 53, 1)
        return lambda y: rounded(signed(y).astype("f8") / d)
    if transform == DICTIONARY:
        count = r.uv("dictionary", min(p.n, MAX_ENTRIES), 1)
        v = read_groups(r, count, np.dtype(np.uint64 if p.size == 8 else np.uint32), True)
        sums = np.add.accumulate(v, dtype=v.dtype)
        entries = ordered(sums)
        return lambda y: entries[np.where(y < len(entries), y, 0)]
    return lambda y: from_lane(y, sign).view("f4").astype("f8").view(bits)   # single
