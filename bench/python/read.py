"""Times reading a variable with the package cdfz, and with netCDF4 from the original and from other files.

    read.py VARIABLE ARCHIVE FILE...

The variable has its longest dimension first, and two or more. Each read opens the file anew, through xarray, without decoding
of times and fill values. The files take turns. A line for each file has the least time of nine reads: opening (ms), the
whole variable (MB/s), a series at one place (ms) and the fourth map (ms). All files must have the same values.
"""
import os
import sys
import time

import numpy as np
import xarray

from cdfz import _native
from cdfz.xarray_backend import CdfzBackend

ROUNDS = 9


def main(variable, names):
    def opened(name):
        engine = CdfzBackend if name.endswith(".cdfz") else "netcdf4"
        return xarray.open_dataset(name, engine=engine, decode_times=False, mask_and_scale=False)[variable]

    shape = opened(names[0]).shape
    place = tuple(n // 3 for n in shape[1:])
    reads = {"open": lambda v: v, "whole": lambda v: v.values, "series": lambda v: v[(slice(None),) + place].values,
             "map": lambda v: v[min(3, shape[0] - 1)].values}
    want = {kind: read(opened(names[0])) for kind, read in reads.items()}
    least = {}
    for _ in range(ROUNDS):
        for name in names:
            for kind, read in reads.items():
                start = time.perf_counter()
                got = read(opened(name))
                seconds = time.perf_counter() - start
                least[name, kind] = min(seconds, least.get((name, kind), seconds))
                if kind != "open" and not np.array_equal(want[kind], got, equal_nan=True):
                    sys.exit(f"{name}: other values than {names[0]}")
    size = want["whole"].nbytes
    print(f"{variable} {shape} {want['whole'].dtype}, {size} bytes; decoder: {'C' if _native.LIBRARY else 'Python'}; load {os.getloadavg()[0]:.2f}")
    for name in names:
        t = {kind: least[name, kind] for kind in reads}
        print(f"{name}: {os.path.getsize(name)} bytes, open {1e3 * t['open']:.1f} ms, whole {size / t['whole'] / 1e6:.0f} MB/s, "
              f"series {1e3 * t['series']:.1f} ms, map {1e3 * t['map']:.2f} ms")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: read.py VARIABLE ARCHIVE FILE...")
    main(sys.argv[1], sys.argv[2:])
