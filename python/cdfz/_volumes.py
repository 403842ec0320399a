"""Members of volumes, from docs/volumes.md: tar files with an index at the end.

    member("vol/0001.tar/1987/tas.nc.cdfz")   # the source of its bytes, or None for a name that leads into no volume
"""
import bisect
import os
import re
import urllib.parse
import zlib

from ._errors import ArchiveDamaged, ArchiveUnsupported
from ._shared import Shared

UNIT, TAIL, LONGEST, BLOCK, MOST_PATHS = 512, 64 << 10, 8192, 1 << 20, 1 << 26
MOST_LINKS, MOST_PARTS = 40, 8192              # that a path may lead over, as in other readers: each part may cost a block
KEPT = 16                                      # volumes whose top level is kept
LINE = re.compile(rb"cdfz volume 1 index (\w{16}) top (\w{16}) (\w{16}) (\w{8}) members (\w{16}) packed \w{16} (\w{8})\n")


class Member:
    """A part of another source."""

    def __init__(self, whole, name, off, size):
        self.whole, self.name, self.off, self.size = whole, name, off, size

    def read(self, off, n):
        return self.whole.read(self.off + off, max(0, min(n, self.size - off)))

    def close(self):
        self.whole.close()

    def __reduce__(self):
        return Member, (self.whole, self.name, self.off, self.size)


