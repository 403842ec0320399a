"""The netCDF file in an archive as an open file."""
import io


class ImageFile(io.RawIOBase):
    """The image as a binary file, read-only and seekable. read() returns all requested bytes up to the end."""

    def __init__(self, archive, name=None):
        self._archive, self._at = archive, 0
        self.name = name if name is not None else archive.source.name
        self.size = archive.plan["image"]["size"]
        self.mode = "rb"

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self._at

    def seek(self, offset, whence=io.SEEK_SET):
        at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence] + offset
        if at < 0:
            raise ValueError(f"negative offset {at}")
        self._at = at
        return at

    def readinto(self, buffer):
        self._check()
        n = min(len(memoryview(buffer).cast("B")), max(0, self.size - self._at))
        if n:
            memoryview(buffer).cast("B")[:n] = self._archive.image(self._at, n).data
        self._at += n
        return n

    def read(self, n=-1):
        self._check()
        left = max(0, self.size - self._at)
        n = left if n is None or n < 0 else min(n, left)
        out = self._archive.image(self._at, n).tobytes() if n else b""
        self._at += n
        return out

    def readall(self):
        return self.read()

    def _check(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def close(self):
        if not self.closed:
            self._archive.close()
        super().close()
