"""Opens many files with the package cdfz, and the originals with netCDF4, each in a process of its own.

    many.py FOLDER [COUNT [MEANS]]

FOLDER has one or more pairs x.nc and x.nc.cdfz. COUNT copies (1500) of them are opened through xarray by open_mfdataset's
steps: all are opened and stay open. Then the first MEANS (60) are averaged. A line for each kind has the seconds to open all
files, the descriptors (/proc/self/fd) and the memory (RSS, MB) after that, the seconds of the means and the memory then.
"""
import glob
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings


def rss():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def measure(kind, names, means):
    import xarray

    if kind == "cdfz":
        from cdfz.xarray_backend import CdfzBackend as engine
    else:
        engine = "netcdf4"
    warnings.simplefilter("ignore", xarray.SerializationWarning)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    start = time.perf_counter()
    sets = [xarray.open_dataset(n, engine=engine, decode_times=False) for n in names]
    opened = time.perf_counter() - start
    descriptors, before = len(os.listdir("/proc/self/fd")), rss()
    start = time.process_time()
    total = 0.0
    for d in sets[:means]:
        for v in d.data_vars.values():
            if v.dtype.kind in "iuf":
                total += float(v.sum())
    seconds = time.process_time() - start
    print(f"{kind}: {len(sets)} files opened in {opened:.2f} s, {descriptors} descriptors, {before:.0f} MB; means of "
          f"{min(means, len(sets))} files {seconds:.2f} s of processor time, {rss():.0f} MB; total {total:.9g}, load {os.getloadavg()[0]:.1f}")


def main(folder, count=1500, means=60):
    archives = sorted(glob.glob(os.path.join(folder, "*.nc.cdfz")))
    if not archives:
        sys.exit(f"{folder}: expected files x.nc and x.nc.cdfz")
    with tempfile.TemporaryDirectory(dir=folder) as tmp:
        for ending in (".nc.cdfz", ".nc"):
            for i, a in zip(range(count), itertools.cycle(archives)):
                os.link(a[:-len(".nc.cdfz")] + ending, os.path.join(tmp, f"{i:06d}{ending}"))
        for kind, ending in (("cdfz", ".nc.cdfz"), ("netCDF4", ".nc")):
            subprocess.run([sys.executable, __file__, "--measure", kind, tmp, ending, str(means)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        _, _, kind, tmp, ending, means = sys.argv
        measure(kind, sorted(glob.glob(os.path.join(tmp, "*" + ending))), int(means))
    elif not 2 <= len(sys.argv) <= 4:
        sys.exit("usage: many.py FOLDER [COUNT [MEANS]]")
    else:
        main(sys.argv[1], *(int(x) for x in sys.argv[2:]))