class Numbers:
    """Reads the numbers and paths of an index."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        out = 0
        for i in range(10):
            out |= (self.data[self.at] & 127) << 7 * i
            self.at += 1
            if self.data[self.at - 1] < 128:
                return out
        raise IndexError("a number has more than 10 bytes")

    def take(self, n):
        self.at += n
        if self.at > len(self.data):
            raise IndexError("the index ends too early")
        return self.data[self.at - n:self.at]

    def path(self, before):
        n = self.number()
        if n > len(before):
            raise IndexError("a path is shortened by more than the one before")
        out = before[:n] + self.take(self.number())
        if len(out) > LONGEST:
            raise IndexError("a path is too long")
        return out


def order(path):
    """The key by which paths are ordered: a slash counts less than any other byte."""
    return path.replace(b"/", b"\0")


class Volume:
    """The index of a volume. It keeps no source, which may have a login, a signature or a descriptor: each call is given its own."""

    def __init__(self, whole):
        self.name, self.last, n = whole.name, (-1, {}), min(TAIL, whole.size)
        tail = whole.read(whole.size - n, n)
        start = whole.size - n
        end = -(-(start + len(tail.rstrip(b"\0"))) // UNIT) * UNIT
        at = end - UNIT - start                # the last block that is not empty
        block = tail[at:at + UNIT] if at >= 0 else b""
        if not block.startswith(b"cdfz volume "):
            raise ArchiveUnsupported(f"{whole.name}: not a volume, or its end is lost")
        if not block.startswith(b"cdfz volume 1 "):
            raise ArchiveUnsupported(f"{whole.name}: a volume of a later version")
        m = LINE.match(block)
        self.need(m and int(m[6], 16) == zlib.crc32(m[0][:-9]), "the trailer")
        self.index, top, length, crc = (int(x, 16) for x in m.groups()[:4])
        self.need(self.index <= top and top + length <= end - UNIT, "the places in the trailer")
        data = tail[top - start:top - start + length] if top >= start else whole.read(top, length)
        self.need(zlib.crc32(data) == crc, "the top level")
        self.blocks, self.firsts, r, off, path, firsts = [], [], Numbers(data), self.index, b"", 0
        try:
            while r.at < len(data):
                stored, size, count = r.number(), r.number(), r.number()
                crc, path = int.from_bytes(r.take(4), "little"), r.path(path)
                self.blocks.append((off, stored, size, crc))
                self.firsts.append(order(path))
                off, firsts = off + stored, firsts + len(path)
                self.need(firsts <= MOST_PATHS, "the top level")
        except IndexError:
            self.need(False, "the top level")
        self.need(off == top, "the top level")

    def need(self, true, what):
        if not true:
            raise ArchiveDamaged(f"{self.name}: {what} of the volume is damaged")

    def entries(self, whole, n):
        """Reads a block: the path, kind, offset, length and target of each member."""
        off, stored, size, crc = self.blocks[n]
        data, d = whole.read(off, stored), zlib.decompressobj(-15)
        self.need(size <= BLOCK and zlib.crc32(data) == crc, "a block of the index")
        try:
            data = d.decompress(data, size + 1)
            self.need(len(data) == size and d.eof, "a block of the index")
            r, path, last, paths = Numbers(data), b"", 0, 0
            while r.at < size:
                path = r.path(path)
                paths += len(path)
                self.need(paths <= MOST_PATHS, "a block of the index")
                kind, flags = r.take(2)
                for _ in range(4):             # mode, owner, group, time
                    r.number()
                if flags & 1:
                    r.number()
                off = length = 0
                target = b""
                if kind == ord("0"):
                    off = last = last + UNIT * r.number()
                    length = r.number()
                    if flags & 2:
                        r.take(32)
                    self.need(off + length <= self.index, "a block of the index")
                elif kind in b"12":
                    target = r.take(r.number())
                yield path, chr(kind), off, length, target
        except (IndexError, zlib.error):
            self.need(False, "a block of the index")

    def find(self, whole, path):
        """Returns a member, None if there is none."""
        n = bisect.bisect_right(self.firsts, order(path)) - 1
        if n < 0:
            return None
        last, found = self.last                # members are often read in order
        if last != n:
            found = {e[0]: e for e in self.entries(whole, n)}
            self.last = n, found
        return found.get(path)

    def resolve(self, whole, path):
        """Returns offset and length of the file that a path leads to, over links."""
        done, rest, links = b"", path, 0
        for _ in range(MOST_PARTS):
            part, _, after = rest.partition(b"/")
            at = os.path.normpath(os.path.join(done, part))
            if at == b".." or at.startswith((b"../", b"/")):
                return None
            if at == b".":
                done, rest = b"", after
            elif part in (b"", b".", b".."):
                done, rest = at, after
            else:
                e = self.find(whole, at)
                if e is None:
                    return None
                if e[1] == "1":                # a hard link leads to a file before it
                    first = self.find(whole, e[4])
                    self.need(first and first[1] == "0", "a hard link")
                    return first[2:4]
                if e[1] == "2":
                    rest, links = e[4] + (b"/" + after if after else b""), links + 1
                    if links > MOST_LINKS or rest.startswith(b"/"):
                        return None
                elif not after:
                    return e[2:4] if e[1] == "0" else None
                else:
                    done, rest = at, after
            if not rest or len(rest) > 2 * LONGEST:
                return None
        return None


class Volumes(Shared):
    """The indexes of the volumes that were used last, by what tells them from others."""

    def __init__(self):
        super().__init__()
        self.kept = {}

    def of(self, whole):
        key = (whole.name, whole.size, getattr(whole, "identity", None) or getattr(whole, "_etag", None))
        with self:
            found = self.kept.pop(key, None)
        if found is None or key[2] is None:
            found = Volume(whole)
        with self:
            self.kept[key] = found
            while len(self.kept) > KEPT:
                del self.kept[next(iter(self.kept))]
        return found


volumes = Volumes()


def member(name, opens):
    """Returns the source of a member of a volume. opens(name) returns that of a volume. The result is None for other
    names."""
    url = isinstance(name, str) and name.lower().startswith(("http://", "https://"))
    text, query = (name.partition("?")[0], name.partition("?")[1:]) if url else (os.fspath(name), ())
    raw = os.fsencode(text)
    at = raw.find(b".tar/")
    while at >= 0:
        at += len(b".tar")
        file, path = os.fsdecode(raw[:at]), raw[at:].strip(b"/")
        if path and (url or os.path.isfile(file)):
            try:
                whole = opens(file + "".join(query))
                volume = volumes.of(whole)
            except (ArchiveUnsupported, OSError):
                if not url:
                    raise
                return None                    # a folder of the server
            if url:
                path = urllib.parse.unquote_to_bytes(path)
            place = volume.resolve(whole, path)
            if place is None:
                raise FileNotFoundError(f"{whole.name}: no file {os.fsdecode(path)} in the volume")
            return Member(whole, whole.name + "/" + os.fsdecode(path), *place)
        at = raw.find(b".tar/", at)
    return None
