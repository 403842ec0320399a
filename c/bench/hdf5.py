"""Times a full read of a variable through h5py, which every file must have.

    hdf5.py VARIABLE FILE...

Each read opens the file anew, because HDF5 keeps decoded chunks. The files take turns. A line for
each file has its bytes, the filters of the variable, and the least and the median of the processor
time of nine reads in ms. All files must have the same values.
"""

import os
import statistics
import sys
import time

import h5py
import numpy

ROUNDS = 9


def read(name, variable):
    start = time.process_time()
    with h5py.File(name, "r") as f:
        values = f[variable][...]
    return time.process_time() - start, values


def filters(name, variable):
    with h5py.File(name, "r") as f:
        p = f[variable].id.get_create_plist()
        return "|".join(str(p.get_filter(i)[0]) for i in range(p.get_nfilters())) or "none"


def main(variable, names):
    first = read(names[0], variable)[1]
    for name in names:  # also warms the cache of the system
        values = read(name, variable)[1]
        if not numpy.array_equal(first.astype(first.dtype.newbyteorder("=")), values.astype(values.dtype.newbyteorder("=")), equal_nan=first.dtype.kind == "f"):
            sys.exit(f"{name}: other values than {names[0]}")
    times = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            times[name].append(1000 * read(name, variable)[0])
    print(f"{variable}: {first.nbytes} bytes of values")
    for name in names:
        t = times[name]
        print(f"{name}: {os.path.getsize(name)} bytes, filters {filters(name, variable)}, {min(t):.1f} {statistics.median(t):.1f} ms")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: hdf5.py VARIABLE FILE...")
    main(sys.argv[1], sys.argv[2:])
