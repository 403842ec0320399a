"""The codec `cdfz.lorenz` for chunks of Zarr format 3, without zarr, which `zarr3` adds."""
import asyncio
import dataclasses
import math

import numpy as np

from . import lorenz
from ._errors import ArchiveUnsupported, ParameterError

NAME = "cdfz.lorenz"
MEMORY = 4 << 30                               # as Archive.MEMORY


def decode_chunk(data, p):
    """Returns the decoded bytes of a chunk of any Zarr format as a new array of uint8."""
    needs = lorenz.memory(data, p)
    if needs > MEMORY:
        raise ArchiveUnsupported(f"{NAME}: expected a chunk that needs at most {MEMORY} bytes of memory, found {needs}")
    return lorenz.decode_block(data, p)


def item_size(dtype):
    """Returns the bytes of an element. From 3.1 on, zarr has types of its own."""
    return (dtype if isinstance(dtype, np.dtype) else dtype.to_native_dtype()).itemsize


@dataclasses.dataclass(frozen=True)
class LorenzChunks:
    """Decodes lorenz blocks (docs/LORENZ.md) that are chunks. It cannot encode; use the program cdfz.

    version, type, order, shape: the parameters of section 1. The codec follows `bytes`, so type and shape are those of
    the chunk, and `order` is its byte order: 0 for big, 1 for little. Wrong parameters raise ParameterError.

    The methods with a leading underscore are those that zarr calls. Objects do not change and may be used by several
    threads.
    """

    version: int = 1
    type: int = 5
    order: int = 0
    shape: tuple = ()
    is_fixed_size = False                      # as zarr asks, of encoded chunks

    def __post_init__(self):
        object.__setattr__(self, "shape", self.parameters.shape)

    @property
    def parameters(self):
        return lorenz.Parameters(self.version, self.type, self.order, self.shape)

    @classmethod
    def from_dict(cls, data):
        """Parses an entry of `codecs` in zarr.json."""
        if not isinstance(data, dict) or data.get("name") != NAME or not isinstance(data.get("configuration", {}), dict):
            raise ParameterError(f"{NAME}: expected a name and a configuration, found {data!r}")
        config = data.get("configuration", {})
        missing = {"type", "shape"} - set(config)
        unknown = set(config) - {f.name for f in dataclasses.fields(cls)}
        if missing or unknown:
            raise ParameterError(f"{NAME}: expected the keys version, type, order and shape, found {', '.join(config) or 'none'}")
        return cls(**config)

    def to_dict(self):
        return {"name": NAME, "configuration": {"version": self.version, "type": self.type, "order": self.order, "shape": list(self.shape)}}

    def check(self, shape, size):
        """Raises ParameterError if the parameters are not those of a chunk of this shape with elements of size bytes."""
        p = self.parameters
        if p.size != size or p.n != math.prod(shape):
            raise ParameterError(f"{NAME}: expected the parameters of a chunk of shape {list(shape)} with elements of {size} bytes, "
                                 f"found type {self.type}, of {p.size} bytes, and shape {list(self.shape)}")

    def decode_chunk(self, data):
        """Returns the decoded bytes of a chunk as a new array of uint8."""
        return decode_chunk(data, self.parameters)

    def validate(self, *, shape, dtype, chunk_grid):
        """Checks the parameters when an array is opened. Other grids than regular ones are checked chunk by chunk."""
        chunk = getattr(chunk_grid, "chunk_shape", None)
        if chunk is not None:
            self.check(chunk, item_size(dtype))

    def compute_encoded_size(self, length, spec):
        raise NotImplementedError(f"{NAME}: the length of encoded chunks depends on their values")

    def _decode_sync(self, chunk, spec):
        self.check(spec.shape, item_size(spec.dtype))
        return spec.prototype.buffer.from_bytes(self.decode_chunk(chunk.as_numpy_array()).data)

    def _encode_sync(self, chunk, spec):
        raise NotImplementedError("the codec lorenz is read-only in Python: use the program cdfz to write archives")

    async def _decode_single(self, chunk, spec):
        return await asyncio.to_thread(self._decode_sync, chunk, spec)

    async def _encode_single(self, chunk, spec):
        return self._encode_sync(chunk, spec)
