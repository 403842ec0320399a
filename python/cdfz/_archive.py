"""Reads archives, written from docs/FORMAT.md alone. Comments and names quote headings of that page.

    a = Archive("x.nc.cdfz")
    a.header                              # the netCDF header
    a.read(5, (0, slice(10, 20)))         # a part of variable number 5
    a.image(0, 4)                         # bytes of the netCDF file

This module opens archives. Of those below it, _selection reads variables, _permutation the netCDF file,
_blocks the blocks of both, and _plan has manifest and plan.
"""
import re
import struct
import zlib

from ._checks import M32, need, uint
from ._errors import ArchiveDamaged, ArchiveUnsupported
from ._netcdf import parse
from ._selection import Selection
from ._sources import source

PLAN, MANIFEST, INDEX = (".cdfz/" + s for s in ("plan.json", "manifest.json", "index"))


def refuse_later(line):
    """Refuses an archive whose end line is intact and of another format ("The end")."""
    m = re.match(rb"cdfz ([1-9][0-9]{0,8}) ", line)
    if m and m[1] != b"1" and line[100:] == b"%08x\n" % zlib.crc32(line[:100]):
        raise ArchiveUnsupported(f"format {m[1].decode()}")


def other(head):
    """Returns what else a file is that begins so, and what to do with it."""
    if not head:
        return ": it is empty"
    if re.match(rb"CDF[\1\2\5]", head):
        return ": it is a classic netCDF file, which netCDF4 and scipy read, and of which `cdfz archive` makes an archive"
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return ": it is a netCDF-4 (HDF5) file, which netCDF4 and h5netcdf read"
    if head.lstrip().startswith((b"<?xml", b"<netcdf")):
        return ": it may describe joined files, which cdfz.open_dataset reads if the name ends in .ncml"
    return ""


class Archive(Selection):
    """An archive open for reading. It is safe for concurrent use and can be pickled.

    what: a name, an http or https URL, an open binary file, or bytes. block_cache: bytes of decoded blocks that this
    archive keeps in memory. If it is None, all archives of the process share a cache (set_cache).
    """

    def __init__(self, what, block_cache=None):
        super().__init__(source(what), block_cache)
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
        head = bytes(self.source.read(0, min(45, self.size)))
        ours = head[:4] == b"PK\3\4" and head[30:] == PLAN.encode()
        line = bytes(self.source.read(self.size - 109, 109)) if self.size >= 109 else b""
        refuse_later(line)
        if not ours and line[:7] != b"cdfz 1 ":
            raise ArchiveUnsupported(f"{self.source.name}: not a cdfz archive{other(head)}")
        self.open()

    def close(self):
        """Frees the memory for blocks and closes the file, unless it was given as an open file. Reading opens it again."""
        self._cache.forget(self._owner)
        self.source.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce__(self):
        return type(self), (self.source, self._block_cache)

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

    def set_header(self, row):
        """Reads the netCDF header, whose block has this row."""
        block = self.block(self.rest0, self.head, self.plan["rest"]["first"], row)
        self.header = parse(block.tobytes(), self.plan["image"]["size"])
        self.compare(self.header)
