"""Bytes of an archive, the index, and decoded blocks ("The index", "Blocks")."""
import collections
import itertools
import struct
import zlib

import numpy as np

from . import _cache, _native
from ._checks import M32, need
from ._errors import ArchiveDamaged
from ._filters import decode
from ._plan import Plan

ROW = np.dtype([("off", "<u8"), ("len", "<u4"), ("mask", "<u4"), ("crc", "<u4")])


class Blocks(Plan):
    """Decodes blocks, through caches of blocks and of index pages."""

    PAGES, TOUCHED = 256, 4096
    MEMORY = 4 << 30                           # for decoding a block: a few bytes can be 1 GiB of elements
    _owners = itertools.count()

    def __init__(self, source, block_cache):
        super().__init__()
        self.source, self.size, self._block_cache = source, source.size, block_cache
        self._cache, self._owner = _cache.shared if block_cache is None else _cache.Cache(block_cache), next(self._owners)
        self._pages, self._touched = collections.OrderedDict(), collections.OrderedDict()

    def __del__(self):
        if "_owner" in self.__dict__:
            self._cache.forget(self._owner)

    def get(self, off, n):
        need(0 <= off and 0 <= n <= self.size - off, f"{n} bytes at {off} are beyond the end of the archive")
        out = self.source.read(off, n)
        if len(out) != n:
            raise OSError(f"{self.source.name}: expected {n} bytes at {off}, found {len(out)}")
        return out

    # -- "The index"
    def page(self, p):
        """Returns a page of the index."""
        with self._lock:
            if p in self._pages:
                self._pages.move_to_end(p)
                return self._pages[p]
        start, length = self.place
        at = 32 + p * 5128
        b = self.get(start + at, min(5128, length - at))
        need(struct.unpack("<II", b[:8]) == (zlib.crc32(b[4:]), p & M32), f"index: page {p}")
        rows = np.frombuffer(b[8:], ROW)
        with self._lock:
            self._pages[p] = rows
            if len(self._pages) > self.PAGES:
                self._pages.popitem(last=False)
        return rows

    def row(self, number):
        if number == self.rest0:
            return self.first
        return self.page(number // 256)[number % 256].tolist()

    # -- blocks
    def block(self, number, chain, n, row=None, span=None):
        off, size, mask, crc = row or self.row(number)
        need(size <= 2 * n + 65536, f"block {number}: too many stored bytes")
        stored = memoryview(self.get(off, size))
        try:
            need(zlib.crc32(stored) == crc, "wrong CRC")
            need(number != self.rest0 or n <= 2**21 or mask == (1 << len(self.plan["chains"][chain])) - 1, "header with filters")
            return np.frombuffer(decode(self.plan["chains"][chain], stored, n, mask, self.MEMORY, span), np.uint8)
        except ArchiveDamaged as e:
            raise ArchiveDamaged(f"block {number} at {off}: {e}")

    def kept(self, number, chain, n, span=None):
        """Returns a decoded block, which the caller must not change, through the cache. Bytes outside of a span may have
        any value."""
        b = self._cache.get(self._owner, number)
        if b is not None:
            return b
        with self._lock:
            # A part is decoded alone the first time: a second read shows that others follow.
            lorenz = _native.LIBRARY and [f["id"] for f in self.plan["chains"][chain][:1]] == [52723]
            alone = lorenz and span and 2 * (span[1] - span[0]) <= n and number not in self._touched
            self._touched[number] = None
            if len(self._touched) > self.TOUCHED:
                self._touched.popitem(last=False)
        if alone:
            return self.block(number, chain, n, span=span)
        b = self.block(number, chain, n)
        self._cache.put(self._owner, number, b)
        return b

    def raw(self, v, at, n):
        """Returns the row-major bytes [at, at+n) of a variable or a pool: "Blocks of variables and pools"."""
        need(0 <= at and 0 <= n <= v["bytes"] - at, "bytes beyond a variable")
        out, done, full = np.empty(n, np.uint8), 0, v["k"] * v["inner"]
        run, per = v["cut"] * v["inner"], -(-v["cut"] // v["k"])
        while done < n:
            outer, rest = divmod(at + done, run)
            c, start = divmod(rest, full)
            part = min(n - done, min(full, run - c * full) - start)
            out[done:done + part] = self.kept(v["first"] + outer * per + c, v["chain"], full)[start:start + part]
            done += part
        return out

    def rest(self, at, n):
        """Returns bytes [at, at+n) of the rest: "Blocks of the rest"."""
        r, out, done = self.plan["rest"], np.empty(n, np.uint8), 0
        need(0 <= at and 0 <= n <= r["len"] - at, "bytes beyond the rest")
        while done < n:
            pos = at + done
            if pos < r["first"]:
                number, chain, start, size = self.rest0, self.head, pos, r["first"]
            else:
                b, start = divmod(pos - r["first"], r["block"])
                number, chain = self.rest0 + 1 + b, r["chain"]
                size = min(r["block"], r["len"] - r["first"] - b * r["block"])
            part = min(n - done, size - start)
            out[done:done + part] = self.kept(number, chain, size)[start:start + part]
            done += part
        return out
