#!/usr/bin/env python3
"""Restores netCDF files from cdfz archives.

An independent reader, written from docs/FORMAT.md alone; section numbers in comments are those of that page.
It keeps the whole image in memory, up to four times. Needs numpy and numcodecs.

    a = Archive("x.nc.cdfz")              # or Archive(path, walk=True): without index, directory and end
    a.image()                             # the netCDF file, as an array of bytes
    a.values("air")                       # one variable, big-endian
"""
import argparse, bz2, collections, hashlib, json, math, mmap, os, re, struct, sys, zlib

import numpy as np
from numcodecs import lz4, zstd


class Damage(Exception):
    """The bytes are not what the format says (exit status 3)."""


class Unsupported(Exception):
    """Not an archive, or one that this reader cannot read (exit status 1)."""


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


# ---- section 4: filters. undo(params, data, n, top) gets the decoded length n; None: not known (an inner
# filter that compresses). The output has at most top bytes.


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
    # Ones'-complement folding keeps the residue modulo 65535; a sum that is not 0 never becomes 0. Sum2 counts
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
        # numcodecs wants the decoded length before the block, little-endian
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

FILTERS = {1: lambda p, *a: inflate(zlib.decompressobj(), *a), 2: unshuffle, 3: unfletcher,
           307: lambda p, *a: inflate(bz2.BZ2Decompressor(), *a), 32004: unlz4, 32015: unzstd}

def decode(chain, data, n, mask):
    need(mask >> len(chain) == 0, "exclusion mask beyond the chain")
    steps, length = [], n                      # length: of the input of each filter, as far as it is known
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


# ---- section 5: the container
Entry = collections.namedtuple("Entry", "name method crc csize usize mask pos data end")

