"""Many archives as one dataset, from the NcML file that cdfz join writes (docs/joined.md).

    d = Joined("tas.ncml")
    d.header                              # that of the first archive, with the joined dimension
    d.read(3, (slice(0, 100), 10, 20))    # a part of variable number 3; several archives are read at a time
"""
import bisect
import collections
import concurrent.futures
import contextlib
import errno
import hashlib
import os
import re
import urllib.parse
import xml.parsers.expat

import numpy as np

from . import _times
from ._archive import Archive
from ._errors import ArchiveDamaged, ArchiveUnsupported
from ._netcdf import DTYPES
from ._selection import indices
from ._shared import Forked
from ._sources import source

NCML = tuple(s + "://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2" for s in ("http", "https"))
OWN = "https://github.com/cdfz-format/cdfz/joined-1"
LONGEST, MEMBERS = 64 << 20, 1 << 18           # bytes of a description, and its members
OPEN, WORKERS = 64, 8                          # archives kept open, and read at the same time

# start is the first index of a part of a file, None for a whole file
Member = collections.namedtuple("Member", "location length start size sha256 sample")


class Description:
    """What an NcML file describes. All that would change the dataset in ways not followed here is refused."""

    ALLOWED = {"netcdf": set(), "netcdf/aggregation": {"dimName", "type", "timeUnitsChange", OWN + "|first"}, "netcdf/aggregation/variableAgg": {"name"},
               "netcdf/aggregation/netcdf": {"location", "ncoords", OWN + "|start", OWN + "|size", OWN + "|sha256", OWN + "|sample"}}

    def __init__(self, name, text):
        self.name, self.dim, self.new, self.first, self.convert, self.vars, self.members, self.path = name, None, False, False, False, [], [], []
        p = xml.parsers.expat.ParserCreate(namespace_separator="|")
        p.StartElementHandler, p.EndElementHandler = self.start, lambda _: self.path.pop()
        p.StartDoctypeDeclHandler = lambda *_: self.refuse("a document type")
        try:
            p.Parse(text, True)
        except xml.parsers.expat.ExpatError as e:
            raise (ArchiveDamaged if self.dim is not None else ArchiveUnsupported)(f"{name}: no NcML: {e}") from None
        if self.dim is None:
            self.refuse("no aggregation")
        if not self.dim or not self.members or self.new != bool(self.vars):
            raise ArchiveDamaged(f"{name}: a dimension, members or variables are missing")

    def refuse(self, what):
        raise ArchiveUnsupported(f"{self.name}: expected joined files in NcML as cdfz join writes it, found {what}")

    def number(self, text):
        if text is not None and not (text.isascii() and text.strip().isdigit() and len(text) < 20):
            raise ArchiveDamaged(f"{self.name}: expected a number, found {text!r}")
        return None if text is None else int(text)

    def start(self, name, attrs):
        space, _, local = name.rpartition("|")
        self.path.append(local)
        path = "/".join(self.path)
        if space not in NCML or path not in self.ALLOWED or path == "netcdf/aggregation" and self.dim is not None:
            self.refuse(f"an element {path}")
        attrs = {k: v for k, v in attrs.items() if "|" not in k or k.startswith(OWN + "|")}
        for k in attrs.keys() - self.ALLOWED[path]:
            self.refuse(f"an attribute {k}")
        if path == "netcdf/aggregation":
            self.dim, kind = attrs.get("dimName", ""), attrs.get("type")
            if kind not in ("joinExisting", "joinNew"):
                self.refuse(f"type {kind}")
            self.new, self.first, self.convert = kind == "joinNew", attrs.get(OWN + "|first") == "true", attrs.get("timeUnitsChange") == "true"
        elif path == "netcdf/aggregation/variableAgg":
            self.vars.append(attrs.get("name", "").encode())
        elif path == "netcdf/aggregation/netcdf":
            location = attrs.get("location", "").removeprefix("file:")
            if not location or len(self.members) == MEMBERS:
                raise ArchiveDamaged(f"{self.name}: a location is missing, or there are more than {MEMBERS} members")
            length, begin = 1 if self.new else self.number(attrs.get("ncoords")), self.number(attrs.get(OWN + "|start"))
            if begin is not None and (self.new or length is None):
                raise ArchiveDamaged(f"{self.name}: expected a number of indices for a part of {location}")
            found = attrs.get(OWN + "|sample")
            if found is not None and not re.fullmatch("([1-9]|1[0-6]):[0-9a-f]{32}", found):
                raise ArchiveDamaged(f"{self.name}: expected a sample, found {found!r}")
            self.members.append(Member(location, length, begin, self.number(attrs.get(OWN + "|size")), attrs.get(OWN + "|sha256"), found))


