"""Caches of decoded blocks: one for all archives of the process, and one for each archive that asks for its own."""
import collections
import os

from ._shared import Shared

DEFAULT = 64 << 20
VARIABLE = "CDFZ_CACHE"                        # of the environment: bytes


def default():
    """Returns the bytes that the environment asks for, or the default."""
    text = os.environ.get(VARIABLE)
    if not text:
        return DEFAULT
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(f"{VARIABLE}: expected a number of bytes, found {text!r}")
    return int(text)


class Cache(Shared):
    """The blocks that were read last. It is safe for concurrent use."""

    def __init__(self, limit):
        super().__init__()
        self.limit = limit
        self.clear()

    def clear(self):
        self.used, self.blocks, self.numbers = 0, collections.OrderedDict(), {}

    def after_fork(self):
        super().after_fork()
        self.clear()                           # what another thread did is half done

    def get(self, owner, number):
        with self:
            key = owner, number
            if key in self.blocks:
                self.blocks.move_to_end(key)
            return self.blocks.get(key)

    def put(self, owner, number, block):
        with self:
            key = owner, number
            if len(block) <= self.limit and key not in self.blocks:
                self.blocks[key] = block
                self.numbers.setdefault(owner, set()).add(number)
                self.used += len(block)
                self._shrink()

    def resize(self, limit):
        with self:
            self.limit = limit
            self._shrink()

    def _shrink(self):
        while self.used > self.limit:
            owner, number = next(iter(self.blocks))
            self._remove(owner, number)
            self.numbers[owner].remove(number)

    def _remove(self, owner, number):
        self.used -= len(self.blocks.pop((owner, number)))

    def _forget(self, owner):
        for number in self.numbers.pop(owner, ()):
            self._remove(owner, number)


shared = Cache(default())


def set_cache(bytes):
    """Limits the memory for decoded blocks of all archives in this process: 64 MiB, unless the environment variable
    CDFZ_CACHE has another number of bytes. 0 keeps none."""
    if isinstance(bytes, bool) or not isinstance(bytes, int) or bytes < 0:
        raise ValueError(f"expected a number of bytes, found {bytes!r}")
    shared.resize(bytes)
