"""Converts like a zarr user: classic netCDF to a zip of Zarr v2 arrays (Blosc zstd 5 + shuffle, one record
per chunk), and back. Usage: zarr_blosc.py compress|restore IN OUT"""

import sys

import netCDF4
import numpy as np
import zarr
from numcodecs import Blosc


def compress(src, dst):
    codec = Blosc(cname="zstd", clevel=5, shuffle=Blosc.SHUFFLE)
    with netCDF4.Dataset(src) as nc, zarr.ZipStore(dst, mode="w", compression=0) as store:
        nc.set_auto_maskandscale(False)
        root = zarr.group(store)
        dims = [[n, None if d.isunlimited() else len(d)] for n, d in nc.dimensions.items()]
        root.attrs.put({"attrs": attributes(nc), "format": nc.data_model, "dims": dims, "vars": list(nc.variables)})
        for name, var in nc.variables.items():
            record = bool(var.dimensions) and nc.dimensions[var.dimensions[0]].isunlimited() and var.ndim > 1
            chunks = (1,) + var.shape[1:] if record else var.shape
            out = root.create_dataset(name, shape=var.shape, chunks=chunks or True, dtype=var.dtype.newbyteorder(">"),
                                      compressor=codec, fill_value=None)
            out.attrs.put({"attrs": attributes(var), "dims": list(var.dimensions)})
            for i in range(var.shape[0]) if record else [...]:
                out[i] = var[i]


def attributes(obj):
    return {k: plain(obj.getncattr(k)) for k in obj.ncattrs()}


def plain(v):
    return v if isinstance(v, str) else [v.dtype.str, v.tolist()]


def restore(src, dst):
    with zarr.ZipStore(src, mode="r") as store:
        root = zarr.group(store)
        with netCDF4.Dataset(dst, "w", format=root.attrs["format"]) as nc:
            nc.set_fill_off()
            for name, n in root.attrs["dims"]:
                nc.createDimension(name, n)
            put(nc, root.attrs["attrs"])
            for name in root.attrs["vars"]:
                arr = root[name]
                var = nc.createVariable(name, arr.dtype.newbyteorder("="), arr.attrs["dims"], fill_value=fill(arr))
                put(var, {k: v for k, v in arr.attrs["attrs"].items() if k != "_FillValue"})
            nc.set_auto_maskandscale(False)
            for name in root.attrs["vars"]:
                arr = root[name]
                for i in range(arr.shape[0]) if arr.ndim > 1 and arr.chunks[0] == 1 else [...]:
                    nc[name][i] = arr[i]


def fill(arr):
    v = arr.attrs["attrs"].get("_FillValue")
    return None if v is None else v[1]


def put(obj, attrs):
    for k, v in attrs.items():
        obj.setncattr(k, v if isinstance(v, str) else np.array(v[1], dtype=v[0]))


if __name__ == "__main__":
    {"compress": compress, "restore": restore}[sys.argv[1]](sys.argv[2], sys.argv[3])
