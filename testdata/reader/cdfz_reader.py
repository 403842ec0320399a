#!/usr/bin/env python3
"""Restores netCDF files from cdfz archives.

An independent reader, written from docs/FORMAT.md alone. Comments quote headings of that page.
It keeps up to four copies of the whole image in memory. Needs numpy and numcodecs.

    a = Archive("x.nc.cdfz")              # or Archive(path, walk=True), which ignores index, directory and end
    a.image()                             # the netCDF file, as an array of bytes
    a.values("air")                       # one variable, big-endian
"""
import argparse, bz2, collections, hashlib, json, math, mmap, os, re, struct, sys, unicodedata, zlib

import numpy as np
from numcodecs import lz4, zstd

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
from cdfz import lorenz


class Damage(Exception):
    """The bytes violate the format (exit status 3)."""


class Unsupported(Exception):
    """Not an archive, or not readable by this reader (exit status 1)."""


PLAN_MEMBERS, PLAN_OPTIONAL = "format features writer layout image block chains rest vars groups", "pools"

def need(ok, what):
    if not ok:
        raise Damage(what)


def uint(x, what="number", top=2**63 - 1):
    need(type(x) is int and 0 <= x <= top, f"{what}: {x!r:.40} is not an integer from 0 to {top}")
    return x


M32, M16, MAXBLOCK, MAXHEADER = 0xFFFFFFFF, 0xFFFF, 2**30, 2**28
SIZES = dict(byte=1, char=1, short=2, int=4, float=4, double=8, ubyte=1, ushort=2, uint=4, int64=8, uint64=8)
DTYPES = dict(byte="i1", char="S1", short=">i2", int=">i4", float=">f4", double=">f8", ubyte="u1", ushort=">u2",
              uint=">u4", int64=">i8", uint64=">u8")
ROW = np.dtype([("off", "<u8"), ("len", "<u4"), ("mask", "<u4"), ("crc", "<u4")])
README, PLAN, REST0, MANIFEST, INDEX = (".cdfz/" + s for s in ("README", "plan.json", "rest/0", "manifest.json", "index"))


# ---- "Rules for JSON" and the members of manifest and plan

def parse_json(text):
    def pairs(list_):
        d = dict(list_)
        need(len(d) == len(list_), "a member occurs twice")
        return d
    text = bytes(text).decode()                # strict: ValueError is damage
    x = json.loads(text, object_pairs_hook=pairs, parse_constant=lambda c: need(False, c))
    json.dumps(x, ensure_ascii=False).encode() # an unpaired surrogate does not encode
    return x

def members(x, required, optional=""):
    need(type(x) is dict, f"{x!r:.40} is not an object")
    required, known = required.split(), (required + " " + optional).split()
    for m in required:
        need(m in x, f"member {m} is missing")
    need(not any(x[m] is None for m in known if m in x), "a member is null")
    need(len(x) - sum(m in x for m in known) <= 32, "too many unknown members")
    return x

def text(x, most=255):
    need(type(x) is str and len(x.encode()) <= most, f"{x!r:.40} is not a string of at most {most} bytes")
    return x

def hexdigits(x, n):
    need(type(x) is str and re.fullmatch("[0-9a-f]{%d}" % n if n else "([0-9a-f]{2})*", x), f"{x!r:.40} are no {n} hexadecimal digits")
    return x

def path_allowed(v):
    p = text(v["path"])
    plain = (1 <= len(p.encode()) <= 200 and p[0] != "." and not set(p) & set("/\\")
             and not any(unicodedata.category(c) == "Cc" for c in p))
    need(plain or p == f".cdfz/v/{v['var']}", f"path {p!r}")


# ---- the netCDF header (The NetCDF Classic Format Specification)

TYPES = ("byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64")

