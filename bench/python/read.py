"""Times reading a variable with the package cdfz, and with netCDF4 from the original and from other files.

    read.py VARIABLE ARCHIVE FILE...

The variable has its longest dimension first, and two or more. Each read is of a file just opened, through xarray, without
decoding of times and fill values. The files take turns. A line for each file has the least time of nine: opening (ms), and
then without opening the whole variable (MB/s), 180 values at one place (ms), the fourth map (ms) and the mean by dask (s).
A map has the last two dimensions. All files must have the same values.
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
    def opened(name, **options):
        engine = CdfzBackend if name.endswith(".cdfz") else "netcdf4"
        return xarray.open_dataset(name, engine=engine, decode_times=False, mask_and_scale=False, **options)[variable]

    shape = opened(names[0]).shape
    place = tuple(n // 3 for n in shape[1:])
    reads = {"whole": lambda v: v.values, "series": lambda v: v[(slice(180),) + place].values,
             "map": lambda v: v[(min(3, shape[0] - 1),) + place[:-2]].values,
             "mean": lambda v: v.astype("float64").mean().compute().values}
    want = {kind: read(opened(names[0])) for kind, read in reads.items()}
    least = {}
    for _ in range(ROUNDS):
        for name in names:
            for kind, read in reads.items():
                begin = time.perf_counter()
                v = opened(name, chunks={}) if kind == "mean" else opened(name)
                start = time.perf_counter()
                got = read(v)
                end = time.perf_counter()
                for k, seconds in ((kind, end - start), ("open", start - begin)):
                    if k != "open" or kind != "mean":
                        least[name, k] = min(seconds, least.get((name, k), seconds))
                same = np.allclose if kind == "mean" else np.array_equal  # sums of blocks in another order
                if not same(want[kind], got, equal_nan=True):
                    sys.exit(f"{name}: other values than {names[0]}")
    size = want["whole"].nbytes
    print(f"{variable} {shape} {want['whole'].dtype}, {size} bytes; decoder: {'C' if _native.LIBRARY else 'Python'}; load {os.getloadavg()[0]:.2f}")
    for name in names:
        t = {kind: least[name, kind] for kind in ["open", *reads]}
        print(f"{name}: {os.path.getsize(name)} bytes, open {1e3 * t['open']:.1f} ms, whole {size / t['whole'] / 1e6:.0f} MB/s, "
              f"series {1e3 * t['series']:.1f} ms, map {1e3 * t['map']:.2f} ms, mean {t['mean']:.2f} s")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: read.py VARIABLE ARCHIVE FILE...")
    main(sys.argv[1], sys.argv[2:])
