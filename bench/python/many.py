"""Opens many files in all ways at once, and the originals with netCDF4 and netCDF-C.

    many.py [--before CHECKOUT] [--only PART] FOLDER [COUNT [MEANS]]

FOLDER has one or more pairs x.nc and x.nc.cdfz, and is where temporary files are made: COUNT (1500) copies of the pairs of
up to 1 MB, and MEANS (60) of the largest. CHECKOUT is an older checkout of cdfz that is measured beside this one, and has made the archives, since it may not read later ones. Both have been built:

    make build && make -C c all netcdf lorenz OUT="$PWD/bin"

Parts:
    xarray   COUNT files are opened, as open_mfdataset does, and stay open, with a limit of 1024 descriptors: seconds,
             descriptors (/proc/self/fd), memory (RSS, MB)
    means    MEANS files are opened, and all their variables averaged: processor time and memory
    c        2000 files are opened by libcdfz and by netCDF-C, and stay open: seconds, memory of each (kB)
    true     processor time of /bin/true, without and with LD_PRELOAD=libnccdfz.so: the least of five means of 50 runs
    import   processor time of "import cdfz" in a new process beyond that of numpy, the least of nine
    show     cdfz mount and serve of COUNT files: milliseconds of the first list, descriptors and memory of the server while a
             program reads all files, and with mount has them all open
    joined   cdfz join of COUNT files, and cdfz get of one value of each: seconds, memory
    run      cdfz run of cdo mergetime over up to 2000 files, if there is cdo: processor time
    errors   the texts of errors that users meet
"""
import argparse
import glob
import itertools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PARTS = ["xarray", "means", "c", "true", "import", "show", "joined", "run", "errors"]

CLIENT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef NETCDF
#include <netcdf.h>
static int get(const char *name) { int id; return nc_open(name, NC_NOWRITE, &id); }
#else
#include "cdfz.h"
static int get(const char *name) { cdfz_archive *a; cdfz_error e; return cdfz_open_path(&a, name, NULL, &e); }
#endif
static long resident(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1) exit(1);
    fclose(f);
    return pages * 4;
}
int main(int n, char **names) {
    struct timespec a, b;
    if (get(names[1])) return 1;
    long before = resident();
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 2; i < n; i++) if (get(names[i])) { fprintf(stderr, "%s: error\n", names[i]); return 1; }
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%d files opened in %.3f s, %.0f kB each\n", n - 2, (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9,
           (double)(resident() - before) / (n - 2));
    return 0;
}
"""

ERRORS = [("a netCDF-4 file", "h5.nc.cdfz"), ("an empty file", "empty.nc.cdfz"), ("a classic file", "classic.nc.cdfz"), ("no file", "none.nc.cdfz"),
          ("a URL of nothing", "http://127.0.0.1:9/none.nc.cdfz"), ("after close", None)]


def rss(pid="self"):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def descriptors(pid="self"):
    return len(os.listdir(f"/proc/{pid}/fd"))


# What runs in a process of its own.

def in_xarray(kind, tmp, ending, means):
    import xarray

    if kind == "cdfz":
        from cdfz.xarray_backend import CdfzBackend as engine
    else:
        engine = "netcdf4"
    warnings.simplefilter("ignore", xarray.SerializationWarning)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    names = sorted(glob.glob(os.path.join(tmp, "*" + ending)))
    start = time.perf_counter()
    sets = [xarray.open_dataset(n, engine=engine, decode_times=False, cache=False) for n in names]
    opened = time.perf_counter() - start
    many, before = descriptors(), rss()
    if not int(means):
        return print(f"{len(sets)} files opened in {opened:.2f} s, {many} descriptors, {before:.0f} MB")
    start = time.process_time()
    total = 0.0
    for d in sets:
        for v in d.data_vars.values():
            if v.dtype.kind in "iuf":
                total += float(v.mean())
    print(f"means of {len(sets)} files {time.process_time() - start:.2f} s of processor time, {rss():.0f} MB; total {total:.9g}")


def error_texts(tmp, archive):
    import cdfz
    import xarray

    for what, name in ERRORS:
        try:
            if name is None:
                with xarray.open_dataset(archive, engine="cdfz" if "cdfz" in xarray.backends.list_engines() else cdfz.xarray_backend.CdfzBackend) as d:
                    v = next(v for v in d.data_vars.values() if v.dtype.kind in "iuf")
                text = f"{float(v.mean()):.6g}"
            else:
                cdfz.open_dataset(name if "//" in name else os.path.join(tmp, name))
                text = "no error"
        except Exception as e:
            text = f"{type(e).__name__}: {e}".splitlines()[0].replace(tmp + "/", "")
        print(f"{what}: {text}")


# What starts them.

class Checkout:
    """A built checkout: its program, libraries, and Python package with the decoder in C."""

    def __init__(self, label, root, scratch):
        self.label, self.root, self.bin = label, root, os.path.join(root, "bin")
        for name in ("cdfz", "liblorenz.so", "libcdfz.a", "libnccdfz.so"):
            if not os.path.exists(os.path.join(self.bin, name)):
                sys.exit(f"{root}: expected bin/{name}, as make build and make -C c all netcdf lorenz make it")
        self.python = os.path.join(scratch, label)
        shutil.copytree(os.path.join(root, "python", "cdfz"), os.path.join(self.python, "cdfz"))
        shutil.copy(os.path.join(self.bin, "liblorenz.so"), os.path.join(self.python, "cdfz"))
        self.cdfz, self.preload = os.path.join(self.bin, "cdfz"), os.path.join(self.bin, "libnccdfz.so")


def run(args, **env):
    """Returns the last lines of what a command prints, or of its error."""
    done = subprocess.run(args, env={**os.environ, **env}, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "FAILS: " + done.stderr.strip().splitlines()[-1][:200]


def measure(what, *args, path=None):
    return run([sys.executable, "-W", "ignore", __file__, "--measure", what, *map(str, args)], **({"PYTHONPATH": path} if path else {}))


def spent():
    """Returns the processor time of the commands so far, in seconds."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def least(n, args, **env):
    """Returns the processor time of a command in milliseconds, the least of n."""
    def once():
        start = spent()
        subprocess.run(args, env={**os.environ, **env}, check=True)
        return spent() - start
    return min(once() for _ in range(n)) * 1e3


