"""The predictors of lorenz blocks (docs/LORENZ.md, section 5)."""
import array
import functools

import numpy as np

WN, WP, NP, WNP, WW = range(1, 6)
# Neighbours of each kind, in this order.
NEIGHBOURS = {WN: ("W", "N", "NW"), WP: ("W", "P", "PW"), NP: ("N", "P", "PN"),
              WNP: ("W", "N", "NW", "P", "PW", "PN", "PNW"), WW: ("W", "WW")}
FEW = 12                     # for fewer simultaneous elements plain Python is faster than numpy


def add_strides(y, strides, plane, cell):
    """Returns the lanes of a chain predictor, given its residuals."""
    if not strides:
        return y
    n, cells = len(y), -(-plane // cell)
    planes = n // plane
    a = y.reshape(planes, plane)
    if cells * cell != plane:                       # pad the last cell
        a = np.concatenate((a, np.zeros((planes, cells * cell - plane), y.dtype)), axis=1)
    for s in strides:
        if s < cell:
            a = running_sums(a.reshape(planes * cells, cell), s)
        else:
            a = running_sums(a.reshape(1, -1), s // plane * cells * cell)
    return np.ascontiguousarray(a.reshape(planes, cells * cell)[:, :plane]).ravel()


def running_sums(a, s):
    """Returns running sums over every s-th element, for each row of a."""
    rows, length = a.shape
    steps = -(-length // s)
    if steps * s != length:
        b = np.zeros((rows, steps * s), a.dtype)
        b[:, :length] = a
        a = b
    a = np.add.accumulate(a.reshape(rows, steps, s), axis=1, dtype=a.dtype)
    return a.reshape(rows, steps * s)[:, :length]


def to_lane(bits, sign):
    """Returns the lanes of floats (transform 0), given their bits."""
    return bits ^ (negative(bits) | sign)


def from_lane(y, sign):
    """Returns the bits of floats, given their lanes (transform 0)."""
    return y ^ (~negative(y) | sign)


def negative(u):
    """Returns all ones where the highest bit is set, else 0."""
    return (u.view(f"i{u.itemsize}") >> (u.itemsize * 8 - 1)).view(u.dtype)


@functools.lru_cache(maxsize=4)
def plan(n, plane, cell, row, distance, kind):
    """The order in which a float predictor can decode elements. `order` lists them, `bounds` holds the start of each set
    of independent elements, and `places` the positions of each element's neighbours in that order, or n for a missing
    one."""
    i = np.arange(n)
    p = i // plane
    e = (i - p * plane) % cell
    r = e // row
    c = e - r * row
    d = i // distance if distance else 0
    time = {WN: r + c, WP: d + c, NP: d + r, WNP: d + r + c, WW: c}[kind]
    order = np.argsort(time, kind="stable")
    place = np.empty(n + 1, np.intp)
    place[order], place[n] = i, n
    back = {"W": 1, "N": row, "P": distance}
    places = []
    for name in NEIGHBOURS[kind]:
        ok = c >= name.count("W")
        if "N" in name:
            ok &= r > 0
        if "P" in name:
            ok &= i >= distance
        from_ = np.where(ok, i - sum(back[x] for x in name), n)
        places.append(place[from_[order]])
    bounds = np.concatenate(([0], np.cumsum(np.bincount(time)))).tolist()
    return order, np.array(places), bounds


def predict(kind, v):
    """Returns the prediction from the neighbours, rounding each operation."""
    if kind == WNP:
        w, n, nw, p, pw, pn, pnw = v
        return w + ((n - nw) + ((p - pw) - (pn - pnw)))
    if kind == WW:
        w, ww = v
        return w + (w - ww)
    a, b, ab = v
    return a + (b - ab)


def add_float(res, kind, row, distance, plane, cell):
    """Returns the lanes of a float predictor, given its residuals."""
    n = len(res)
    order, places, bounds = (plan if n <= 1 << 20 else plan.__wrapped__)(n, plane, cell, row, distance, kind)
    res = res[order]
    if n < FEW * (len(bounds) - 1):
        y = one_by_one(res, kind, places)
    else:
        y = side_by_side(res, kind, places, bounds)
    out = np.empty(n, res.dtype)
    out[order] = y
    return out


def side_by_side(res, kind, places, bounds):
    u = res.dtype
    sign = u.type(1 << u.itemsize * 8 - 1)
    values = np.zeros(len(res) + 1, f"f{u.itemsize}")
    bits, y = values.view(u), np.empty_like(res)
    top, zero = values.dtype.type(1e37), values.dtype.type(0)
    with np.errstate(all="ignore"):
        for start, stop in zip(bounds, bounds[1:]):
            p = predict(kind, values.take(places[:, start:stop], mode="clip"))
            p = np.where(np.abs(p) <= top, p, zero)
            lanes = y[start:stop]
            np.add(to_lane(p.view(u), sign), res[start:stop], out=lanes)
            bits[start:stop] = from_lane(lanes, sign)
    return y


def one_by_one(res, kind, places):
    """The same in plain Python. The sums of float32 are rounded twice, first to float64, which gives the same result."""
    size = res.dtype.itemsize
    sign = 1 << size * 8 - 1
    every = 2 * sign - 1
    cell = array.array("f" if size == 4 else "d", [0])
    bits = memoryview(cell).cast("B").cast("I" if size == 4 else "Q")
    cell[0] = 1e37
    top, values, y = cell[0], [0.0] * (len(res) + 1), []

    def rounded(x):
        cell[0] = x
        return cell[0]

    for i, (x, near) in enumerate(zip(res.tolist(), places.T.tolist())):
        v = [values[j] for j in near]
        if kind == WNP:
            w, n, nw, p, pw, pn, pnw = v
            p = w + rounded(rounded(n - nw) + rounded(rounded(p - pw) - rounded(pn - pnw)))
        elif kind == WW:
            w, ww = v
            p = w + rounded(w - ww)
        else:
            a, b, ab = v
            p = a + rounded(b - ab)
        cell[0] = p
        if not -top <= cell[0] <= top:
            cell[0] = 0.0
        b = bits[0]
        x = x + (b ^ every if b & sign else b | sign) & every
        y.append(x)
        bits[0] = x ^ sign if x & sign else x ^ every
        values[i] = cell[0]
    return np.array(y, res.dtype)
