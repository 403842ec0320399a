"""Reads with zarr, like the other readers: see children.go.

    zarr_read.py make IN.nc OUT SPEC…   SPEC: VAR=CHUNK,CHUNK,…
    zarr_read.py serve OUT              answers measurement requests
    zarr_read.py swap BYTES             ns to copy BYTES bytes with byteswap()
"""
import sys
import time


def make(source, out, specs):
    import netCDF4
    import numcodecs
    import zarr

    nc = netCDF4.Dataset(source)
    nc.set_auto_maskandscale(False)
    root = zarr.open_group(out, mode="w")
    for spec in specs:
        name, chunks = spec.split("=")
        chunks = tuple(int(n) for n in chunks.split(","))
        v = nc[name]
        dtype = v.dtype.newbyteorder("<")
        z = root.create_dataset(name, shape=v.shape, chunks=chunks, dtype=dtype,
                                compressor=numcodecs.Blosc("zstd", 5, numcodecs.Blosc.SHUFFLE))
        for i in range(0, v.shape[0], chunks[0]):
            z[i:i + chunks[0]] = v[i:i + chunks[0]]


def serve(store):
    import numcodecs.blosc
    import numpy
    import zarr

    numcodecs.blosc.set_nthreads(1)
    clock, cpu = time.perf_counter_ns, time.process_time_ns
    while line := sys.stdin.readline():
        sel = []
        for _ in range(int(line)):
            f = sys.stdin.readline().split()
            r = int(f[1])
            start, count = [int(x) for x in f[2:2 + r]], [int(x) for x in f[2 + r:2 + 2 * r]]
            sel.append((f[0], tuple(slice(a, a + n) for a, n in zip(start, count))))
        c, t = cpu(), clock()
        root = zarr.open_group(store, mode="r")
        opened, opened_cpu = clock() - t, cpu() - c
        read = read_cpu = total = 0
        arrays = {}
        for name, index in sel:
            c, t = cpu(), clock()
            if name not in arrays:
                arrays[name] = root[name]
            part = arrays[name][index]
            read, read_cpu = read + clock() - t, read_cpu + cpu() - c
            b = numpy.frombuffer(numpy.ascontiguousarray(part).tobytes(), "u1")
            w = numpy.arange(1, b.size + 1, dtype="u8")
            w *= b
            total += int(w.sum(dtype="u8"))
        print(opened, read, opened_cpu, read_cpu, total % 2**64, flush=True)


def swap(size):
    import numpy

    a = numpy.full(size // 4, 1.5, ">f4")
    best = None
    for _ in range(40):
        t = time.perf_counter_ns()
        for _ in range(100):
            a.byteswap()
        ns = (time.perf_counter_ns() - t) / 100
        best = ns if best is None else min(best, ns)
    print("%.1f" % best)


if sys.argv[1] == "make":
    make(sys.argv[2], sys.argv[3], sys.argv[4:])
elif sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    swap(int(sys.argv[2]))
