"""Open files, of which the process keeps a limited number, as xarray does for netCDF4."""
import collections
import contextlib
import errno
import os

from ._shared import Shared

LIMIT = 128                                    # descriptors, unless xarray has another file_cache_maxsize
TAIL = 128                                     # bytes at the end of an archive or a trailer that depend on all others
ZEROS = 64 << 10                               # a volume has its trailer before zeros


class Descriptors(Shared):
    """Descriptors of the files that were read last. Each may belong to several objects."""

    def __init__(self, limit):
        super().__init__()
        self.limit, self.entries, self.owners = limit, collections.OrderedDict(), collections.Counter()

    def after_fork(self):
        super().after_fork()
        for entry in self.entries.values():
            entry[1] = 0                       # the other threads are not there

    @contextlib.contextmanager
    def lend(self, key, opener):
        """Lends the descriptor of a file to one reader."""
        with self:
            entry = self.entries.get(key)
            if entry:
                self.entries.move_to_end(key)
                entry[1] += 1
        if not entry:
            entry = self.add(key, self.opened(opener))
        try:
            yield entry[0]
        finally:
            self.back(key, entry)

    def opened(self, opener):
        """Opens a file, with fewer others open if the process or the system has too many."""
        try:
            return opener()
        except OSError as e:
            if e.errno not in (errno.EMFILE, errno.ENFILE):
                raise
        with self:
            self._shrink(0)
        return opener()

    def add(self, key, fd):
        """Keeps a descriptor, which has one reader. If another thread was faster, its descriptor is taken."""
        with self:
            entry = self.entries.setdefault(key, [fd, 0])
            entry[1] += 1
            if entry[0] != fd:
                self.close.append(fd)
        return entry

    def back(self, key, entry):
        """Ends a reader."""
        with self:
            entry[1] -= 1
            if entry[1] == 0 and self.entries.get(key) is not entry:
                self.close.append(entry[0])
            self._shrink(self.limit)

    def _shrink(self, limit):
        for key in [k for k, e in self.entries.items() if e[1] == 0][:max(0, len(self.entries) - limit)]:
            self.close.append(self.entries.pop(key)[0])

    def drop(self, key):
        """Closes the descriptor of a file when its readers have ended. The file can be opened again."""
        with self:
            self._drop(key)

    def _drop(self, key):
        entry = self.entries.pop(key, None)
        if entry and entry[1] == 0:
            self.close.append(entry[0])

    def _forget(self, key):
        self.owners[key] -= 1
        if not self.owners[key]:
            del self.owners[key]
            self._drop(key)


descriptors = Descriptors(LIMIT)


def pread(fd, off, n):
    """Returns n bytes, or those up to the end of the file."""
    out = os.pread(fd, n, off)
    while len(out) < n:
        more = os.pread(fd, n - len(out), off + len(out))
        if not more:
            break
        out += more
    return out


class File:
    """A file by its name, which is opened again when it is needed. It is safe for concurrent use and can be pickled.

    It knows its file by the length and the last bytes before any zeros. In an archive, these have checksums of all the others, in a
    volume of its index. If the name leads to another file when it is opened again, that is an error.
    """

    key = None                                 # for __del__, if the file cannot be opened

    def __init__(self, name, identity=None):
        self.name, self.identity = os.path.abspath(os.fspath(name)), identity
        fd = descriptors.opened(self._open)
        self.size, key = self.identity[0], (self.name, self.identity)
        entry = descriptors.add(key, fd)
        with descriptors:
            descriptors.owners[key] += 1
        self.key = key
        descriptors.back(key, entry)

    def _open(self):
        if os.path.isdir(self.name):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.name)
        fd = os.open(self.name, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            size = os.fstat(fd).st_size
            last = os.pread(fd, TAIL, max(0, size - TAIL))
            if last and last[-1] == 0:
                last = os.pread(fd, ZEROS, max(0, size - ZEROS)).rstrip(b"\0")[-TAIL:]
            found = size, last
            if self.identity not in (None, found):
                raise OSError(errno.ESTALE, "the file was replaced since it was opened", self.name)
            self.identity = found
        except BaseException:
            os.close(fd)
            raise
        return fd

    def read(self, off, n):
        with descriptors.lend(self.key, self._open) as fd:
            return pread(fd, off, n)

    def close(self):
        """Closes the descriptor, also for other objects of the same file. Reading opens the file again."""
        descriptors.drop(self.key)

    def __reduce__(self):
        return File, (self.name, self.identity)

    def __del__(self):
        if self.key is not None:
            descriptors.forget(self.key)
