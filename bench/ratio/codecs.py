"""Codecs without a program, and the sizes of variables in files written by nccopy.

codecs.py versions                            the version of each library
codecs.py values FILE DTYPE SHAPE CODEC...    stored bytes of FILE's values by each codec
codecs.py hdf5 FILE                           stored bytes of each variable of a netCDF-4 file

Every line is a name, a tab and the answer. A codec that does not accept the values has no line.
"""

import os
import subprocess
import sys
import tempfile
import zlib

import numpy as np


def blosc(shuffle, level):
    def size(v):
        from numcodecs import Blosc

        return len(Blosc("zstd", level, getattr(Blosc, shuffle.upper())).encode(v))

    return size


def shuffled(v):
    """The values after HDF5's shuffle filter."""
    return v.view(np.uint8).reshape(-1, v.itemsize).T.tobytes()


def deflate(level):
    return lambda v: len(zlib.compress(shuffled(v), level))


def shuffle_zstd(v):
    from numcodecs import Zstd

    return len(Zstd(19).encode(shuffled(v)))


def native(v, dims):
    """The values in this machine's byte order; leading dimensions are joined until few enough remain."""
    v = v.astype(v.dtype.newbyteorder("="))
    return v.reshape((-1,) + v.shape[v.ndim - dims + 1 :]) if v.ndim > dims else v


def fpzip(v):
    if v.dtype.kind != "f":
        return None
    v = native(v, 3)
    with tempfile.TemporaryDirectory() as d:
        raw, packed = os.path.join(d, "raw"), os.path.join(d, "packed")
        v.tofile(raw)
        kind = "float" if v.itemsize == 4 else "double"
        shape = [str(n) for n in reversed(v.shape)]
        subprocess.run(["fpzip", "-q", "-i", raw, "-o", packed, "-t", kind, "-%d" % v.ndim, *shape], check=True)
        return os.path.getsize(packed)


def zfp(v):
    import zfpy

    if v.dtype.kind not in "fi" or v.itemsize < 4:
        return None
    return len(zfpy.compress_numpy(native(v, 4)))


CODECS = {
    "shuffle-deflate1": deflate(1),
    "shuffle-deflate5": deflate(5),
    "shuffle-deflate9": deflate(9),
    "shuffle-zstd19": shuffle_zstd,
    "blosc-shuffle-zstd5": blosc("shuffle", 5),
    "blosc-shuffle-zstd9": blosc("shuffle", 9),
    "blosc-bitshuffle-zstd5": blosc("bitshuffle", 5),
    "blosc-bitshuffle-zstd9": blosc("bitshuffle", 9),
    "fpzip": fpzip,
    "zfp": zfp,
}


def values(name, dtype, shape, *codecs):
    v = np.fromfile(name, dtype).reshape([int(n) for n in shape.split(",")])
    for c in codecs:
        size = CODECS[c](v)
        if size is not None:
            print(c, size, sep="\t", flush=True)


def hdf5(name):
    import h5py

    with h5py.File(name) as f:
        for var, d in f.items():
            if isinstance(d, h5py.Dataset):
                print(var.removeprefix("_nc4_non_coord_"), d.id.get_storage_size(), sep="\t")


def versions():
    print("shuffle", "zlib " + zlib.ZLIB_RUNTIME_VERSION, sep="\t")
    try:
        import numcodecs
        import numcodecs.blosc

        print("blosc", "Blosc %s of numcodecs %s" % (numcodecs.blosc.VERSION_STRING, numcodecs.__version__), sep="\t")
        print("shuffle-zstd19", "zstd of numcodecs " + numcodecs.__version__, sep="\t")
    except ImportError:
        pass
    try:
        out = subprocess.run(["fpzip"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        print("fpzip", (out.stderr + out.stdout).split(" (")[0], sep="\t")
    except FileNotFoundError:
        pass
    try:
        import zfpy

        print("zfp", "zfp codec %d" % zfpy.compress_numpy(np.zeros(1))[3], sep="\t")
    except ImportError:
        pass


if __name__ == "__main__":
    {"values": values, "hdf5": hdf5, "versions": versions}[sys.argv[1]](*sys.argv[2:])
