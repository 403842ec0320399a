"""The sources of the bytes of archives: files, open files and URLs."""
import http.client
import io
import os
import urllib.error
import urllib.parse
import urllib.request

from ._errors import ArchiveUnsupported
from ._files import File, pread
from ._shared import Forked
from ._volumes import Member, member


class Object(Forked):
    """An open binary file, which stays open."""

    def __init__(self, file):
        super().__init__()
        self._file = file
        # A forked process has the same position in a file of the system.
        raw = file.raw if type(file) is io.BufferedReader else file
        self._raw = raw if type(raw) is io.FileIO and hasattr(os, "pread") else None
        self.name = getattr(file, "name", None) or repr(file)
        self.size = file.seek(0, os.SEEK_END)

    def read(self, off, n):
        if self._raw is not None:
            return pread(self._raw.fileno(), off, n)
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
    """A file at an http or https URL, read by ranges. It is safe for concurrent use and can be pickled."""

    TIMEOUT, WHOLE, END = 60, 1 << 20, 4096    # seconds; bytes of a file that needs no ranges, and at the end that are read at once
    _end = None                                # the last bytes

    def __init__(self, url, size=None, etag=None):
        self.url, self.name, self.size, self._etag = url, shown(url), size, etag
        self._end = self._get(f"bytes=-{self.END}", self.END)

    def _get(self, what, n):
        """Returns the bytes of a range, of which there are at most n."""
        headers = {"Range": what, "Accept-Encoding": "identity"}
        if self._etag:
            headers["If-Match"] = self._etag
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, headers=headers), timeout=self.TIMEOUT) as r:
                return self._answer(r, n)
        except urllib.error.HTTPError as e:
            kind = {404: FileNotFoundError, 403: PermissionError, 401: PermissionError}.get(e.code, OSError)
            what = "the file has changed since it was opened" if e.code == 412 else f"HTTP status {e.code}, {e.reason}"
            raise kind(f"{self.name}: {what}") from None
        except urllib.error.URLError as e:
            raise OSError(f"{self.name}: {e.reason}") from None
        except (http.client.HTTPException, ConnectionError, TimeoutError) as e:  # such as an answer that is cut off
            raise OSError(f"{self.name}: {e!r}") from None

    def _answer(self, r, n):
        length = r.headers.get("Content-Length") or ""
        if r.status == 206:
            total = r.headers.get("Content-Range", "").rpartition("/")[2]
        elif r.status == 200 and length.isdigit() and int(length) <= self.WHOLE and self._end is None:
            total, n = length, int(length)     # a server without ranges
        else:
            raise OSError(f"{self.name}: the server does not serve ranges, so that the file must be copied first, as "
                          "cdfz.open_dataset(fsspec.open('simplecache::' + url).open()) does")
        if not total.isdigit() or self.size not in (None, int(total)):
            raise OSError(f"{self.name}: the file has changed, or its length is unknown")
        self.size = int(total)
        if not (r.headers.get("ETag") or "W/").startswith("W/"):
            if self._etag not in (None, r.headers["ETag"]):
                raise OSError(f"{self.name}: the file has changed since it was opened")
            self._etag = r.headers["ETag"]
        out = r.read(n + 1)                    # a server may send more than it was asked for
        if len(out) > n:
            raise OSError(f"{self.name}: expected at most {n} bytes, found more")
        if r.length:                           # of its Content-Length: read(n) has no error for that
            raise http.client.IncompleteRead(out, r.length)
        return out

    def read(self, off, n):
        if n == 0:
            return b""
        start = self.size - len(self._end)
        if off >= start:
            return self._end[off - start:off - start + n]
        return self._get(f"bytes={off}-{off + n - 1}", n)

    def close(self):
        pass

    def __reduce__(self):
        return URL, (self.url, self.size, self._etag)


def shown(url):
    """Returns a URL without a password and a query, which may be a signature."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def named(what):
    """Returns the source for a name or a URL that leads into no volume."""
    return URL(what) if isinstance(what, str) and what.lower().startswith(("http://", "https://")) else File(what)


def source(what):
    """Returns the source for a name, a URL, an open file, or bytes."""
    if isinstance(what, (File, Object, URL, Member)):
        return what
    if isinstance(what, (bytes, bytearray, memoryview)):
        return Object(io.BytesIO(what))
    if isinstance(what, (str, os.PathLike)):
        return member(what, named) or named(what)
    if hasattr(what, "read") and hasattr(what, "seek"):
        return Object(what)
    raise ArchiveUnsupported(f"expected a name, a URL or a binary file, found {type(what).__name__}")