def part_xarray(c, tmp, ending):
    return measure("xarray", "cdfz" if c else "netCDF4", tmp, ending, 0, path=c and c.python)


def part_means(c, tmp, ending):
    return measure("xarray", "cdfz" if c else "netCDF4", os.path.join(os.path.dirname(tmp), "large"), ending, 1, path=c and c.python)


def part_c(c, tmp, ending):
    names = list(itertools.islice(itertools.cycle(sorted(glob.glob(os.path.join(tmp, "*" + ending)))), 2001))
    source, lines = os.path.join(tmp, "client.c"), []
    with open(source, "w") as f:
        f.write(CLIENT)
    flags = ["cc", "-O2", "-o", os.path.join(tmp, "client"), source]
    if c:
        subprocess.run(flags + ["-I", os.path.join(c.root, "c"), os.path.join(c.bin, "libcdfz.a"), "-lz", "-lzstd", "-lpthread"], check=True)
        lines.append("libcdfz: " + run([flags[3], *names]))
    subprocess.run(flags + ["-DNETCDF", "-lnetcdf"], check=True)
    lines.append("netCDF-C: " + run([flags[3], *names], **({"LD_PRELOAD": c.preload} if c else {})))
    return "; ".join(lines)


def part_true(c, tmp, ending):
    loop = ["sh", "-c", "for i in $(seq 50); do /bin/true; done"]
    return f"{least(5, loop, **({'LD_PRELOAD': c.preload} if c else {})) / 50:.2f} ms"


def part_import(c, tmp, ending):
    if not c:
        return None
    numpy = least(9, [sys.executable, "-c", "import numpy"])
    return f"{least(9, [sys.executable, '-c', 'import numpy, cdfz'], PYTHONPATH=c.python) - numpy:.0f} ms"


def part_show(c, tmp, ending):
    if not c:
        return None
    at = tempfile.mkdtemp(dir=os.path.dirname(tmp))
    lines = []
    p = subprocess.Popen([c.cdfz, "mount", tmp, at], stdout=subprocess.PIPE)
    try:
        p.stdout.readline()
        start = time.perf_counter()
        names = [n for n in os.listdir(at) if n.endswith(".orig.nc")]
        listed = (time.perf_counter() - start) * 1e3
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        files = [open(os.path.join(at, n), "rb") for n in names]
        for f in files:
            f.read()
        lines.append(f"mount: {len(names)} files listed in {listed:.0f} ms, {descriptors(p.pid)} descriptors and {rss(p.pid):.0f} MB with all open")
        for f in files:
            f.close()
    finally:
        p.send_signal(signal.SIGTERM)
        p.wait()
        os.rmdir(at)
    p = subprocess.Popen([c.cdfz, "serve", "--listen", "127.0.0.1:0", tmp], stdout=subprocess.PIPE, text=True)
    try:
        url = p.stdout.readline().split()[1]
        start = time.perf_counter()
        page = urllib.request.urlopen(url + "files/").read().decode()
        listed = (time.perf_counter() - start) * 1e3
        names = re.findall(r'href="\./([^"]*\.orig\.nc)"', page)
        for n in names:
            urllib.request.urlopen(f"{url}files/{n}").read()
            p.stdout.readline()
        lines.append(f"serve: {len(names)} files listed in {listed:.0f} ms, {descriptors(p.pid)} descriptors and {rss(p.pid):.0f} MB after all were read")
    finally:
        p.send_signal(signal.SIGTERM)
        p.communicate()
    return "; ".join(lines)


