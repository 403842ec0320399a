"""Mode 8 of lorenz blocks: residuals with the fixed tables of a block (docs/LORENZ.md, section 17).

The sixteen elements of a step are decoded at once. It takes about 5 µs per residual.
"""
import copy

import numpy as np

from ._errors import need
from ._streams import U64, Bits

STRIPES, SLOTS, SIGN_SLOTS = 16, 2048, 32
LEAST_COLUMN = 4 * STRIPES + 2          # bytes of a column and its place in the directory
LEAST_ROW, MOST_ROW, SHORT_ROW = 32, 1 << 20, 64
MOST_TABLES, EXPECTATIONS, MOST_LEVEL, GROUP = 16, 2048, 39, 32
ZEROS = 1
NEGATIVE, NONE, POSITIVE = range(3)


class TableBits:
    """Reads the bit string of the tables."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def get(self, n):
        need(self.at + n <= 8 * len(self.data), "tables: cut")
        v = int.from_bytes(self.data[self.at >> 3:(self.at + n + 7) >> 3].tobytes(), "little") >> (self.at & 7) & (1 << n) - 1
        self.at += n
        return v

    def difference(self, k):
        u = 0
        while self.get(1):
            u += 1
            need(u <= 128, "tables: a difference is too large")
        u = u << k | self.get(k)
        return u >> 1 ^ -(u & 1)


class Rows:
    """How the elements of a block, or of a column of its cells, are arranged in rows."""

    def __init__(self, shape):
        dims = [int(d) for d in shape if d > 1]
        need(dims, "mode 8: a block of one element")
        first, last = dims[0], dims[-1]
        self.turned = last < SHORT_ROW and last < first
        self.row = first if self.turned else last
        self.dims = min(len(dims), 3)
        self.plane = 1 if self.dims < 3 else last if self.turned else dims[-2]
        n = 1
        for d in dims:
            n *= d
        self.rows = n // self.row

    def check(self):
        need(self.row >= LEAST_ROW, f"mode 8: rows of {self.row} elements, expected at least {LEAST_ROW}")
        need(max(self.row, self.row * self.plane) <= MOST_ROW, f"mode 8: rows or planes of more than {MOST_ROW} elements")

    def columns(self, plane, cell):
        """The columns of planes that are cut into cells."""
        need(not self.turned, "mode 8: cells of rows along the first dimension")
        n = self.row * self.rows
        if self.dims == 1:
            need(plane == n, "mode 8: planes of a block of one dimension")
        else:
            need(plane % self.row == 0 and cell % self.row == 0, "mode 8: cells that are not whole rows")
        for at in range(0, plane, cell):
            width = min(cell, plane - at)
            column = copy.copy(self)
            if self.dims == 1:
                column.row = width
            each = width // column.row
            column.rows = n // plane * each
            if self.dims == 3:
                column.plane = max(min(self.plane, each), 2)
            column.check()
            yield column

    def arrange(self, a):
        """Returns the rows of an array of elements. Writing to them changes the array."""
        return a.reshape(self.row, self.rows).T if self.turned else a.reshape(self.rows, self.row)

    def taps(self):
        """The neighbours in earlier rows: rows before, columns after."""
        p = self.plane
        n = [(1, k) for k in range(-2, 3)]
        return ([], n + [(2, -1), (2, 0), (2, 1)], n + [(p, -1), (p, 0), (p, 1), (p + 1, 0), (p - 1, 0)])[self.dims - 1]


def read_table(bits, classes, slots):
    """Reads the table of a context to three arrays: for each slot the class, its slots, and its slots before this one."""
    first, count = bits.get(7), bits.get(7) + 1
    need(first + count <= classes, "tables: a class longer than a lane")
    sizes = [SLOTS]
    if count > 1:
        k, level, levels = bits.get(3), 16, []
        for _ in range(count):
            level += bits.difference(k)
            need(0 <= level <= MOST_LEVEL, f"tables: level {level}")
            levels.append(level)
        sizes = [v if v < 4 else 4 + (v & 3) << (v >> 2) - 1 for v in levels]
        top = levels.index(max(levels))
        sizes[top] += SLOTS - sum(sizes)
        need(sizes[top] >= 1, "tables: too many slots")
    at = 0
    for i, size in enumerate(sizes):
        slots[0, at:at + size], slots[1, at:at + size], slots[2, at:at + size] = first + i, size, np.arange(size)
        at += size


def read_zeros(bits, n, lane):
    """The trailing zeros of the groups of n positions."""
    k, t, zeros = bits.get(3), 0, []
    for _ in range(-(-n // GROUP)):
        t += bits.difference(k)
        need(0 <= t < lane, "trailing zeros longer than a lane")
        zeros.append(t)
    return zeros


def read_contexts(r, shape, n, masked, lane, order=None, plane=None, cell=None):
    """The residuals of n elements, 0 for those that are masked. lane: bits of a lane. order: that of the cells of
    planes, if they are shorter."""
    rows = Rows(shape)
    columns = [rows] if order is None else list(rows.columns(plane, cell))
    columns[0].check()
    taps = rows.taps()
    options = r.byte("options")
    need(options <= ZEROS, f"unknown options {options}")
    weights = r.take(2 + len(taps), "weights").astype(np.float32)
    count = r.byte("contexts")
    need(1 <= count <= MOST_TABLES, f"expected 1 to {MOST_TABLES} contexts, found {count}")
    bounds = []
    for _ in range(count - 1):
        bounds.append(r.uv("boundary", EXPECTATIONS - 1, bounds[-1] + 1 if bounds else 1))
    context = np.searchsorted(np.array(bounds, np.int64), np.arange(EXPECTATIONS), side="right")
    bits = TableBits(r.data[r.at:])
    tables = np.zeros((count, 3, SLOTS), np.uint32)
    for table in tables:
        read_table(bits, 2 * lane, table)
    signs = np.full((81, 3), SIGN_SLOTS, np.uint32)
    for i in range(3 if rows.dims == 1 else 81):
        for k in (1, 2):
            p = SIGN_SLOTS // 2
            if bits.get(1):
                p = bits.get(5)
                need(p, "tables: a probability of 0")
            signs[27 * i + 13 if rows.dims == 1 else i, k] = p
    model = weights, context, tables, signs
    if order is None:
        zeros = read_zeros(bits, n, lane) if options & ZEROS else None
        r.take((bits.at + 7) // 8, "tables")
        x = r.array("<u4", STRIPES, "states")
        words = r.array("<u2", r.uv("words", (len(r.data) - r.at) // 2), "words")
        coded = None if masked is None else ~rows.arrange(np.asarray(masked))
        classes, marks = read_column(rows, *model, x, words, coded)
        y = low_bits(r.data[r.at:], classes, marks, zeros, 0)
        r.at = len(r.data)
        out = np.empty(n, np.uint64)
        rows.arrange(out)[:] = y.reshape(rows.rows, rows.row)
        return out.astype(np.uint64 if lane == 64 else np.uint32)
    r.take((bits.at + 7) // 8, "tables")
    lengths = [(r.uv("words", len(r.data)), r.uv("low bits", len(r.data))) for _ in columns]
    coded = None if masked is None else ~np.asarray(masked)[order]
    parts, at = [], 0
    for column, (count, length) in zip(columns, lengths):
        x = r.array("<u4", STRIPES, "states")
        words = r.array("<u2", count, "words")
        low = r.take(length, "low bits")
        size = column.row * column.rows
        classes, marks = read_column(column, *model, x, words,
                                     None if coded is None else column.arrange(coded[at:at + size]))
        zeros, bits = None, TableBits(low)
        if options & ZEROS:
            zeros = read_zeros(bits, size, lane)
        parts.append(low_bits(low, classes, marks, zeros, bits.at))
        at += size
    out = np.empty(n, np.uint64)
    out[order] = np.concatenate(parts)
    return out.astype(np.uint64 if lane == 64 else np.uint32)


def read_column(rows, weights, context, tables, signs, x, words, coded):
    """The classes of the positions, and their signs. coded: whether the elements of the rows are, or None for all."""
    x, words, taps = x.astype(np.uint32), words.astype(np.uint32), rows.taps()
    need((x >= 1 << 16).all(), "a state below 2^16")
    row, long = rows.row, rows.row % STRIPES
    starts = np.array([q * (row // STRIPES) + min(q, long) for q in range(STRIPES)])
    clamp = lambda c: np.clip(c, 0, row - 1)
    columns = np.arange(row)
    mags = np.zeros((rows.rows + 1, row), np.float32)          # row g is mags[g + 1]
    marks = np.full((rows.rows + 1, row), NONE, np.uint32)
    classes = np.zeros((rows.rows, row), np.uint32)
    used = 0
    for g in range(rows.rows):
        before = lambda k: g + 1 - k if k <= g else g
        v = np.zeros(row, np.float32)
        for w, (k, c) in zip(weights[2:], taps):
            v += w * mags[before(k)][clamp(columns + c)]
        north, n_signs = mags[before(1)], marks[before(1)]
        b_signs = marks[before(1 if rows.dims == 1 else 2 if rows.dims == 2 else rows.plane)]
        others = 9 * n_signs + 3 * b_signs + n_signs[clamp(columns - 1)]
        m1 = north[clamp(starts)].copy()
        m2, west = m1.copy(), np.full(STRIPES, NONE, np.uint32)
        for j in range(-(-row // STRIPES)):
            q = np.arange(STRIPES if j < row // STRIPES else long)
            c = starts[q] + j
            active = np.ones(len(q), bool) if coded is None else coded[g, c]
            rest = q[~active]
            mags[g + 1, starts[rest] + j] = m1[rest]
            m2[rest], west[rest] = m1[rest], NONE
            q, c = q[active], c[active]
            if not len(q):
                continue
            e = v[c] + weights[1] * m2[q]
            e += np.float32(1)
            e += weights[0] * m1[q]
            k = context[(e.view(np.uint32) >> 19) - 2032]
            slot = x[q] % SLOTS
            s, size, place = tables[k, 0, slot], tables[k, 1, slot], tables[k, 2, slot]
            y = size * (x[q] >> 11) + place
            p = signs[27 * west[q] + others[c], np.minimum(s, 2)]
            z = y % SIGN_SLOTS
            negative = z < p
            y = np.where(negative, p * (y >> 5) + z, (SIGN_SLOTS - p) * (y >> 5) + z - p)
            low = np.flatnonzero(y < 1 << 16)
            need(used + len(low) <= len(words), "words: cut")
            y[low] = y[low] << 16 | words[used:used + len(low)]
            used += len(low)
            x[q] = y
            m2[q] = m1[q]
            m1[q] = mags[g + 1, c] = np.where(s > 0, (s + 254) << 22, 0).astype(np.uint32).view(np.float32)
            west[q] = marks[g + 1, c] = np.where(s == 0, NONE, np.where(negative, NEGATIVE, POSITIVE))
            classes[g, c] = s
    need(used == len(words), "words: some are left")
    need((x == 1 << 16).all(), "states: other ones at the end")
    return classes.ravel(), marks[1:].ravel()


def low_bits(data, s, marks, zeros, at):
    """The residuals with classes s, whose low bits begin at bit at and take up the rest of data."""
    b = np.maximum(s.astype(np.int64) >> 1, 1) - 1
    t = np.zeros(len(s), np.int64) if zeros is None else np.repeat(np.array(zeros, np.int64), GROUP)[:len(s)]
    width = np.maximum(b - t, 0)
    ends = at + np.cumsum(width)
    need((int(ends[-1]) + 7) // 8 == len(data), "low bits of another length")
    y = Bits(data).get(ends - width, width.astype(U64)) << t.astype(U64)
    top = np.where(s < 2, s, 2 + (s & 1)).astype(U64)
    y = (top << b.astype(U64)) + np.where(width > 0, y, 0).astype(U64)
    return np.where(marks == NEGATIVE, -y, y)
