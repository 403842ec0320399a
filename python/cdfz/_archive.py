"""Reads archives, written from docs/FORMAT.md alone. Comments and names quote headings of that page.

    a = Archive("x.nc.cdfz")
    a.header                              # the netCDF header
    a.read(5, (0, slice(10, 20)))         # a part of variable number 5
    a.image(0, 4)                         # bytes of the netCDF file
"""
import collections
import itertools
import math
import re
import struct
import threading
import zlib

import numpy as np

from ._checks import M32, MAXBLOCK, MAXHEADER, hexdigits, members, need, parse_json, path_allowed, text, uint
from ._errors import ArchiveDamaged, ArchiveUnsupported
from ._filters import decode
from ._netcdf import DTYPES, SIZES, parse
from ._sources import source

ROW = np.dtype([("off", "<u8"), ("len", "<u4"), ("mask", "<u4"), ("crc", "<u4")])
README, PLAN, MANIFEST, INDEX = (".cdfz/" + s for s in ("README", "plan.json", "manifest.json", "index"))
PLAN_MEMBERS, PLAN_OPTIONAL = "format features writer layout image block chains rest vars groups", "pools"


def refuse_later(line):
    """Refuses an archive whose end line is intact and of another format ("The end")."""
    m = re.match(rb"cdfz ([1-9][0-9]{0,8}) ", line)
    if m and m[1] != b"1" and line[100:] == b"%08x\n" % zlib.crc32(line[:100]):
        raise ArchiveUnsupported(f"format {m[1].decode()}")