def located(description, location):
    """Returns the name of a member's archive. A description at a URL names files of its server only."""
    url = "://" in description
    if "://" in location:
        if url and urllib.parse.urlsplit(location)[:2] != urllib.parse.urlsplit(description)[:2]:
            raise ArchiveUnsupported(f"{description}: member {location} is on another server")
        name = location
    elif url:
        if location.startswith("/") or any(c in location for c in "\\?#"):
            raise ArchiveUnsupported(f"{description}: expected a relative path, found {location}")
        parts = urllib.parse.urlsplit(description)
        name = urllib.parse.urlunsplit(parts._replace(path=os.path.normpath("/" + os.path.dirname(parts.path) + "/" + location).replace("//", "/")))
    else:
        name = os.path.join(os.path.dirname(description), location)
    base, mark, query = name.partition("?") if "://" in name else (name, "", "")
    return base + ("" if base.endswith(".cdfz") else ".cdfz") + mark + query


def sample(a, dim, like):
    """Returns the sum of parts of an archive's netCDF file that tell it from others (docs/joined.md, "The NcML file").
    The number of pieces is that of another sample."""
    h, end, piece, pieces = a.header, a.manifest["size"], 256, int(like.partition(":")[0])
    sum_ = hashlib.sha256(a.image(0, h.length))
    for n, v in enumerate(h.vars):
        if v.name == dim and [h.dims[k][0] for k in v.dims] == [dim]:
            for k in (0, -1) if v.shape[0] else ():
                sum_.update(np.asarray(a.read(n, k)).astype(DTYPES[v.type]).tobytes())
            break
    places = [(h.length, end - h.length)]
    if end - h.length > pieces * piece:
        step = (end - h.length - piece) // max(pieces - 1, 1)
        places = [(h.length + i * step, piece) for i in range(pieces - 1)] + [(end - piece, piece)]
    for off, n in places:
        sum_.update(a.image(off, n))
    return f"{pieces}:{sum_.hexdigest()[:32]}"


