"""The engine `cdfz` of xarray: xarray.open_dataset("x.nc.cdfz"), and of joined archives, "x.ncml".
Installing the package registers it."""
import os

import numpy as np
from xarray import Variable
from xarray.backends.common import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.core import indexing
from xarray.core.options import OPTIONS
from xarray.core.utils import Frozen, FrozenDict, close_on_error

try:
    from xarray.backends.store import StoreBackendEntrypoint
except ImportError:  # pragma: no cover
    from xarray.backends import StoreBackendEntrypoint

from . import _native
from ._archive import Archive
from ._files import descriptors
from ._joined import Joined


def attribute(name, kind, values):
    """Returns an attribute as netCDF4 does."""
    if kind == "char":
        text = values.tobytes()
        return text if name == "_FillValue" else text.decode("utf-8", "replace").replace("\0", "")
    values = values.astype(values.dtype.newbyteorder("="))
    return values[0] if len(values) == 1 else values


def text(name):
    """Returns a name as the netCDF library does: it ends before the first zero byte."""
    return name.partition(b"\0")[0].decode("utf-8", "replace")


def attributes(attrs):
    return {text(k): attribute(text(k), t, v) for k, t, v in attrs}


class Array(BackendArray):
    """A variable whose values are read when they are needed. It can be pickled."""

    def __init__(self, archive, number):
        v = archive.header.vars[number]
        values = archive.dtype(number)
        self.archive, self.number, self.shape, self.dtype = archive, number, tuple(v.shape), values

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self.get)

    def get(self, key):
        return np.asarray(self.archive.read(self.number, key)).astype(self.dtype, copy=False)


class Store(AbstractDataStore):
    """An archive as xarray's decoders read it."""

    def __init__(self, archive):
        self.archive = archive
        self.names = [text(n) for n, _ in archive.header.dims]

    def get_variables(self):
        out = {}
        for number, v in enumerate(self.archive.header.vars):
            name = text(v.name)
            if name not in out:
                out[name] = self.variable(number, v)
        return FrozenDict(out)

    def variable(self, number, v):
        dims = [self.names[i] for i in v.dims]
        encoding = {"source": self.archive.source.name, "original_shape": tuple(v.shape), "dtype": self.archive.dtype(number)}
        block = self.archive.block_shape(number)
        if block and len(set(dims)) == len(dims):
            encoding["preferred_chunks"] = dict(zip(dims, block))
        attrs = attributes(v.attrs)
        if encoding["dtype"].kind == "S" and "_FillValue" in attrs:
            attrs["_FillValue"] = np.bytes_(attrs["_FillValue"])  # as xarray has it, without zero bytes at the end
        return Variable(dims, indexing.LazilyIndexedArray(Array(self.archive, number)), attrs, encoding)

    def get_attrs(self):
        return Frozen(attributes(self.archive.header.attrs))

    def get_dimensions(self):
        h = self.archive.header
        return Frozen({name: h.records if n is None else n for name, (_, n) in zip(self.names, h.dims)})

    def get_encoding(self):
        return {"unlimited_dims": {name for name, (_, n) in zip(self.names, self.archive.header.dims) if n is None}}

    def close(self):
        self.archive.close()


def named(what, *endings):
    """Reports whether the name of a file or its URL ends so."""
    return isinstance(what, (str, os.PathLike)) and os.fspath(what).partition("?")[0].endswith(endings)


class CdfzBackend(BackendEntrypoint):
    description = ("Open cdfz archives (.nc.cdfz) and joined ones (.ncml): files, http and https URLs, and binary files; "
                   f"decoder: {_native.describe()}")
    url = "https://github.com/cdfz-format/cdfz"
    available = True
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "mask_and_scale", "decode_times", "concat_characters",
                               "decode_coords", "use_cftime", "decode_timedelta", "block_cache")

    def guess_can_open(self, filename_or_obj):
        if isinstance(filename_or_obj, (str, os.PathLike)):
            return named(filename_or_obj, ".cdfz", ".ncml")
        try:
            at = filename_or_obj.tell()
            head = filename_or_obj.read(45)
            filename_or_obj.seek(at)
        except (AttributeError, OSError, TypeError, ValueError):
            return False
        return head[:4] == b"PK\3\4" and head[30:45] == b".cdfz/plan.json"

    def open_dataset(self, filename_or_obj, *, mask_and_scale=True, decode_times=True, concat_characters=True, decode_coords=True,
                     drop_variables=None, use_cftime=None, decode_timedelta=None, block_cache=None):
        """block_cache: bytes of decoded blocks that this file keeps in memory. All files share a cache if it is None."""
        if isinstance(filename_or_obj, str) and filename_or_obj.startswith("~"):
            filename_or_obj = os.path.expanduser(filename_or_obj)
        descriptors.limit = OPTIONS["file_cache_maxsize"]
        store = Store((Joined if named(filename_or_obj, ".ncml") else Archive)(filename_or_obj, block_cache))
        with close_on_error(store):
            return StoreBackendEntrypoint().open_dataset(
                store, mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
                decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime, decode_timedelta=decode_timedelta)
