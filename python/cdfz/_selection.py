"""Values of variables ("Reading a variable")."""
import contextlib
import itertools
import math
import os
import threading

import numpy as np

from . import _native
from ._checks import need
from ._errors import ArchiveError
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
        """Returns values of a variable of the netCDF header, for a key of integers, slices and lists of
        integers. Each list selects along its own dimension."""
        v = self.header.vars[number]
        key = key if isinstance(key, tuple) else (key,)
        for i in [i for i, k in enumerate(key) if k is Ellipsis]:
            key = key[:i] + (slice(None),) * (len(v.shape) - len(key) + 1) + key[i + 1:]
        key += (slice(None),) * (len(v.shape) - len(key))
        if len(key) != len(v.shape):
            raise IndexError(f"expected at most {len(v.shape)} indices, found {len(key)}")
        picks, drop = [], []
        for axis, (k, n) in enumerate(zip(key, v.shape)):
            if isinstance(k, slice):
                picks.append(range(*k.indices(n)))
                continue
            for i in np.atleast_1d(k):
                if not -n <= i < n:
                    raise IndexError(f"index {i} of {n} in dimension {axis} of variable {v.name.decode('utf-8', 'replace')!r}")
            picks.append([int(i) % n for i in np.atleast_1d(k)])
            if np.ndim(k) == 0:
                drop.append(axis)
        try:
            values = self.pick(number, picks)
        except ArchiveError as e:
            raise type(e)(f"{self.source.name}: variable {v.name.decode('utf-8', 'replace')!r}{e}") from e
        return values.reshape([len(p) for i, p in enumerate(picks) if i not in drop])

    def pick(self, number, picks):
        """Returns the values at the indices of all ranges or lists, one per dimension."""
        v, blocked = self.header.vars[number], self.blocked().get(number)
        dtype = np.dtype(DTYPES[v.type])
        if isinstance(blocked, tuple) or blocked is None or not picks:
            if not all(len(p) for p in picks):
                return np.empty([len(p) for p in picks], dtype)
            with during(""):
                values = self.small(v, blocked)
            return values[np.ix_(*picks)] if picks else values
        n, b = v.shape, blocked["block"]
        j = max([i for i in range(len(n)) if b[i] != max(1, n[i])], default=0)
        out = np.empty([len(p) for p in picks], dtype)
        if out.size == 0:
            return out
        pieces, full, per = {}, blocked["k"] * blocked["inner"], blocked["grid"][j]
        for pos, i in enumerate(picks[j]):
            pieces.setdefault(i // b[j], []).append((pos, i % b[j]))

        def fill(outer, c):
            at = 0
            for (_, i), size in zip(outer, n):
                at = at * size + i
            at_, idx = zip(*pieces[c])
            span = span_of([idx, *picks[j + 1:]], n[j + 1:], dtype.itemsize)
            box = [str(i) for _, i in outer] + [f"{c * b[j]}:{min(n[j], (c + 1) * b[j])}"] + [f"0:{m}" for m in n[j + 1:]]
            with during(f"[{', '.join(box)}]"):
                block = self.kept(blocked["first"] + at * per + c, blocked["chain"], full, span).view(dtype)
            block = block.reshape([b[j]] + n[j + 1:])
            at_, rows = evenly(at_), block[evenly(idx)]
            for axis, p in enumerate(picks[j + 1:], 1):
                rows = rows[(slice(None),) * axis + (evenly(p),)]
            out[tuple(k for k, _ in outer) + (at_,)] = rows

        outers = math.prod(len(p) for p in picks[:j])
        tasks = itertools.product(itertools.product(*(list(enumerate(p)) for p in picks[:j])), pieces)
        # Each thread may need as much memory as lorenz takes at most for a block.
        side_by_side(fill, tasks, min(outers * len(pieces), 2 * self.MEMORY // (64 * full)))
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


def span_of(picks, inner, size):
    """Returns the bytes of a block between the first and the last element of a selection."""
    first = last = 0
    for p, m in zip(picks, [1, *inner]):
        first, last = first * m + min(p), last * m + max(p)
    return first * size, (last + 1) * size


def side_by_side(fill, tasks, count):
    """Calls fill for each task, in a thread for every two up to count if decoding leaves the GIL to others."""
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8, count // 2)
    if workers < 2 or not _native.LIBRARY:
        for task in tasks:
            fill(*task)
        return
    lock, failed = threading.Lock(), []

    def work():
        while not failed:
            with lock:                         # tasks is a generator
                task = next(tasks, None)
            if task is None:
                return
            try:
                fill(*task)
            except BaseException as e:
                failed.append(e)

    threads = [threading.Thread(target=work) for _ in range(workers - 1)]
    for t in threads:
        t.start()
    work()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


@contextlib.contextmanager
def during(what):
    """Begins the errors of archives with the place where they occur."""
    try:
        yield
    except ArchiveError as e:
        raise type(e)(f"{what}: {e}") from e


def evenly(indices):
    """Returns indices as a slice if their distances are equal, which copies less, or else as they are."""
    if len(indices) == 0:
        return slice(0, 0)
    first, last = indices[0], indices[-1]
    step = indices[1] - first if len(indices) > 1 else 1
    if step == 0 or not isinstance(indices, range) and list(indices) != list(range(first, first + step * len(indices), step)):
        return list(indices)
    stop = last + (1 if step > 0 else -1)
    return slice(first, stop if stop >= 0 else None, step)