def zip_header(e, offset=None):
    """The canonical local header of an entry, or with an offset its directory record."""
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
        if bytes(self.buf[:4]) != b"PK\3\4" or bytes(self.buf[30:42]) != README.encode()[:12]:
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
        """A metadata entry's content, within the limits of section 14."""
        stored = out = bytes(self.get(e.data, e.csize))
        need(e.usize <= min(2**16 + 256 * e.csize, 2**22 + len(self.buf)), f"{e.name}: too long")
        if e.method:
            d = zlib.decompressobj(-15)
            out = d.decompress(stored, e.usize + 1)
            need(d.eof and not d.unused_data, f"{e.name}: deflate stream")
        need(len(out) == e.usize and zlib.crc32(out) == e.crc, f"{e.name}: wrong length or CRC")
        return out

    def inflated(self, name, place, limit):
        """The content of plan or manifest, found by its place: the local header is not needed."""
        stored, d = self.get(uint(place["off"]), uint(place["len"])), zlib.decompressobj(-15)
        need("%08x" % zlib.crc32(stored) == place["crc32"], f"{name}: wrong CRC")
        out = d.decompress(bytes(stored), limit + 1)
        need(len(out) <= limit and d.eof and not d.unused_data, f"{name}: deflate stream or length")
        return out

    # -- section 12: by the tail
    def open(self):
        line = bytes(self.get(len(self.buf) - 109, 109))
        m = re.fullmatch(rb"cdfz 1 manifest (\w{16}) (\w{8}) (\w{8}) index (\w{16}) (\w{16}) (\w{8}) (\w{8})\n", line)
        need(m and int(m[7], 16) == zlib.crc32(line[:100]), "the last line is damaged (try --walk)")
        moff, mlen, mcrc, ioff, ilen, icrc = (int(x, 16) for x in m.groups()[:6])
        place = {"off": moff + 30 + len(MANIFEST), "len": mlen, "crc32": "%08x" % mcrc}
        self.manifest = man = json.loads(self.inflated(MANIFEST, place, 65536))
        plan, head = man["plan"], man["header"]
        limit = min(2**16 + 256 * uint(plan["len"]), 2**22 + len(self.buf) - uint(head["len"]))
        self.set_plan(self.inflated(PLAN, plan, limit))
        # section 10: the index
        need(ilen >= 32, "index: wrong length")
        idx = self.get(ioff + 30 + len(INDEX) + 20 * (ilen >= M32), ilen)
        need(zlib.crc32(idx) == icrc, "index: wrong CRC")
        magic, rows, page, size, zero, crc = struct.unpack("<8sQ4I", idx[:32])
        need(magic == b"cdfzidx\1" and crc == zlib.crc32(idx[:28]) and (page, size, zero) == (256, 20, 0), "index: header")
        need(ilen == 32 + 20 * rows + 8 * -(-rows // 256), "index: wrong length")
        need(rows == uint(man["blocks"]) == self.nblocks, "index, manifest and plan differ in the number of blocks")
        parts = []
        for p in range(-(-rows // 256)):
            b = idx[32 + p * 5128:32 + (p + 1) * 5128]
            need(struct.unpack("<II", b[:8]) == (zlib.crc32(b[4:]), p), f"index: page {p}")
            parts.append(np.frombuffer(b[8:], ROW))
        self.rows = np.concatenate(parts)
        need(int(self.rows["len"].sum(dtype=np.uint64)) == man["stored"], "index and manifest differ in the stored length")
        need(tuple(self.rows[self.rest0].tolist()) == (head["off"], head["len"], head.get("mask", 0), int(head["crc32"], 16)),
             "index and manifest differ in the row of the header")

    # -- section 13: by the local headers
    def walk(self):
        self.entries = [self.entry(0, README)]
        self.entries.append(self.entry(self.entries[0].end, PLAN))
        self.set_plan(self.meta(self.entries[1]))
        self.rows = np.zeros(self.nblocks, ROW)
        for name, number in self.expected():
            e = self.find(name)
            if number is not None:
                need(e.method == 0 and e.csize <= M32, f"{name}: not a stored block")
                self.rows[number] = (e.data, e.csize, e.mask, e.crc)
        try:
            self.manifest = json.loads(self.meta(self.find(MANIFEST)))
        except (Damage, ValueError):
            self.manifest = None               # all blocks are there, but nothing to check the image against

    def find(self, name):
        """The next entry, past entries under .cdfz/ that are not known (section 16)."""
        while True:
            e = self.entry(self.entries[-1].end)
            need(e.name == name or e.name.startswith(".cdfz/") and e.name != MANIFEST, f"{e.name!r} instead of {name!r}")
            self.entries.append(e)
            if e.name == name:
                return e

    def expected(self):
        """Names and block numbers of the entries between plan and manifest, in order (section 6)."""
        if self.plan["layout"] == "viewed":
            yield from ((s, None) for s in (".zgroup", ".zattrs"))
            for v in self.vars:
                if "view" not in v:
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
        for i in range(1, self.nblocks - self.rest0):
            yield f".cdfz/rest/{i}", self.rest0 + i

    def tail(self):
        """Index entry, directory and end, generated from the headers that walk() saw (sections 5, 10, 11, 13)."""
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

    # -- section 7: the plan
    def set_plan(self, text):
        self.plan = p = json.loads(text)
        if p["format"] != 1 or p["features"]:
            raise Unsupported(f"format {p['format']!r:.20}, features {p['features']!r:.200}")
        size, header = uint(p["image"]["size"]), uint(p["image"]["header"], "image.header", MAXHEADER)
        need(header <= size, "image.header")
        for c in p["chains"]:
            need(len(c) <= 32, "chain of more than 32 filters")
            for f in c:
                uint(f["id"]), [uint(x, "parameter", M32) for x in f.setdefault("params", [])]
        self.vars, self.nblocks, total, recs = p["vars"], 0, 0, []
        for v in self.vars:
            n, b, s, es = v["shape"], v["block"], v["segment"], SIZES[v["type"]]
            need(type(v["path"]) is str and len(n) == len(b), "path or shape")
            need(all(1 <= uint(y) <= max(1, uint(x)) for x, y in zip(n, b)), "block shape")
            j = max([i for i in range(len(n)) if b[i] != max(1, n[i])], default=0)      # section 3: the cut dimension
            need(all(x == 1 for x in b[:j]), "block shape is not contiguous")
            v["grid"] = [-(-x // y) for x, y in zip(n, b)]
            v["nblocks"], v["first"], v["bytes"] = math.prod(v["grid"]), self.nblocks, es * math.prod(n)
            v["inner"], v["cut"], v["k"] = es * math.prod(n[j + 1:]), *((n[j], b[j]) if n else (1, 1))
            need(v["k"] * v["inner"] <= MAXBLOCK and uint(v["chain"]) < len(p["chains"]), "block size or chain")
            off, length, stride, count = (uint(s[x], x) for x in ("off", "len", "stride", "count"))
            need(length * count == v["bytes"], "segment and shape differ")
            need(stride == 0 if count <= 1 else stride >= length and count == n[0], "stride")
            if v["bytes"]:                                                              # section 1: runs
                need(header <= off and off + stride * (count - 1) + length <= size, "segment outside of the image")
                recs += [(off, off + length, stride, count)] * (count > 1)
            total, self.nblocks = total + v["bytes"], self.nblocks + v["nblocks"]
        if recs:
            need(len({r[2:] for r in recs}) == 1, "records differ")
            need(max(r[1] for r in recs) - min(r[0] for r in recs) <= recs[0][2], "records overlap")
        need(sorted(i for g in p["groups"] for i in g) == list(range(len(self.vars))), "groups")
        r = p["rest"]
        length, first, block = uint(r["len"]), uint(r["first"], "first", MAXBLOCK), uint(r["block"], "block", MAXBLOCK)
        need(total + length == size, "variables and rest are not the image")
        need(0 < first <= length and (block > 0 or first == length) and uint(r["chain"]) < len(p["chains"]), "rest")
        self.rest0 = self.nblocks
        self.nblocks += 1 + (-(-(length - first) // block) if block else 0)
        need(self.nblocks <= len(self.buf) // 31, "more blocks than the archive can hold")

    # -- blocks and image
    def block(self, number, chain, n):
        off, size, mask, crc = self.rows[number].tolist()
        stored = self.get(off, size)
        try:
            need(zlib.crc32(stored) == crc, "wrong CRC")
            need(number != self.rest0 or n <= 2**21 or mask == (1 << len(self.plan["chains"][chain])) - 1, "header with filters")
            return np.frombuffer(decode(self.plan["chains"][chain], stored, n, mask), np.uint8)
        except Damage as e:
            raise Damage(f"block {number} at {off}: {e}")

    def raw(self, v):
        """The raw bytes of a variable: sections 1 and 3."""
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
            out[at:at + n] = self.block(b, r["chain"], n)
            at += n
        return out

    def image(self):
        size = self.plan["image"]["size"]
        image, used = np.zeros(size, np.uint8), np.zeros(size, bool)
        for v in self.vars:
            if v["bytes"]:
                off, length, stride, count = (v["segment"][x] for x in ("off", "len", "stride", "count"))
                runs = lambda a: np.lib.stride_tricks.as_strided(a[off:], (count, length), (stride, 1))
                need(not runs(used).any(), "runs overlap")
                runs(used)[...] = True
                runs(image)[...] = self.raw(v).reshape(count, length)
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
    if o.check:                                # as a verifier: regenerate all that follows the manifest
        w = Archive(o.archive, walk=True)
        need(w.manifest is not None, "no manifest")
        need(w.tail() == w.buf[w.entries[-1].end:], "index, directory or end are not canonical")
        need(w.manifest["entries"] == len(w.entries) + 1, "manifest: number of entries")
        print(f"{o.archive}: good, {len(image)} bytes in {a.nblocks} blocks, {a.plan['layout']}, {digest}")
    elif o.sha256:
        print(digest)
    elif o.output == "-":
        sys.stdout.buffer.write(image)
    else:
        out = o.output
        if out is None:
            need(man is not None, "no name for the image: use -o")
            out = os.fsdecode(bytes.fromhex(man["name_hex"])) if "name_hex" in man else man["name"]
            if not out or out in (".", "..") or re.search(r"[/\\\0]", out) or os.path.lexists(out):
                raise Unsupported(f"{out!r} exists or is no file name: use -o")
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
