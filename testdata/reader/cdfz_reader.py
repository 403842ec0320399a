#!/usr/bin/env python3
"""Restores netCDF files from cdfz archives, and checks their containers.

An independent reader, written from docs/FORMAT.md alone, on top of the package in ../../python, which was too.
Comments quote headings of that page. It keeps up to four copies of the whole image in memory. Needs numpy and numcodecs.

    a = Archive("x.nc.cdfz")              # or Archive(path, walk=True), which ignores index, directory and end
    a.whole()                             # the netCDF file, as an array of bytes
"""
import argparse, collections, hashlib, math, mmap, os, re, struct, sys, zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
import cdfz
from cdfz._archive import INDEX, MANIFEST, PLAN, refuse_later
from cdfz._blocks import ROW
from cdfz._checks import M16, M32, need
from cdfz._errors import ArchiveDamaged as Damage, ArchiveUnsupported as Unsupported

REST0 = ".cdfz/rest/0"


# ---- "The canonical ZIP"
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


class Archive(cdfz.Archive):
    def __init__(self, path, walk=False):
        self.walking = walk
        with open(path, "rb") as f:
            try:
                self.buf = memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))
            except ValueError:
                raise Unsupported("not a cdfz archive: empty")
        super().__init__(path)

    def start(self):
        head = bytes(self.buf[:4]) == b"PK\3\4" and bytes(self.buf[30:45]) == PLAN.encode()
        refuse_later(bytes(self.buf[-109:]))
        if not head and bytes(self.buf[-109:][:7]) != b"cdfz 1 ":
            raise Unsupported("not a cdfz archive")
        if self.walking:
            return self.walk()
        self.open()
        pages = [self.page(p) for p in range(-(-self.nblocks // 256))]
        self.rows, self.index = np.concatenate(pages), self.get(*self.place)
        self.rows[self.rest0] = self.first

    # -- bytes and entries
    def get(self, off, n):
        need(0 <= off and 0 <= n <= len(self.buf) - off, f"{n} bytes at {off} are beyond the end of the archive")
        return self.buf[off:off + n]

    def row(self, number):
        return self.rows[number].tolist() if number != self.rest0 or self.walking else self.first

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

    # -- "Walking the local headers"
    def walk(self):
        self.entries = [self.entry(0, PLAN)]
        self.set_plan(self.meta(self.entries[0]))
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
        if "zarr" in self.plan:
            yield from ((s, None) for s in (".zgroup", ".zattrs"))
            for v in self.vars:
                if self.plan["zarr"] == "viewed" and "view" not in v:
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

    # -- "Reading an image"
    def whole(self):
        size = self.plan["image"]["size"]
        image, used = np.zeros(size, np.uint8), np.zeros(size, bool)
        segments, where = self.segments()
        for (off, length, stride, count), (v, at) in zip(segments.tolist(), where):
            runs = lambda a: np.lib.stride_tricks.as_strided(a[off:], (count, length), (stride, 1))
            need(not runs(used).any(), "runs overlap")
            runs(used)[...] = True
            runs(image)[...] = self.raw(v, at, length * count).reshape(count, length)
        image[~used] = self.rest(0, self.plan["rest"]["len"])
        return image


def restore(a):
    """Returns the image of an archive and its SHA-256, which has to be that of the manifest if there is one."""
    image = a.whole()
    digest, man = hashlib.sha256(image).hexdigest(), a.manifest
    if man is not None:
        need((len(image), digest) == (man["size"], man["sha256"]), "the image's SHA-256 is not that of the manifest")
    return image, digest


def run(o):
    a = Archive(o.archive, o.walk)
    image, digest = restore(a)
    man = a.manifest
    if man is not None and "loss" in man:
        rounded = ", ".join(str(v["var"]) for v in man["loss"]["vars"])
        print(f"note: {o.archive}: values of variables number {rounded} were rounded before they were archived", file=sys.stderr)
    if o.check:                                # as a verifier, regenerate everything after the manifest
        w = Archive(o.archive, walk=True)
        need(w.manifest is not None, "no manifest")
        need(w.tail() == w.buf[w.entries[-1].end:], "index, directory or end are not canonical")
        need(w.manifest["entries"] == len(w.entries) + 1, "manifest: number of entries")
        need(zlib.crc32(a.index) == a.icrc, "index: wrong CRC")
        need(int(a.rows["len"].sum(dtype=np.uint64)) == man["stored"], "index and manifest differ in the stored length")
        need(tuple(a.rows[a.rest0].tolist()) == a.first, "index and manifest differ in the row of the header")
        print(f"{o.archive}: good, {len(image)} bytes in {a.nblocks} blocks, {a.plan.get('zarr', 'no')} Zarr view, {digest}")
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