class Joined(Forked):
    """Joined archives, with what the engine of xarray needs of an Archive. It is safe for concurrent use and
    can be pickled. block_cache: as for Archive, divided among the archives.

    identity: of another object, what tells its files from others: the SHA-256 of the description, and those of archives that have
    none there. Files that were replaced since are an error.
    """

    def __init__(self, what, block_cache=None, identity=(None, {})):
        super().__init__()
        name = os.fspath(what)
        self.args = name if "://" in name else os.path.abspath(name), block_cache
        self.share = None if block_cache is None else block_cache // OPEN
        self.source = source(self.args[0])
        try:
            size = self.source.size
            if size > LONGEST:
                raise ArchiveUnsupported(f"{self.args[0]}: expected at most {LONGEST} bytes of NcML, found {size}")
            text = bytes(self.source.read(0, size))
        finally:
            self.source.close()
        sha256 = hashlib.sha256(text).hexdigest()
        if identity[0] not in (None, sha256):
            raise OSError(errno.ESTALE, "the file was replaced since it was opened", self.args[0])
        self.identity, self.desc = (sha256, dict(identity[1])), Description(self.args[0], text)
        self.idle = collections.OrderedDict()
        self.first = self.header = None
        try:
            self.first = self.open(0, None)
            self.prepare()
        except BaseException:
            self.close()
            raise

    def prepare(self):
        """Finds the joined header, and the first index of each member."""
        h, d = self.first.header, self.desc
        dim = d.dim.encode()
        self.numbers = {v.name: i for i, v in enumerate(h.vars)}
        names = [n for n, _ in h.dims]
        if d.new == (dim in names) or len(set(names)) < len(names) or len(self.numbers) < len(h.vars):
            self.differs(0, f"dimension {d.dim!r}, or names that occur twice")
        self.joins = [v.name in d.vars if d.new else bool(v.dims) and names[v.dims[0]] == dim for v in h.vars]
        if any(not d.new and dim in [names[i] for i in v.dims[1:]] for v in h.vars) or set(d.vars) - set(self.numbers) or not any(self.joins):
            self.differs(0, f"variables that cannot be joined along {d.dim!r}")
        self.starts = [0]
        for i, m in enumerate(d.members):
            n = m.length
            if n is None:
                with self.member(i) as a:
                    n = self.length(a.header)
            self.starts.append(self.starts[-1] + n)
        total = self.starts[-1]
        dims = [(n, k if n != dim or k is None else total) for n, k in h.dims]
        if d.new:
            dims = [(dim, None)] + [(n, h.records if k is None else k) for n, k in dims]
        variables = []
        for v, joins in zip(h.vars, self.joins):
            ids = [i + d.new for i in v.dims]
            if joins:
                v = v._replace(shape=(total, *v.shape[not d.new:]))
                ids = [0] * d.new + ids
            variables.append(v._replace(dims=ids))
        records = total if d.new or dict(h.dims).get(dim, 0) is None else h.records
        self.header = h._replace(dims=dims, vars=variables, records=records)

    def differs(self, i, what):
        raise ArchiveUnsupported(f"{self.args[0]}: member {self.desc.members[i].location} does not fit: {what}")

    def length(self, h):
        """Returns the indices of a member."""
        return 1 if self.desc.new else next(h.records if n is None else n for name, n in h.dims if name == self.desc.dim.encode())

    def open(self, i, first):
        """Opens a member, and compares it with its description and the first one."""
        m = self.desc.members[i]
        a = Archive(located(self.args[0], m.location), self.share)
        try:
            sha256 = m.sha256 or self.identity[1].setdefault(i, a.manifest["sha256"])
            if m.size not in (None, a.manifest["size"]) or sha256 != a.manifest["sha256"]:
                self.differs(i, "it was replaced since it was joined or opened")
            if m.sha256 is None and m.sample is not None and m.sample != sample(a, self.desc.dim.encode(), m.sample):
                self.differs(i, "it was replaced since it was joined")  # a classic file then, and archived since
            if first is not None:
                self.compare(i, first.header, a.header)
            elif not self.desc.new and any(name == self.desc.dim.encode() for name, _ in a.header.dims):
                self.fits(i, a.header)
        except BaseException:
            a.close()
            raise
        return a

    def compare(self, i, want, found):
        def dims(h):
            return {n: h.records if k is None else k for n, k in h.dims if n != self.desc.dim.encode()}
        def described(h, v, leave=()):
            attrs = {n: (t, values.tobytes()) for n, t, values in v.attrs if n not in leave and (not self.desc.first or n in MEANING)}
            return v.type, [h.dims[k][0] for k in v.dims], attrs
        if dims(want) != dims(found) or self.desc.dim.encode() not in [n for n, _ in found.dims] and not self.desc.new:
            self.differs(i, "its dimensions differ")
        theirs = {v.name: v for v in found.vars}
        if theirs.keys() != self.numbers.keys() or len(found.vars) != len(want.vars):
            self.differs(i, "its variables differ")
        for v, joins in zip(want.vars, self.joins):
            w = theirs[v.name]
            if described(want, v) != described(found, w):
                to, units = _times.units_of(want, v), _times.units_of(found, w)
                same = to is not None and units is not None and (to == units or self.desc.convert and joins and to[0] == units[0])
                if not same or described(want, v, TIMES) != described(found, w, TIMES):
                    self.differs(i, f"variable {v.name.decode('utf-8', 'replace')!r} differs")
        self.fits(i, found)

    def fits(self, i, found):
        """Compares the indices of a member with its description."""
        m, n = self.desc.members[i], self.length(found)
        if m.start is not None and m.start + m.length > n or m.start is None and m.length not in (None, n):
            self.differs(i, f"expected {m.length} indices of {self.desc.dim!r}, found {n}")

    @contextlib.contextmanager
    def member(self, i):
        """Lends a member to one reader. Those without a reader stay open, up to a number."""
        if i == 0:
            yield self.first
            return
        with self._lock:
            a = self.idle.pop(i, None)
        a = a or self.open(i, self.first)
        try:
            yield a
        finally:
            with self._lock:
                old = self.idle.pop(i, None)
                self.idle[i] = a
                drop = [old] if old else []
                while len(self.idle) > OPEN:
                    drop.append(self.idle.popitem(last=False)[1])
            for b in drop:
                b.close()

    def dtype(self, number):
        return np.dtype(DTYPES[self.header.vars[number].type]).newbyteorder("=")

    def block_shape(self, number):
        block = self.first.block_shape(number)
        return [1, *block] if block and self.desc.new and self.joins[number] else block

    def read(self, number, key=...):
        """Returns values, for a key as that of Archive.read."""
        if not self.joins[number]:
            return self.first.read(number, key)
        v = self.header.vars[number]
        key = key if isinstance(key, tuple) else (key,)
        for i in [i for i, k in enumerate(key) if k is Ellipsis]:
            key = key[:i] + (slice(None),) * (len(v.shape) - len(key) + 1) + key[i + 1:]
        key += (slice(None),) * (len(v.shape) - len(key))
        k, total = key[0], v.shape[0]
        picks = range(*k.indices(total)) if isinstance(k, slice) else indices(k, total, 0, v)
        parts = []                             # a member, and the picks of it that follow each other
        for x in picks:
            i = bisect.bisect_right(self.starts, x) - 1
            if not parts or parts[-1][0] != i:
                parts.append((i, []))
            parts[-1][1].append(x - self.starts[i] + (self.desc.members[i].start or 0))
        def one(part):
            i, rows = part
            with self.member(i) as a:
                n = number if i == 0 else next(j for j, w in enumerate(a.header.vars) if w.name == v.name)
                if self.desc.new:
                    return np.repeat(self.converted(i, a, n, number, np.asarray(a.read(n, key[1:])))[None], len(rows), 0)
                return self.converted(i, a, n, number, a.read(n, (rows, *key[1:])))
        if len(parts) > 1:
            with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
                out = np.concatenate(list(pool.map(one, parts)))
        elif parts:
            out = one(parts[0])
        else:
            shape = [len(np.zeros(n)[q]) if isinstance(q, slice) else np.size(q) for n, q in zip(v.shape[1:], key[1:]) if np.ndim(q) or isinstance(q, slice)]
            return np.empty([0, *shape], DTYPES[v.type])
        return out if isinstance(k, slice) or np.ndim(k) else out[0]

    def converted(self, i, a, n, number, values):
        """Returns values of a member in the units of the first one, if they are times in others."""
        if not self.desc.convert:
            return values
        v, w = self.first.header.vars[number], a.header.vars[n]
        to, units = _times.units_of(self.first.header, v), _times.units_of(a.header, w)
        if None in (to, units) or to == units:
            return values
        if _times.packed(w):
            self.differs(i, f"variable {v.name.decode('utf-8', 'replace')!r}: expected times that are not packed")
        try:
            return _times.convert(values, w, units, to)
        except ValueError as e:
            self.differs(i, f"variable {v.name.decode('utf-8', 'replace')!r}: {e} is no exact time in the units of the first file")

    def close(self):
        """Closes the archives. Reading opens them again."""
        with self._lock:
            drop = [*self.idle.values(), *([self.first] if self.first else [])]
            self.idle.clear()
        for a in drop:
            a.close()

    def __reduce__(self):
        return type(self), (*self.args, (self.identity[0], dict(self.identity[1])))


MEANING = {b"units", b"calendar", b"_FillValue", b"missing_value", b"scale_factor", b"add_offset", b"_Unsigned"}
TIMES = {b"units", b"calendar"}