def timed(args):
    start = time.perf_counter()
    done = subprocess.run(args, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    return f"{seconds:.2f} s" if done.returncode == 0 else "FAILS: " + done.stderr.strip().splitlines()[-1][:200]


def part_joined(c, tmp, ending):
    if not c:
        return None
    first, ncml, names = sorted(glob.glob(os.path.join(tmp, "*" + ending)))[0], os.path.join(tmp, "all.ncml"), []
    folder = tempfile.mkdtemp(dir=os.path.dirname(tmp))
    for i in range(len(glob.glob(os.path.join(tmp, "*" + ending)))):  # files of one kind; other dimensions would not fit
        names.append(os.path.join(folder, f"{i:06d}.nc.cdfz"))
        os.link(first, names[-1])
    join = timed([c.cdfz, "join", "-f", "-q", "--new", "run", "-o", ncml, *names])
    v = max(json.loads(run([c.cdfz, "info", "--json", names[0]]))["vars"], key=lambda v: v["raw"])
    get = timed(["/usr/bin/time", "-f", "%M", "-o", os.path.join(tmp, "rss"), c.cdfz, "get", "--format", "csv", "-o", os.path.join(tmp, "out.csv"), "-f", ncml,
                 f"{v['name']}[{','.join([':'] + ['0'] * len(v['dims']))}]"])
    with open(os.path.join(tmp, "rss")) as f:
        memory = int(f.read().split()[-1]) / 1024
    shutil.rmtree(folder)
    os.unlink(ncml)
    return f"join of {len(names)} files {join}; get of a value of each {get}, {memory:.0f} MB"


def part_run(c, tmp, ending):
    if not shutil.which("cdo"):
        return None
    out = os.path.join(os.path.dirname(tmp), "merged.nc")
    names = [os.path.basename(n).replace(".orig.nc.cdfz", ".orig.nc") for n in sorted(glob.glob(os.path.join(tmp, "*" + ending)))[:2000]]
    command = ["cdo", "-s", "-O", "mergetime", *names, out]
    start = spent()
    done = subprocess.run(([c.cdfz, "run", "--"] if c else []) + command, cwd=tmp, capture_output=True, text=True)
    return f"{len(names)} files {spent() - start:.2f} s of processor time" if done.returncode == 0 else "FAILS: " + (done.stderr.strip().splitlines() or ["?"])[0][:150]


def part_errors(c, tmp, ending):
    if not c:
        return None
    first = sorted(glob.glob(os.path.join(os.path.dirname(tmp), "large", "*" + ending)))[0]
    shutil.copy(first[:-len(".cdfz")].replace(".orig", ".plain"), os.path.join(tmp, "classic.nc.cdfz"))
    open(os.path.join(tmp, "empty.nc.cdfz"), "w").close()
    with open(os.path.join(tmp, "h5.nc.cdfz"), "wb") as f:
        f.write(b"\x89HDF\r\n\x1a\n" + bytes(1000))
    return "\n  " + measure("errors", tmp, first, path=c.python).replace("\n", "\n  ")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--before", metavar="CHECKOUT")
    p.add_argument("--only", choices=PARTS)
    p.add_argument("folder")
    p.add_argument("count", nargs="?", type=int, default=1500)
    p.add_argument("means", nargs="?", type=int, default=60)
    a = p.parse_args()
    archives = sorted(glob.glob(os.path.join(a.folder, "*.nc.cdfz")))
    if not archives:
        sys.exit(f"{a.folder}: expected files x.nc and x.nc.cdfz")
    with tempfile.TemporaryDirectory(dir=a.folder) as scratch:
        tmp, size = os.path.join(scratch, "files"), lambda name: os.path.getsize(name[:-len(".cdfz")])
        largest = max(archives, key=size)
        small = [n for n in archives if size(n) <= 1e6] or [min(archives, key=size)]
        for folder, count, pairs in (tmp, a.count, small), (os.path.join(scratch, "large"), a.means, [largest]):
            os.mkdir(folder)
            # The originals have other names, so that the archives appear as theirs.
            for i, archive in zip(range(count), itertools.cycle(pairs)):
                shutil.copy2(archive, os.path.join(folder, f"{i:06d}.orig.nc.cdfz"))
                shutil.copy2(archive[:-len(".cdfz")], os.path.join(folder, f"{i:06d}.plain.nc"))
        kinds = [("before", Checkout("before", os.path.abspath(a.before), scratch))] if a.before else []
        kinds += [("now", Checkout("now", HERE, scratch)), ("originals", None)]
        for part in PARTS:
            if a.only not in (None, part):
                continue
            print(f"{part}, load {os.getloadavg()[0]:.1f}", flush=True)
            for label, c in kinds:
                text = globals()["part_" + part](c, tmp, ".orig.nc.cdfz" if c else ".plain.nc")
                if text is not None:
                    print(f"  {label}: {text}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        {"xarray": in_xarray, "errors": error_texts}[sys.argv[2]](*sys.argv[3:])
    else:
        main()
