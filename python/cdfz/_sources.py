"""The sources of the bytes of archives: files, open files and URLs."""
import errno
import os
import threading
import urllib.request

from ._errors import ArchiveUnsupported


class File:
    """A file by its name. It is safe for concurrent use."""

    _fd = -1  # for __del__, if the file cannot be opened

    def __init__(self, name):
        self.name = os.path.abspath(os.fspath(name))
        if os.path.isdir(self.name):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.name)
        self._fd = os.open(self.name, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self.size = os.fstat(self._fd).st_size

    def read(self, off, n):
        out = os.pread(self._fd, n, off)
        while len(out) < n:
            more = os.pread(self._fd, n - len(out), off + len(out))
            if not more:
                break
            out += more
        return out

    def close(self):
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __reduce__(self):
        return File, (self.name,)

    __del__ = close


class Object:
    """An open binary file, which stays open."""

    def __init__(self, file):
        self._file, self._lock = file, threading.Lock()
        self.name = getattr(file, "name", None) or repr(file)
        self.size = file.seek(0, os.SEEK_END)

    def read(self, off, n):
        with self._lock:
            self._file.seek(off)
            out = self._file.read(n)
            while len(out) < n:
                more = self._file.read(n - len(out))
                if not more:
                    break
                out += more
            return out

    def close(self):
        pass

    def __reduce__(self):
        return Object, (self._file,)


class URL:
    """A file at an http or https URL, read by ranges. It is safe for concurrent use."""

    TIMEOUT = 60

    def __init__(self, url):
        self.name, self.size, self._etag = url, None, None
        self._end = self._get("bytes=-4096")

    def _get(self, what):
        headers = {"Range": what, "Accept-Encoding": "identity"}
        if self._etag:
            headers["If-Match"] = self._etag
        with urllib.request.urlopen(urllib.request.Request(self.name, headers=headers), timeout=self.TIMEOUT) as r:
            if r.status != 206:
                raise OSError(f"{self.name}: the server does not serve ranges")
            total = r.headers.get("Content-Range", "").rpartition("/")[2]
            if not total.isdigit() or self.size not in (None, int(total)):
                raise OSError(f"{self.name}: the file has changed, or its length is unknown")
            self.size = int(total)
            if not (r.headers.get("ETag") or "W/").startswith("W/"):
                self._etag = r.headers["ETag"]
            return r.read()

    def read(self, off, n):
        if n == 0:
            return b""
        start = self.size - len(self._end)
        if off >= start:
            return self._end[off - start:off - start + n]
        out = self._get(f"bytes={off}-{off + n - 1}")
        if len(out) > n:
            raise OSError(f"{self.name}: expected {n} bytes, found {len(out)}")
        return out

    def close(self):
        pass

    def __reduce__(self):
        return URL, (self.name,)


def source(what):
    """Returns the source for a name, a URL, an open file, or bytes."""
    if isinstance(what, (File, Object, URL)):
        return what
    if isinstance(what, (bytes, bytearray, memoryview)):
        import io
        return Object(io.BytesIO(what))
    if isinstance(what, str) and what.lower().startswith(("http://", "https://")):
        return URL(what)
    if isinstance(what, (str, os.PathLike)):
        return File(what)
    if hasattr(what, "read") and hasattr(what, "seek"):
        return Object(what)
    raise ArchiveUnsupported(f"expected a name, a URL or a binary file, found {type(what).__name__}")
