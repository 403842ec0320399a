"""The netCDF file in an archive as an open file."""
import hashlib
import io
import warnings

from ._errors import ArchiveDamaged


class ImageFile(io.RawIOBase):
    """The image as a binary file, read-only and seekable. read() returns all requested bytes up to the end. Bytes that are read in
    order, from the first to the last one, have the SHA-256 of the image, or the last of them are an error (FORMAT.md, section 5.2)."""

    def __init__(self, archive, name=None):
        self._archive, self._at = archive, 0
        self._sum, self._summed = hashlib.sha256(), 0  # of the bytes that were read in order
        self.name = name if name is not None else archive.source.name
        self.size = archive.plan["image"]["size"]
        self.mode, self._warned = "rb", False

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
            memoryview(buffer).cast("B")[:n] = self._next(n).data
        return n

    def read(self, n=-1):
        self._check()
        left = max(0, self.size - self._at)
        n = left if n is None or n < 0 else min(n, left)
        return self._next(n).tobytes() if n else b""

    def _next(self, n):
        """Returns the next bytes, and checks all of them with the last ones."""
        out = self._archive.image(self._at, n)
        if self._at == 0:
            self._sum, self._summed = hashlib.sha256(), 0
        if self._at == self._summed:
            self._sum.update(out)
            self._summed += n
            if self._summed == self.size:
                self._check_sum()
        self._at += n
        return out

    def _check_sum(self):
        man = self._archive.manifest
        if self._sum.hexdigest() != man["sha256"]:
            raise ArchiveDamaged(f"{self.name}: the netCDF file has another SHA-256 than it had when it was archived")
        if "loss" in man and not self._warned:
            self._warned = True
            variables, numbers = self._archive.header.vars, [v["var"] for v in man["loss"]["vars"]]
            names = ", ".join(repr(variables[i].name.decode("utf-8", "replace")) for i in numbers if i < len(variables))
            warnings.warn(f"{self.name}: values of {names} were rounded before the file was archived", RuntimeWarning, stacklevel=4)

    def readall(self):
        return self.read()

    def _check(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def close(self):
        if not self.closed:
            self._archive.close()
        super().close()
