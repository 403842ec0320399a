"""The codec `cdfz.lorenz` of zarr-python 3, for arrays of Zarr format 3. codec has that for format 2."""
from zarr.abc.codec import BytesBytesCodec

from ._chunks import NAME, LorenzChunks

__all__ = ["NAME", "Lorenz"]


class Lorenz(LorenzChunks, BytesBytesCodec):
    __doc__ = LorenzChunks.__doc__
