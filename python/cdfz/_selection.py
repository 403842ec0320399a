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

RUN = 1 << 20                                  # bytes that are read at once for fewer that are selected


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
            picks.append(indices(k, n, axis, v))
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
        if blocked is None:
            with during(""):
                return self.unblocked(v, picks)
        if isinstance(blocked, tuple) or not picks:
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
        """Returns all values of a variable that is pooled, or a scalar with a block."""
        dtype = np.dtype(DTYPES[v.type])
        pool, at = blocked if isinstance(blocked, tuple) else (blocked, 0)
        return self.raw(pool, at, math.prod(v.shape) * dtype.itemsize).view(dtype).reshape(v.shape)

    def unblocked(self, v, picks):
        """Returns values of a variable that is not blocked. The header of a file that was cut off promises more than there
        is, so only what is selected takes memory, and beyond the end of the image are zeros."""
        dtype, n, size = np.dtype(DTYPES[v.type]), v.shape, self.plan["image"]["size"]
        out = np.zeros([len(p) for p in picks], dtype)
        if out.size == 0:
            return out
        strides = [dtype.itemsize * math.prod(n[i + 1:]) for i in range(len(n))]
        records = bool(v.record and n)
        if records:
            strides[0] = self.header.recsize
        ends = [(min(p[0], p[-1]), max(p[0], p[-1])) if isinstance(p, range) else (min(p), max(p)) for p in picks]
        for j in range(records, len(n) + 1):   # the bytes between the first and the last one along the dimensions from j on
            length = dtype.itemsize + sum((hi - lo) * s for (lo, hi), s in zip(ends[j:], strides[j:]))
            if length <= max(RUN, 2 * dtype.itemsize * math.prod(len(p) for p in picks[j:])):
                break
        begin = v.begin + sum(lo * s for (lo, _), s in zip(ends[j:], strides[j:]))
        outer = [list(enumerate(p)) for p in picks[:j]]
        if outer:
            outer[0] = [(k, i) for k, i in outer[0] if begin + i * strides[0] < size]
        for at in itertools.product(*outer):
            off = begin + sum(i * s for (_, i), s in zip(at, strides))
            have = min(length, size - off)
            if have <= 0:
                continue
            run = np.zeros(length, np.uint8)
            run[:have] = self.image(off, have)
            values = np.lib.stride_tricks.as_strided(run.view(dtype), [hi - lo + 1 for lo, hi in ends[j:]], strides[j:])
            for axis, (p, (lo, _)) in enumerate(zip(picks[j:], ends[j:])):
                p = range(p.start - lo, p.stop - lo, p.step) if isinstance(p, range) else [i - lo for i in p]
                values = values[(slice(None),) * axis + (evenly(p),)]
            out[tuple(k for k, _ in at)] = values
        return out


def indices(k, n, axis, v):
    """Returns the indices from 0 to n-1 that an integer or a list of integers stands for in a dimension of a variable."""
    found, where = np.atleast_1d(k), f"dimension {axis} of variable {v.name.decode('utf-8', 'replace')!r}"
    if found.size and (found.ndim > 1 or found.dtype.kind not in "iu"):
        raise IndexError(f"expected an integer, a slice or a list of integers for {where}, found {k!r:.40}")
    for i in found.tolist():
        if not -n <= i < n:
            raise IndexError(f"index {i} of {n} in {where}")
    return [i % n for i in found.tolist()]


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
