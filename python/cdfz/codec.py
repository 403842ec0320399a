"""The codec `lorenz` of numcodecs, for zarr 2, and for arrays of Zarr format 2 in later versions."""
import numpy as np
from numcodecs.abc import Codec
from numcodecs.compat import ensure_contiguous_ndarray, ndarray_copy

from ._chunks import decode_chunk
from .lorenz import Parameters


class Lorenz(Codec):
    """Decodes lorenz blocks (docs/LORENZ.md). It cannot encode; use the program cdfz.

    version, type, order, shape: the parameters of section 1, as cdfz writes them into `.zarray`.
    """

    codec_id = "lorenz"

    def __init__(self, version=1, type=5, order=0, shape=()):
        self._parameters = Parameters(version, type, order, shape)
        self.version, self.type, self.order, self.shape = version, type, order, list(shape)

    def get_config(self):
        return {"id": self.codec_id, "version": self.version, "type": self.type, "order": self.order,
                "shape": self.shape}

    def encode(self, buf):
        raise NotImplementedError("the codec lorenz is read-only in Python: use the program cdfz to write archives")

    def decode(self, buf, out=None):
        a = decode_chunk(ensure_contiguous_ndarray(buf).view(np.uint8), self._parameters)
        return a if out is None else ndarray_copy(a, out)