def parse_header(b, size):
    """Returns the length of the header and (type, shape, segment) of each variable."""
    need(bytes(b[:3]) == b"CDF" and b[3] in (1, 2, 5), "no netCDF header")
    version, at = b[3], 4
    def number(n):
        nonlocal at
        need(at + n <= len(b), "netCDF header: cut")
        at += n
        return int.from_bytes(b[at - n:at], "big")
    count = lambda: number(8 if version == 5 else 4)
    def skip(n):
        nonlocal at
        at += n + -n % 4
        need(at <= len(b), "netCDF header: cut")
    def items(tag, one):
        t, n = number(4), count()
        need(t == tag or t == n == 0, "netCDF header: tag")
        need(n <= len(b), "netCDF header: count")
        return [one() for _ in range(n)]
    def attribute():
        skip(count())
        t = number(4)
        need(1 <= t <= 11, "netCDF header: type")
        skip(count() * SIZES[TYPES[t - 1]])
    def dimension():
        skip(count())
        return count()
    def variable():
        skip(count())
        n = count()
        need(n <= len(b), "netCDF header: count")
        ids = [count() for _ in range(n)]
        items(0x0C, attribute)
        t, _ = number(4), count()
        need(1 <= t <= 11, "netCDF header: type")
        return ids, TYPES[t - 1], number(4 if version == 1 else 8)
    records = count()
    dims, _, found = items(0x0A, dimension), items(0x0C, attribute), items(0x0B, variable)
    need(all(i < len(dims) for ids, _, _ in found for i in ids), "netCDF header: dimension")
    each = [(ids[:1] != [] and dims[ids[0]] == 0, begin, SIZES[t] * math.prod(dims[i] for i in ids if dims[i]))
            for ids, t, begin in found]
    recs = [(begin, n) for is_rec, begin, n in each if is_rec]
    recsize = recs[0][1] if len(recs) == 1 else sum(n + -n % 4 for _, n in recs)
    if records == 2**(64 if version == 5 else 32) - 1:
        records = max(0, min(((size - begin - n) // recsize + 1 for begin, n in recs if recsize), default=0))
    out = []
    for (ids, t, begin), (is_rec, _, n) in zip(found, each):
        shape = [dims[i] for i in ids]
        if is_rec:
            shape[0] = records
        number_ = records if is_rec else 1
        seg = (0, 0, 0, 0) if n * number_ == 0 or 0 in shape else (begin, n, recsize if number_ > 1 else 0, number_)
        out.append((t, shape, seg))
    return at, out


# ---- "Filters". In undo(params, data, n, top), n is the decoded length, or None if it is
# unknown (an inner filter that compresses). The output has at most top bytes.


def inflate(d, data, n, top):
    out = d.decompress(data, (top if n is None else n) + 1)
    need(d.eof and not d.unused_data, "compressed stream is cut or something follows it")
    return out

def unshuffle(params, data, n, top):
    need(len(params) == 1 and 1 <= params[0], "shuffle: parameters")
    a, S = np.frombuffer(data, np.uint8), params[0]
    body = len(a) // S * S
    return np.concatenate((a[:body].reshape(S, -1).T.ravel(), a[body:]))

def unfletcher(params, data, n, top):
    need(len(data) >= 4, "fletcher32: no checksum")
    out, want = data[:-4], struct.unpack("<I", data[-4:])[0]
    w = np.frombuffer(bytes(out) + b"\0" * (len(out) % 2), ">u2").astype(np.uint64)
    # Ones'-complement folding keeps the residue modulo 65535; a nonzero sum never becomes 0. Sum2 counts
    # word i (len − i) times; the weights are reduced so that 2^29 words fit 64 bits.
    s = [int(w.sum()), int((w * (np.arange(len(w), 0, -1, dtype=np.uint64) % np.uint64(65535))).sum())]
    lo, hi = ((x - 1) % 65535 + 1 if x else 0 for x in s)
    need(hi << 16 | lo == want, "fletcher32: wrong checksum")
    return out

def unlz4(params, data, n, top):
    total, block = struct.unpack_from(">QI", data)
    need((total <= top if n is None else total == n) and (block > 0 or total == 0), "lz4: wrong length")
    out, pos, left = [], 12, total
    while left:
        m = min(block, left)
        size, = struct.unpack_from(">I", data, pos)
        part = data[pos + 4:pos + 4 + size]
        need(len(part) == size, "lz4: cut")
        # numcodecs expects the decoded length before the block, little-endian
        out.append(part if size == m else lz4.decompress(struct.pack("<I", m) + bytes(part)))
        pos, left = pos + 4 + size, left - m
    need(pos == len(data), "lz4: bytes after the last block")
    return b"".join(out)

def unzstd(params, data, n, top):
    need(len(data) >= 6 and bytes(data[:4]) == b"\x28\xb5\x2f\xfd", "zstd: no frame")
    d = data[4]                                # RFC 8878, 3.1.1.1
    need(d >> 6 or d & 32, "zstd: frame without its content size")
    need(not d & 7, "zstd: frame with a checksum or a dictionary")
    at = 5 + (not d & 32)
    end = at + (1 if d < 64 else 0, 2, 4, 8)[d >> 6]
    size = int.from_bytes(data[at:end], "little") + (256 if d >> 6 == 1 else 0)
    need(size <= top if n is None else size == n, "zstd: wrong length")
    last = False
    while not last:                            # the frame ends where the data does
        need(end + 3 <= len(data), "zstd: cut")
        h = int.from_bytes(data[end:end + 3], "little")
        last, end = h & 1, end + 3 + (1 if h >> 1 & 3 == 1 else h >> 3)
    need(end == len(data), "zstd: cut, or something follows the frame")
    return zstd.decompress(data)

def level(lo, hi, required=False):
    return lambda p: len(p) == 1 and lo <= p[0] <= hi or not p and not required

PARAMS = {1: level(0, 9, True), 2: level(1, M32, True), 3: lambda p: not p, 307: level(1, 9), 32004: level(0, 2113929216),
          32015: lambda p: not p or len(p) == 1 and -131072 <= (p[0] ^ 2**31) - 2**31 <= 22}
def unlorenz(params, data, n, top):
    p = lorenz.Parameters.from_vector(params)
    need(p.n * p.size <= top if n is None else p.n * p.size == n, "lorenz: wrong length")
    return lorenz.decode_block(data, p).data

FILTERS = {1: lambda p, *a: inflate(zlib.decompressobj(), *a), 2: unshuffle, 3: unfletcher,
           307: lambda p, *a: inflate(bz2.BZ2Decompressor(), *a), 32004: unlz4, 32015: unzstd, 52723: unlorenz}

def decode(chain, data, n, mask):
    need(mask >> len(chain) == 0, "mask beyond the chain")
    for f in chain:
        need(f["id"] < 65536 and PARAMS.get(f["id"], lambda p: True)(f["params"]), f"filter {f['id']}: id or parameters")
    steps, length = [], n                      # length: that of each filter's input, as far as known
    for i, f in enumerate(chain):
        if not mask >> i & 1:
            steps.append((f, length))
            length = length if f["id"] == 2 else length + 4 if f["id"] == 3 and length is not None else None
    need(length is None or length == len(data), "wrong stored length")
    for f, length in reversed(steps):
        if f["id"] not in FILTERS:
            raise Unsupported(f"unknown filter {f['id']} ({f.get('name', 'no name')})")
        try:
            data = FILTERS[f["id"]](f["params"], memoryview(data), length, 2 * n + 65536)
        except (ValueError, RuntimeError, OSError, EOFError, IndexError, struct.error, zlib.error) as e:
            raise Damage(f"filter {f['id']}: {e}")
        need(length is None or len(data) == length, "wrong decoded length")
    return data


# ---- "The container"
Entry = collections.namedtuple("Entry", "name method crc csize usize mask pos data end")

def zip_header(e, offset=None):
    """Returns the canonical local header of an entry, or with an offset its directory record."""
    name, values = e.name.encode(), [e.usize, e.csize]
    if offset is not None:
        big = [v for v in values + [offset] if v >= M32]
    else:
        big = values if max(values) >= M32 else []
    extra = struct.pack(f"<HH{len(big)}Q", 1, 8 * len(big), *big) if big else b""
    extra += struct.pack("<HHI", 0xCDF3, 4, e.mask) if e.mask else b""
    version = 45 if big else 20 if e.method else 10
    common = struct.pack("<5H3I2H", version, 0x800 * (not name.isascii()), e.method, 0, 0x21, e.crc,
                         M32 if big and offset is None else min(e.csize, M32),
                         M32 if big and offset is None else min(e.usize, M32), len(name), len(extra))
    if offset is None:
        return b"PK\3\4" + common + name + extra
    return (b"PK\1\2" + bytes((version, 3)) + common + struct.pack("<3H2I", 0, 0, 0, 0o100644 << 16, min(offset, M32))
            + name + extra)


class Archive:
    def __init__(self, path, walk=False):
        with open(path, "rb") as f:
            try:
                self.buf = memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))
            except ValueError:
                raise Unsupported("not a cdfz archive: empty")
        head = bytes(self.buf[:4]) == b"PK\3\4" and bytes(self.buf[30:42]) == README.encode()
        if not head and bytes(self.buf[-109:][:7]) != b"cdfz 1 ":
            raise Unsupported("not a cdfz archive")
        try:
            self.walk() if walk else self.open()
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError, struct.error, zlib.error) as e:
            raise Damage(f"{type(e).__name__}: {e}")

    # -- bytes and entries
    def get(self, off, n):
        need(0 <= off and 0 <= n <= len(self.buf) - off, f"{n} bytes at {off} are beyond the end of the archive")
        return self.buf[off:off + n]

    def entry(self, pos, want=None):
        sig, _, _, method, _, _, crc, csize, usize, nlen, xlen = struct.unpack("<4s5H3I2H", self.get(pos, 30))
        need(sig == b"PK\3\4", f"no local header at {pos}")
        name, extra, mask = bytes(self.get(pos + 30, nlen)).decode(), self.get(pos + 30 + nlen, xlen), 0
        if M32 in (csize, usize):
            usize, csize = struct.unpack("<QQ", extra[4:20])
            extra = extra[20:]
        if len(extra):
            mask, = struct.unpack("<4xI", extra)
        data = pos + 30 + nlen + xlen
        e = Entry(name, method, crc, csize, usize, mask, pos, data, data + csize)
        need(zip_header(e) == self.get(pos, data - pos) and nlen <= 255 and (method == 8 or method == 0 and csize == usize),
             f"local header at {pos} is not canonical")
        need(want in (None, name), f"{name!r} at {pos} instead of {want!r}")
        self.get(data, csize)
        return e

    def meta(self, e):
        """Returns the content of a metadata entry, within the limits."""
        stored = out = bytes(self.get(e.data, e.csize))
        need(e.usize <= min(2**16 + 256 * e.csize, 2**22 + len(self.buf)), f"{e.name}: too long")
        if e.method:
            d = zlib.decompressobj(-15)
            out = d.decompress(stored, e.usize + 1)
            need(d.eof and not d.unused_data, f"{e.name}: deflate stream")
        need(len(out) == e.usize and zlib.crc32(out) == e.crc, f"{e.name}: wrong length or CRC")
        return out

    def inflated(self, name, place, limit):
        """Returns the content of plan or manifest, given its place. The local header is not needed."""
        stored, d = self.get(uint(place["off"]), uint(place["len"])), zlib.decompressobj(-15)
        need("%08x" % zlib.crc32(stored) == place["crc32"], f"{name}: wrong CRC")
        out = d.decompress(bytes(stored), limit + 1)
        need(len(out) <= limit and d.eof and not d.unused_data, f"{name}: deflate stream or length")
        return out

    # -- "Reading an image": by the end line
    def open(self):
        line = bytes(self.get(len(self.buf) - 109, 109))
        m = re.fullmatch(rb"cdfz 1 manifest (H{16}) (H{8}) (H{8}) index (H{16}) (H{16}) (H{8}) (H{8})\n".replace(b"H", b"[0-9a-f]"), line)
        need(m and int(m[7], 16) == zlib.crc32(line[:100]), "the last line is damaged (try --walk)")
        moff, mlen, mcrc, ioff, ilen, self.icrc = (int(x, 16) for x in m.groups()[:6])
        start = ioff + 30 + len(INDEX) + 20 * (ilen >= M32)
        need(mlen <= 2**16 and moff + 30 + len(MANIFEST) + mlen == ioff and 32 <= ilen and start + ilen <= len(self.buf) - 131,
             "the last line has impossible places")
        place = {"off": moff + 30 + len(MANIFEST), "len": mlen, "crc32": "%08x" % mcrc}
        self.manifest = man = self.set_manifest(self.inflated(MANIFEST, place, 65536), moff)
        plan, head = self.sound(man["plan"], "plan"), self.sound(man["header"], "header")
        self.set_plan(self.inflated(PLAN, plan, min(2**16 + 256 * plan["len"], 2**22 + len(self.buf) - head["len"])))
        # "The index"
        idx = self.index = self.get(start, ilen)
        magic, rows, page, size, zero, crc = struct.unpack("<8sQ4I", idx[:32])
        need(magic == b"cdfzidx\1" and crc == zlib.crc32(idx[:28]) and (page, size, zero) == (256, 20, 0), "index: header")
        need(ilen == 32 + 20 * rows + 8 * -(-rows // 256), "index: wrong length")
        need(rows == man["blocks"] == self.nblocks and man["size"] == self.plan["image"]["size"], "index, manifest and plan differ")
        parts = []
        for p in range(-(-rows // 256)):
            b = idx[32 + p * 5128:32 + (p + 1) * 5128]
            need(struct.unpack("<II", b[:8]) == (zlib.crc32(b[4:]), p), f"index: page {p}")
            parts.append(np.frombuffer(b[8:], ROW))
        self.rows = np.concatenate(parts)
        first = man["header"]
        self.first = (first["off"], first["len"], first.get("mask", 0), int(first["crc32"], 16))
        if head is not first:
            self.rows[self.rest0] = self.first = (head["off"], *self.first[1:])
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
        man = members(parse_json(content), "size sha256 entries blocks stored front plan header", "name name_hex copies")
        need(not ("name" in man and "name_hex" in man), "name and name_hex")
        text(man.get("name", ""), 2**16), hexdigits(man.get("name_hex", ""), 0), hexdigits(man["sha256"], 64)
        for m in ("size", "entries", "blocks", "stored"):
            uint(man[m], m)
        front, plan, head = members(man["front"], "len crc32"), members(man["plan"], "off len crc32"), members(man["header"], "off len crc32", "mask")
        for place in (front, plan, head):
            hexdigits(place["crc32"], 8), uint(place.get("off", 0)), uint(place["len"]), uint(place.get("mask", 0), "mask", M32)
        need(42 <= front["len"] and 87 <= plan["off"] and plan["off"] + plan["len"] <= front["len"] and plan["len"] <= 2**28
             and head["off"] == front["len"] + 42 + 8 * (head.get("mask", 0) != 0) and head["off"] + head["len"] <= end
             and head["len"] <= MAXHEADER, "manifest: impossible places")
        if "copies" in man:
            copies = members(man["copies"], "plan header")
            need(all(head["off"] + head["len"] <= uint(copies[m]) <= end - man[m]["len"] for m in copies), "manifest: impossible places of copies")
        return man

    def set_header(self, row):
        """Compares the plan with the netCDF header, whose block has this row."""
        block = self.block(self.rest0, self.head, self.plan["rest"]["first"], row)
        length, found = parse_header(block.tobytes(), self.plan["image"]["size"])
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

    # -- "Walking the local headers"
    def walk(self):
        self.entries = [self.entry(0, README)]
        self.entries.append(self.entry(self.entries[0].end, PLAN))
        self.set_plan(self.meta(self.entries[1]))
        need(self.nblocks <= len(self.buf) // 31, "cut off: more blocks than the archive can hold")
        self.rows = np.zeros(self.nblocks, ROW)
        for name, number in self.expected():
            e = self.find(name)
            if number is not None:
                need(e.method == 0 and e.csize <= M32, f"{name}: not a stored block")
                self.rows[number] = (e.data, e.csize, e.mask, e.crc)
        self.set_header(self.rows[self.rest0].tolist())
        try:
            e = self.find(MANIFEST)
            self.manifest = self.set_manifest(self.meta(e), e.pos)
        except (Damage, ValueError):
            self.manifest = None               # all blocks are intact, but the image cannot be checked

    def find(self, name):
        """Returns the next entry and skips entries of later versions ("Growth")."""
        while True:
            e = self.entry(self.entries[-1].end)
            need(e.name == name or e.name.startswith(".cdfz/") and e.name != MANIFEST, f"{e.name!r} instead of {name!r}")
            self.entries.append(e)
            if e.name == name:
                return e

    def expected(self):
        """Yields names and block numbers of the entries between plan and manifest, in order ("Order")."""
        if self.plan["layout"] in ("viewed", "consolidated"):
            yield from ((s, None) for s in (".zgroup", ".zattrs"))
            for v in self.vars:
                if self.plan["layout"] == "viewed" and "view" not in v:
                    yield from ((v["path"] + s, None) for s in ("/.zarray", "/.zattrs"))
            yield ".zmetadata", None
        yield REST0, self.rest0
        for group in self.plan["groups"]:
            keys = []
            for pos, i in enumerate(group):
                v, b = self.vars[i], np.arange(self.vars[i]["nblocks"])
                done = np.zeros_like(b)
                if v["segment"]["count"] > 1:
                    done = np.minimum((b // math.prod(v["grid"][1:]) + 1) * v["block"][0], v["shape"][0]) - 1
                keys.append(np.stack((b, np.full_like(b, pos), done)))
            keys = np.concatenate(keys, axis=1)
            for b, pos in keys[:2, np.lexsort(keys)].T.tolist():
                v, key, rem = self.vars[group[pos]], [], b
                for g in reversed(v["grid"]):
                    rem, c = divmod(rem, g)
                    key.insert(0, str(c))
                yield v["path"] + "/" + (".".join(key) or "0"), v["first"] + b
        for i, p in enumerate(self.pools):
            for b, key in enumerate(np.ndindex(*p["grid"])):
                yield f".cdfz/pool/{i}/" + (".".join(map(str, key)) or "0"), p["first"] + b
        for i in range(1, self.nblocks - self.rest0):
            yield f".cdfz/rest/{i}", self.rest0 + i

    def tail(self):
        """Generates index entry, directory and end from the headers that walk() has read ("Rebuilding the tail")."""
        man, out = self.entries[-1], []
        pages = [self.rows[i:i + 256].tobytes() for i in range(0, self.nblocks, 256)]
        idx = struct.pack("<8sQ3I", b"cdfzidx\1", self.nblocks, 256, 20, 0)
        idx += struct.pack("<I", zlib.crc32(idx))
        for p, rows in enumerate(pages):
            rows = struct.pack("<I", p & M32) + rows
            out.append(struct.pack("<I", zlib.crc32(rows)) + rows)
        idx += b"".join(out)
        e = Entry(INDEX, 0, zlib.crc32(idx), len(idx), len(idx), 0, man.end, 0, 0)
        entries, head = self.entries + [e], zip_header(e)
        cd = b"".join(zip_header(x, x.pos) for x in entries)
        start, n, end = man.end + len(head) + len(idx), len(entries), b""
        if n >= M16 or len(cd) >= M32 or start >= M32:
            end = struct.pack("<4sQBBHII4Q", b"PK\6\6", 44, 45, 3, 45, 0, 0, n, n, len(cd), start)
            end += struct.pack("<4sIQI", b"PK\6\7", 0, start + len(cd), 1)
        line = b"cdfz 1 manifest %016x %08x %08x index %016x %016x %08x " % (
            man.pos, man.csize, zlib.crc32(self.get(man.data, man.csize)), e.pos, e.csize, e.crc)
        end += struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, min(n, M16), min(n, M16), min(len(cd), M32), min(start, M32), 109)
        return head + idx + cd + end + line + b"%08x\n" % zlib.crc32(line)

    # -- "The plan"
    def set_plan(self, content):
        self.plan = p = parse_json(content)
        need(type(p) is dict, "plan: not an object")
        order = [m for m in p if m in PLAN_MEMBERS.split()]
        need(order[:1] == ["format"], "format is not the first member")
        if uint(p["format"]) != 1:
            raise Unsupported(f"format {p['format']}")
        need(order[:2] == ["format", "features"] and type(p["features"]) is list, "features are not the second member")
        if p["features"]:
            raise Unsupported(f"features {p['features']!r:.200}")
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

    # -- blocks and image
    def block(self, number, chain, n, row=None):
        off, size, mask, crc = row or self.rows[number].tolist()
        need(size <= 2 * n + 65536, f"block {number}: too many stored bytes")
        stored = self.get(off, size)
        try:
            need(zlib.crc32(stored) == crc, "wrong CRC")
            need(number != self.rest0 or n <= 2**21 or mask == (1 << len(self.plan["chains"][chain])) - 1, "header with filters")
            return np.frombuffer(decode(self.plan["chains"][chain], stored, n, mask), np.uint8)
        except Damage as e:
            raise Damage(f"block {number} at {off}: {e}")

    def raw(self, v):
        """Returns the row-major bytes of a variable or a pool: "Blocks of variables and pools"."""
        out, full = np.empty(v["bytes"], np.uint8), v["k"] * v["inner"]
        run, per = v["cut"] * v["inner"], -(-v["cut"] // v["k"])
        for b in range(v["nblocks"]):
            c = b % per
            at, n = b // per * run + c * full, min(v["k"], v["cut"] - c * v["k"]) * v["inner"]
            out[at:at + n] = self.block(v["first"] + b, v["chain"], full)[:n]
        return out

    def rest(self):
        r, out, at = self.plan["rest"], np.empty(self.plan["rest"]["len"], np.uint8), 0
        for b in range(self.rest0, self.nblocks):
            n = r["first"] if b == self.rest0 else min(r["block"], len(out) - at)
            out[at:at + n] = self.block(b, self.head if b == self.rest0 else r["chain"], n)
            at += n
        return out

    def image(self):
        size = self.plan["image"]["size"]
        image, used = np.zeros(size, np.uint8), np.zeros(size, bool)
        def put(segment, raw):
            off, length, stride, count = segment
            runs = lambda a: np.lib.stride_tricks.as_strided(a[off:], (count, length), (stride, 1))
            need(not runs(used).any(), "runs overlap")
            runs(used)[...] = True
            runs(image)[...] = raw.reshape(count, length)
        for v in self.vars:
            if v["bytes"]:
                put([v["segment"][x] for x in ("off", "len", "stride", "count")], self.raw(v))
        for p in self.pools:
            raw, at = self.raw(p), 0
            for s in p["segments"]:
                put(s, raw[at:at + s[1] * s[3]])
                at += s[1] * s[3]
        image[~used] = self.rest()
        return image

    def values(self, path):
        v = next(v for v in self.vars if v["path"] == path)
        return self.raw(v).view(DTYPES[v["type"]]).reshape(v["shape"])


def run(o):
    a = Archive(o.archive, o.walk)
    image = a.image()
    digest, man = hashlib.sha256(image).hexdigest(), a.manifest
    if man is not None:
        need((len(image), digest) == (man["size"], man["sha256"]), "the image's SHA-256 is not that of the manifest")
    if o.check:                                # as a verifier, regenerate everything after the manifest
        w = Archive(o.archive, walk=True)
        need(w.manifest is not None, "no manifest")
        need(w.tail() == w.buf[w.entries[-1].end:], "index, directory or end are not canonical")
        need(w.manifest["entries"] == len(w.entries) + 1, "manifest: number of entries")
        need(zlib.crc32(a.index) == a.icrc, "index: wrong CRC")
        need(int(a.rows["len"].sum(dtype=np.uint64)) == man["stored"], "index and manifest differ in the stored length")
        need(tuple(a.rows[a.rest0].tolist()) == a.first, "index and manifest differ in the row of the header")
        print(f"{o.archive}: good, {len(image)} bytes in {a.nblocks} blocks, {a.plan['layout']}, {digest}")
    elif o.sha256:
        print(f"{digest}  {o.archive}")
    elif o.output == "-":
        sys.stdout.buffer.write(image)
    else:
        out = o.output
        if out is None:
            need(man is not None, "no name for the image: use -o")
            out = os.fsdecode(bytes.fromhex(man["name_hex"])) if "name_hex" in man else man["name"]
            if not out or out in (".", "..") or re.search(r"[/\\\0]", out) or os.path.lexists(out):
                raise Unsupported(f"{out!r} exists or is not a file name; use -o")
        with open(out + ".part", "wb") as f:
            f.write(image)
        os.replace(out + ".part", out)
    need(man is not None, "the image has no manifest to check it against")


def main():
    p = argparse.ArgumentParser(description="Restore a netCDF file from a cdfz archive and check its SHA-256. "
                                "Exit status: 0; 3 for damage; 1 for anything else.")
    p.add_argument("archives", nargs="+", metavar="ARCHIVE")
    p.add_argument("-o", dest="output", metavar="OUT", help="file to write, - for standard output; default: its name")
    p.add_argument("--check", action="store_true", help="write nothing; check image and container")
    p.add_argument("--sha256", action="store_true", help="write nothing; print the image's SHA-256")
    p.add_argument("--walk", action="store_true", help="use the local headers only: no index, directory or end")
    p.error = lambda message: (p.print_usage(sys.stderr), print(message, file=sys.stderr), sys.exit(1))
    o = p.parse_args()
    if o.output and len(o.archives) > 1:
        p.error("-o is for one archive")
    worst = 0
    for o.archive in o.archives:
        try:
            run(o)
        except (Damage, Unsupported, OSError, MemoryError, KeyError, TypeError, ValueError) as e:
            damage = not isinstance(e, (Unsupported, OSError, MemoryError))
            print(f"{o.archive}: {'damaged' if damage else 'error'}: {e}", file=sys.stderr)
            worst = max(worst, 3 if damage else 1)
    return worst


if __name__ == "__main__":
    sys.exit(main())
