"""Values of variables ("Reading a variable")."""
import itertools
import math

import numpy as np

from ._checks import need
from ._netcdf import DTYPES
from ._permutation import Permutation


class Selection(Permutation):
    """Reads values by indices and slices."""

    def dtype(self, number):
        """Returns the type of a variable in the byte order of this machine."""
        return np.dtype(DTYPES[self.header.vars[number].type]).newbyteorder("=")

    def block_shape(self, number):
        """Returns the shape of a variable's blocks, or None if it has none of its own."""
        v = self.blocked().get(number)
        return v["block"] if isinstance(v, dict) else None

    def read(self, number, key=...):
        """Returns values of a variable of the netCDF header, for a key of integers and slices."""
        v = self.header.vars[number]
        key = key if isinstance(key, tuple) else (key,)
        if Ellipsis in key:
            i = key.index(Ellipsis)
            key = key[:i] + (slice(None),) * (len(v.shape) - len(key) + 1) + key[i + 1:]
        key += (slice(None),) * (len(v.shape) - len(key))
        if len(key) != len(v.shape):
            raise IndexError(f"expected at most {len(v.shape)} indices, found {len(key)}")
        picks, drop = [], []
        for axis, (k, n) in enumerate(zip(key, v.shape)):
            if not isinstance(k, slice):
                k = int(k)
                if not -n <= k < n:
                    raise IndexError(f"index {k} of {n}")
                k = slice(k % n, k % n + 1)
                drop.append(axis)
            picks.append(range(*k.indices(n)))
        return self.pick(number, picks).reshape([len(p) for i, p in enumerate(picks) if i not in drop])

    def pick(self, number, picks):
        """Returns the values at the indices of all ranges, one per dimension."""
        v, blocked = self.header.vars[number], self.blocked().get(number)
        dtype = np.dtype(DTYPES[v.type])
        if isinstance(blocked, tuple) or blocked is None or not picks:
            if all(len(p) for p in picks):
                return self.small(v, blocked)[np.ix_(*picks)] if picks else self.small(v, blocked)
            return np.empty([len(p) for p in picks], dtype)
        n, b = v.shape, blocked["block"]
        j = max([i for i in range(len(n)) if b[i] != max(1, n[i])], default=0)
        out = np.empty([len(p) for p in picks], dtype)
        if out.size == 0:
            return out
        pieces, full, per = {}, blocked["k"] * blocked["inner"], blocked["grid"][j]
        for pos, i in enumerate(picks[j]):
            pieces.setdefault(i // b[j], []).append((pos, i % b[j]))
        for outer in itertools.product(*(list(enumerate(p)) for p in picks[:j])):
            at = 0
            for (_, i), size in zip(outer, n):
                at = at * size + i
            for c, list_ in pieces.items():
                block = self.kept(blocked["first"] + at * per + c, blocked["chain"], full).view(dtype)
                block = block.reshape([b[j]] + n[j + 1:])
                pos, idx = list_[0][0], [i for _, i in list_]
                step = idx[1] - idx[0] if len(idx) > 1 else 1
                stop = idx[-1] + (1 if step > 0 else -1)
                rows = block[idx[0]:stop if stop >= 0 else None:step]
                part = rows[(slice(None),) + tuple(rangeslice(p) for p in picks[j + 1:])]
                out[tuple(k for k, _ in outer) + (slice(pos, pos + len(idx)),)] = part
        return out

    def blocked(self):
        """Returns for each variable its blocks, or (pool, place of its bytes); none if it is not blocked."""
        with self._lock:
            if not hasattr(self, "_blocked"):
                found = {v["var"]: v for v in self.vars}
                for p in self.pools:
                    at = 0
                    for i, s in zip(p["vars"], p["segments"]):
                        found[i] = p, at
                        at += s[1] * s[3]
                self._blocked = found
            return self._blocked

    def small(self, v, blocked):
        """Returns all values of a variable that is not blocked, pooled, or a scalar."""
        dtype = np.dtype(DTYPES[v.type])
        n = math.prod(v.shape)
        if isinstance(blocked, tuple):
            pool, at = blocked
            return self.raw(pool, at, n * dtype.itemsize).view(dtype).reshape(v.shape)
        if blocked is not None:
            return self.raw(blocked, 0, blocked["bytes"]).view(dtype).reshape(v.shape)
        size, length = self.plan["image"]["size"], dtype.itemsize * n
        need(length <= max(size, 1 << 26) + dtype.itemsize * 65536, f"variable of {length} bytes beyond the end of the file")
        out = np.zeros(length, np.uint8)       # zeros beyond the end of the image
        records = v.shape[0] if v.record and v.shape else 1
        one = length // records if records else 0
        for r in range(records if one else 0):
            off = v.begin + r * self.header.recsize
            have = max(0, min(one, size - off))
            if not have:
                break
            out[r * one:r * one + have] = self.image(off, have)
        return out.view(dtype).reshape(v.shape)


def rangeslice(r):
    """Returns a range of indices as a slice."""
    stop = r.stop if r.step > 0 or r.stop >= 0 else None
    return slice(r.start, stop, r.step)