class Archive:
    """An archive open for reading. It is safe for concurrent use and can be pickled.

    what: a name, an http or https URL, an open binary file, or bytes. cache: bytes of decoded
    blocks kept in memory.
    """

    CACHE, PAGES = 64 << 20, 256

    def __init__(self, what, cache=None):
        self.source, self._cache_bytes = source(what), self.CACHE if cache is None else cache
        self.size = self.source.size
        self._lock, self._blocks, self._used, self._pages = threading.Lock(), collections.OrderedDict(), 0, collections.OrderedDict()
        try:
            self.start()
        except ArchiveUnsupported:
            self.source.close()
            raise
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError, struct.error, zlib.error) as e:
            self.source.close()
            what = e if isinstance(e, ArchiveDamaged) else f"{type(e).__name__}: {e}"
            raise ArchiveDamaged(f"{self.source.name}: {what}") from None
        except BaseException:
            self.source.close()
            raise

    def start(self):
        head = self.size >= 42 and self.source.read(0, 42)
        ours = head and head[:4] == b"PK\3\4" and head[30:42] == README.encode()
        line = bytes(self.source.read(self.size - 109, 109)) if self.size >= 109 else b""
        refuse_later(line)
        if not ours and line[:7] != b"cdfz 1 ":
            raise ArchiveUnsupported(f"{self.source.name}: not a cdfz archive")
        self.open()

    def close(self):
        """Closes the source, unless it was given as an open file."""
        self.source.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce__(self):
        return type(self), (self.source, self._cache_bytes)

    # -- bytes
    def get(self, off, n):
        need(0 <= off and 0 <= n <= self.size - off, f"{n} bytes at {off} are beyond the end of the archive")
        out = self.source.read(off, n)
        if len(out) != n:
            raise OSError(f"{self.source.name}: expected {n} bytes at {off}, found {len(out)}")
        return out

    def inflated(self, name, place, limit):
        """Returns the content of plan or manifest, given its place. The local header is not needed."""
        stored, d = self.get(uint(place["off"]), uint(place["len"])), zlib.decompressobj(-15)
        need("%08x" % zlib.crc32(stored) == place["crc32"], f"{name}: wrong CRC")
        out = d.decompress(bytes(stored), limit + 1)
        need(len(out) <= limit and d.eof and not d.unused_data, f"{name}: deflate stream or length")
        return out

    # -- "The end"
    def open(self):
        """"Reading an image": opens the archive by its end."""
        line = self.get(self.size - 109, 109)
        m = re.fullmatch(rb"cdfz 1 manifest (H{16}) (H{8}) (H{8}) index (H{16}) (H{16}) (H{8}) (H{8})\n".replace(b"H", b"[0-9a-f]"), line)
        need(m and int(m[7], 16) == zlib.crc32(line[:100]), "the last line is damaged (cdfz repair may help)")
        moff, mlen, mcrc, ioff, ilen, self.icrc = (int(x, 16) for x in m.groups()[:6])
        start = ioff + 30 + len(INDEX) + 20 * (ilen >= M32)
        need(mlen <= 2**16 and moff + 30 + len(MANIFEST) + mlen == ioff and 32 <= ilen and start + ilen <= self.size - 131,
             "the last line has impossible places")
        place = {"off": moff + 30 + len(MANIFEST), "len": mlen, "crc32": "%08x" % mcrc}
        self.manifest = man = self.set_manifest(self.inflated(MANIFEST, place, 65536), moff)
        plan, head = self.sound(man["plan"], "plan"), self.sound(man["header"], "header")
        self.set_plan(self.inflated(PLAN, plan, min(2**16 + 256 * plan["len"], 2**22 + self.size - head["len"])))
        # "The index"
        self.place, head32 = (start, ilen), self.get(start, 32)
        magic, rows, page, size, zero, crc = struct.unpack("<8sQ4I", head32)
        need(magic == b"cdfzidx\1" and crc == zlib.crc32(head32[:28]) and (page, size, zero) == (256, 20, 0), "index: header")
        need(ilen == 32 + 20 * rows + 8 * -(-rows // 256), "index: wrong length")
        need(rows == man["blocks"] == self.nblocks and man["size"] == self.plan["image"]["size"], "index, manifest and plan differ")
        first = man["header"]
        self.first = (first["off"], first["len"], first.get("mask", 0), int(first["crc32"], 16))
        if head is not first:
            self.first = (head["off"], *self.first[1:])
        self.set_header(self.first)

    def sound(self, place, name):
        """Returns a place in the manifest, or that of the second copy, if only that has the checksum ("Second copies")."""
        copies = self.manifest.get("copies", {name: place["off"]})
        for p in place, {**place, "off": copies[name]}:
            if "%08x" % zlib.crc32(self.get(p["off"], p["len"])) == place["crc32"]:
                return p
        return place

    def set_manifest(self, content, end):
        """Reads the manifest, whose local header is at end."""
        man = members(parse_json(content), "size sha256 entries blocks stored front plan header", "name name_hex copies parity loss")
        need(not ("name" in man and "name_hex" in man), "name and name_hex")
        text(man.get("name", ""), 2**16), hexdigits(man.get("name_hex", ""), 0), hexdigits(man["sha256"], 64)
        for m in ("size", "entries", "blocks", "stored"):
            uint(man[m], m)
        uint(man.get("parity", 0), "parity")
        front, plan, head = members(man["front"], "len crc32"), members(man["plan"], "off len crc32"), members(man["header"], "off len crc32", "mask")
        for place in (front, plan, head):
            hexdigits(place["crc32"], 8), uint(place.get("off", 0)), uint(place["len"]), uint(place.get("mask", 0), "mask", M32)
        need(42 <= front["len"] and 87 <= plan["off"] and plan["off"] + plan["len"] <= front["len"] and plan["len"] <= 2**28
             and head["off"] == front["len"] + 42 + 8 * (head.get("mask", 0) != 0) and head["off"] + head["len"] <= end
             and head["len"] <= MAXHEADER, "manifest: impossible places")
        if "copies" in man:
            copies = members(man["copies"], "plan header")
            need(all(head["off"] + head["len"] <= uint(copies[m]) <= end - man[m]["len"] for m in copies), "manifest: impossible places of copies")
        if "loss" in man:
            loss, last = members(man["loss"], "source_sha256 vars"), -1
            hexdigits(loss["source_sha256"], 64)
            need(type(loss["vars"]) is list and 1 <= len(loss["vars"]) <= 4096, "manifest: rounded variables")
            for v in loss["vars"]:
                members(v, "var filter", "params")
                need(uint(v["var"], "var", 2**31 - 1) > last and uint(v["filter"], "filter", M32) >= 0, "manifest: rounded variables")
                params, last = v.get("params", []), v["var"]
                need(type(params) is list and len(params) <= 256 and all(uint(x, "params", M32) >= 0 for x in params), "manifest: parameters")
        return man

    def set_header(self, row):
        """Compares the plan with the netCDF header, whose block has this row."""
        block = self.block(self.rest0, self.head, self.plan["rest"]["first"], row)
        self.header = parse(block.tobytes(), self.plan["image"]["size"])
        length, found = self.header.length, [(v.type, v.shape, v.segment) for v in self.header.vars]
        need(length == self.plan["image"]["header"], "another length of the netCDF header")
        for v in self.vars:
            need(v["var"] < len(found), "a variable that the netCDF header does not have")
            seg = tuple(v["segment"][x] for x in ("off", "len", "stride", "count"))
            need((v["type"], v["shape"], seg) == found[v["var"]], f"variable {v['path']} differs from the netCDF header")
        seen = {v["var"] for v in self.vars}                                            # "Pools"
        for p in self.pools:
            need(all(i < len(found) for i in p["vars"]), "a variable that the netCDF header does not have")
            need(len(seen) + len(p["vars"]) == len(seen | set(p["vars"])), "a variable is named twice")
            seen |= set(p["vars"])
            need(all(found[i][0] == p["type"] for i in p["vars"]), "a pool of another type than its variables")
            p["segments"] = [found[i][2] for i in p["vars"]]
            need(all(n * count > 0 for _, n, _, count in p["segments"]), "a variable without a byte in a pool")
            need(sum(n * count for _, n, _, count in p["segments"]) == p["bytes"], "a pool and its variables differ in length")
        self.check_segments([tuple(v["segment"][x] for x in ("off", "len", "stride", "count")) for v in self.vars]
                            + [s for p in self.pools for s in p["segments"]])

    def check_segments(self, segments):
        """The "Checks" of segments that can be made one by one; image() finds overlaps."""
        header, size, recs = self.plan["image"]["header"], self.plan["image"]["size"], []
        for off, length, stride, count in segments:
            if length * count:
                need(stride == 0 if count <= 1 else stride >= length, "stride")
                need(header <= off and off + stride * (count - 1) + length <= size, "segment outside of the image")
                recs += [(off, off + length, stride, count)] * (count > 1)
        if recs:
            need(len({r[2:] for r in recs}) == 1, "records differ")
            need(max(r[1] for r in recs) - min(r[0] for r in recs) <= recs[0][2], "records overlap")

    # -- "The plan"
    def set_plan(self, content):
        self.plan = p = parse_json(content)
        need(type(p) is dict, "plan: not an object")
        order = [m for m in p if m in PLAN_MEMBERS.split()]
        need(order[:1] == ["format"], "format is not the first member")
        if uint(p["format"]) != 1:
            raise ArchiveUnsupported(f"format {p['format']}")
        need(order[:2] == ["format", "features"] and type(p["features"]) is list, "features are not the second member")
        if p["features"]:
            raise ArchiveUnsupported(f"features {p['features']!r:.200}")
        members(p, PLAN_MEMBERS, PLAN_OPTIONAL)
        need(order.index("vars") < order.index("groups"), "groups precede vars")
        need(p["layout"] in ("viewed", "consolidated", "pooled", "single"), "layout")
        text(p["writer"]), uint(p["block"])
        members(p["image"], "size header")
        size, header = uint(p["image"]["size"]), uint(p["image"]["header"], "image.header", MAXHEADER)
        need(header <= size, "image.header")
        for c in p["chains"]:
            need(type(c) is list and len(c) <= 32, "chain of more than 32 filters")
            for f in c:
                members(f, "id", "params optional name codec")
                uint(f["id"], "id", M32), [uint(x, "parameter", M32) for x in f.setdefault("params", [])]
                need(type(f.get("optional", False)) is bool and type(f.get("codec", {})) is dict, "optional or codec")
                text(f.get("name", ""))
        self.vars, self.pools, self.nblocks, total, last = p["vars"], p.get("pools", []), 0, 0, -1
        for v in self.vars:
            members(v, "var path type shape block chain segment", "view")
            members(v["segment"], "off len stride count")
            need(last < uint(v["var"], "var", 2**31 - 1) and v["type"] in SIZES, "order of variables, or type")
            need(v.get("view", "no-codec") in ("path", "no-codec", "optional", "unaligned"), "view")
            path_allowed(v)
            last = v["var"]
            self.set_blocks(v)
            off, length, stride, count = (uint(v["segment"][x], x) for x in ("off", "len", "stride", "count"))
            need(length * count == v["bytes"], "segment and shape differ")
            need(stride == 0 if count <= 1 else stride >= length and count == v["shape"][0], "stride")
            total += v["bytes"]
        need(type(self.pools) is list and len(self.pools) <= 4096, "pools")
        for v in self.pools:
            members(v, "vars type shape block chain")
            need(v["type"] in SIZES and v["vars"] and all(uint(i, "var", 2**31 - 1) >= 0 for i in v["vars"]), "pool")
            self.set_blocks(v)
            need(v["bytes"] > 0, "a pool without a byte")
            total += v["bytes"]
        need(all(p["groups"]) and sorted(i for g in p["groups"] for i in g) == list(range(len(self.vars))), "groups")
        r = members(p["rest"], "len first block chain", "head")
        length, first, block = uint(r["len"]), uint(r["first"], "first", MAXBLOCK), uint(r["block"], "block", MAXBLOCK)
        self.head = uint(r.get("head", r["chain"]))
        need(total + length == size, "variables and rest are not the image")
        need(header <= first <= length and first <= max(header, 2**21) and block > 0
             and max(uint(r["chain"]), self.head) < len(p["chains"]), "rest")
        self.rest0 = self.nblocks
        self.nblocks += 1 + -(-(length - first) // block)

    def set_blocks(self, v):
        """Blocks of a variable or a pool: "Blocks of variables and pools"."""
        n, b, es = v["shape"], v["block"], SIZES[v["type"]]
        need(len(n) == len(b), "rank")
        need(all(1 <= uint(y) <= max(1, uint(x)) for x, y in zip(n, b)), "block shape")
        j = max([i for i in range(len(n)) if b[i] != max(1, n[i])], default=0)
        need(all(x == 1 for x in b[:j]), "block shape is not contiguous")
        v["grid"] = [-(-x // y) for x, y in zip(n, b)]
        v["nblocks"], v["first"], v["bytes"] = math.prod(v["grid"]), self.nblocks, es * math.prod(n)
        v["inner"], v["cut"], v["k"] = es * math.prod(n[j + 1:]), *((n[j], b[j]) if n else (1, 1))
        need(v["k"] * v["inner"] <= MAXBLOCK and uint(v["chain"]) < len(self.plan["chains"]), "block size or chain")
        self.nblocks += v["nblocks"]

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
    def block(self, number, chain, n, row=None):
        off, size, mask, crc = row or self.row(number)
        need(size <= 2 * n + 65536, f"block {number}: too many stored bytes")
        stored = memoryview(self.get(off, size))
        try:
            need(zlib.crc32(stored) == crc, "wrong CRC")
            need(number != self.rest0 or n <= 2**21 or mask == (1 << len(self.plan["chains"][chain])) - 1, "header with filters")
            return np.frombuffer(decode(self.plan["chains"][chain], stored, n, mask), np.uint8)
        except ArchiveDamaged as e:
            raise ArchiveDamaged(f"block {number} at {off}: {e}")

    def kept(self, number, chain, n):
        """Returns a decoded block, which the caller must not change, through the cache."""
        with self._lock:
            if number in self._blocks:
                self._blocks.move_to_end(number)
                return self._blocks[number]
        b = self.block(number, chain, n)
        with self._lock:
            if n <= self._cache_bytes and number not in self._blocks:
                self._blocks[number] = b
                self._used += n
                while self._used > self._cache_bytes:
                    self._used -= len(self._blocks.popitem(last=False)[1])
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

    # -- "The permutation"
    def segments(self):
        """Returns the segments of blocked and pooled variables, and where their raw bytes are."""
        with self._lock:
            if hasattr(self, "_segments"):
                return self._segments
        rows, where = [], []
        for v in self.vars:
            if v["bytes"]:
                rows.append([v["segment"][x] for x in ("off", "len", "stride", "count")])
                where.append((v, 0))
        for p in self.pools:
            at = 0
            for s in p["segments"]:
                rows.append(s)
                where.append((p, at))
                at += s[1] * s[3]
        found = np.array(rows, np.int64).reshape(-1, 4), where
        with self._lock:
            self._segments = found
        return found

    def before(self, off):
        """Returns the number of bytes of segments before a byte of the image."""
        s = self.segments()[0]
        ahead = np.maximum(off - s[:, 0], 0)
        stride = np.where(s[:, 3] > 1, s[:, 2], np.iinfo(np.int64).max)
        whole = np.minimum(ahead // stride, s[:, 3])
        return int((whole * s[:, 1] + np.where(whole < s[:, 3], np.minimum(ahead - whole * np.where(s[:, 3] > 1, stride, 0), s[:, 1]), 0)).sum())

    def image(self, off, n):
        """Returns bytes [off, off+n) of the netCDF file."""
        size = self.plan["image"]["size"]
        need(0 <= off and 0 <= n <= size - off, "bytes beyond the image")
        out, used, end = np.empty(n, np.uint8), np.zeros(n, bool), off + n
        segs, where = self.segments()
        last = segs[:, 0] + segs[:, 2] * (segs[:, 3] - 1) + segs[:, 1] if len(segs) else np.zeros(0, np.int64)
        for i in np.flatnonzero((segs[:, 0] < end) & (last > off)).tolist():
            (start, length, stride, count), (v, base) = segs[i].tolist(), where[i]
            r0, r1 = 0, count
            if count > 1:                      # records that overlap the range
                r0 = max(0, -(-(off - start - length + 1) // stride))
                r1 = min(count, max(0, -(-(end - start) // stride)))
            if r0 >= r1:
                continue
            lo = base + r0 * length + max(0, off - start - r0 * stride)
            hi = base + (r1 - 1) * length + min(length, end - start - (r1 - 1) * stride)
            raw, at = self.raw(v, lo, hi - lo), 0
            if r1 - r0 > 2:   # whole records in between
                first = length - max(0, off - start - r0 * stride)
                k = r1 - r0 - 2
                view = lambda a: np.lib.stride_tricks.as_strided(a[start + (r0 + 1) * stride - off:], (k, length), (stride, 1))
                need(not view(used).any(), "segments overlap")
                view(used)[...] = True
                view(out)[...] = raw[first:first + k * length].reshape(k, length)
            for r in dict.fromkeys((r0, r1 - 1)):
                a, b = max(start + r * stride, off), min(start + r * stride + length, end)
                at = base + r * length + a - start - r * stride - lo
                need(not used[a - off:b - off].any(), "segments overlap")
                used[a - off:b - off] = True
                out[a - off:b - off] = raw[at:at + b - a]
        at = off - self.before(off)
        left = end - self.before(end) - at
        need(n - np.count_nonzero(used) == left, "segments overlap")
        out[~used] = self.rest(at, left)
        return out

    # -- "Reading a variable"
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
