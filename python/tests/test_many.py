"""Tests of many archives at once: descriptors, memory, and what replaces a file. They need the program cdfz on PATH,
xarray, dask and netCDF4: python3 -m unittest tests/test_many.py"""
import errno
import gc
import io
import os
import pathlib
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np
import xarray

import cdfz
from cdfz import _cache, _files, _joined, _native
from cdfz.xarray_backend import CdfzBackend

CLASSIC = pathlib.Path(__file__).parents[2] / "testdata/classic"


def descriptors():
    return len(os.listdir("/proc/self/fd"))


class Many(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.name = os.path.join(cls.dir.name, "a.nc.cdfz")
        cdfz.archive(CLASSIC / "cdf2_climate.nc", cls.name, "--preset", "portable", "--block", "4K")
        with xarray.open_dataset(CLASSIC / "cdf2_climate.nc", engine="netcdf4") as d:
            cls.want = d.tas.values

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def setUp(self):
        gc.collect()
        with _files.descriptors:
            _files.descriptors._shrink(0)
        self.before = descriptors()

    def copies(self, n):
        names = [os.path.join(self.dir.name, f"copy{i}.nc.cdfz") for i in range(n)]
        for name in names:
            if not os.path.exists(name):
                shutil.copy(self.name, name)
        return names

    def open(self, name, **options):
        return xarray.open_dataset(name, engine=CdfzBackend, **options)

    def test_more_than_the_limit(self):
        """More open archives than the process may have descriptors. All can be read, again and again."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            sets = [self.open(name) for name in self.copies(400)]
            self.assertLessEqual(descriptors() - self.before, _files.LIMIT + 1)
            for d in sets[::20] + sets[:3]:
                np.testing.assert_array_equal(self.want, d.tas.values)
            self.assertLessEqual(descriptors() - self.before, _files.LIMIT + 1)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        del sets, d
        gc.collect()
        self.assertLessEqual(descriptors(), self.before + 1)

    def test_too_many(self):
        """If the process has too many files, cdfz closes its own."""
        sets = [self.open(name) for name in self.copies(20)]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        null, held = os.open(os.devnull, os.O_RDONLY), []
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        try:
            with self.assertRaises(OSError) as failed:
                while True:
                    held.append(os.dup(null))
            self.assertEqual(errno.EMFILE, failed.exception.errno)
            extra = self.open(self.name)
            np.testing.assert_array_equal(self.want, extra.tas.values)
        finally:
            for fd in [null, *held]:
                os.close(fd)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        np.testing.assert_array_equal(self.want, sets[0].tas.values)

    def test_xarray_option(self):
        names = self.copies(20)
        with xarray.set_options(file_cache_maxsize=5):
            sets = [self.open(name) for name in names]
            self.assertLessEqual(descriptors() - self.before, 6)
        self.open(self.name).close()
        self.assertEqual(_files.LIMIT, _files.descriptors.limit)
        del sets

    def test_closed(self):
        """As with netCDF4, a variable can be read after its dataset was closed."""
        with self.open(self.name) as d:
            t = d.tas
        self.assertEqual(self.before, descriptors())
        np.testing.assert_array_equal(self.want, t.values)
        a = cdfz.Archive(self.name)
        a.close()
        a.close()
        self.assertEqual(b"CDF\2", a.image(0, 4).tobytes())

    def test_pickled(self):
        d = self.open(self.name)
        text = pickle.dumps(d)
        sets = [pickle.loads(text) for _ in range(200)]
        self.assertLessEqual(descriptors() - self.before, 1)
        for s in sets[::50]:
            np.testing.assert_array_equal(self.want, s.tas.values)

    def test_replaced(self):
        """A file that was replaced is an error when it is opened again, and when it is unpickled."""
        name = shutil.copy(self.name, os.path.join(self.dir.name, "replaced.nc.cdfz"))
        d = self.open(name)
        text = pickle.dumps(d)
        other = os.path.join(self.dir.name, "other.nc.cdfz")
        cdfz.archive(CLASSIC / "cdf1_attrs.nc", other)
        os.replace(other, name)
        np.testing.assert_array_equal(self.want, d.tas.values)  # from the open file
        d.close()
        with self.assertRaisesRegex(OSError, "replaced since it was opened.*replaced.nc") as failed:
            d.ta.values
        self.assertEqual(errno.ESTALE, failed.exception.errno)
        with self.assertRaisesRegex(OSError, "replaced since it was opened"):
            pickle.loads(text)
        with self.open(name, decode_cf=False) as e:
            self.assertNotIn("tas", e)

    def test_threads(self):
        """Threads that open, read and close few and many archives at once."""
        names, failed = self.copies(40), []
        def work(seed):
            rnd = np.random.default_rng(seed)
            try:
                for _ in range(60):
                    a = cdfz.Archive(names[rnd.integers(len(names))])
                    if a.image(0, 4).tobytes() != b"CDF\2":
                        failed.append("wrong bytes")
                    if rnd.integers(2):
                        a.close()
            except Exception as e:
                failed.append(e)
        _files.descriptors.limit = 3
        try:
            threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        finally:
            _files.descriptors.limit = _files.LIMIT
        self.assertEqual([], failed)
        gc.collect()
        self.assertLessEqual(descriptors(), self.before + 3)

    def test_fork(self):
        """A child of fork reads, also if a thread of its parent held the locks."""
        d = self.open(self.name)
        with _files.descriptors, _cache.shared:
            child = os.fork()
            if child == 0:
                ok = False
                try:
                    ok = np.array_equal(self.want, d.tas.values)
                finally:
                    os._exit(0 if ok else 1)
        self.assertEqual(0, os.waitpid(child, 0)[1])
        np.testing.assert_array_equal(self.want, d.tas.values)

    def test_fork_objects(self):
        """The same with the locks of archives, open files and joined archives."""
        path = os.path.join(self.dir.name, "j.ncml")
        subprocess.run(["cdfz", "join", "-q", "-f", "-o", path, "--new", "run", self.name, self.copies(1)[0]], check=True)
        memory = io.BytesIO(pathlib.Path(self.name).read_bytes())
        archives = cdfz.Archive(self.name), cdfz.Archive(memory), _joined.Joined(path)
        numbers = [[v.name for v in a.header.vars].index(b"tas") for a in archives]
        for held in archives[0], archives[1].source, archives[2]:
            with self.subTest(held), held._lock:
                child = os.fork()
                if child == 0:
                    signal.alarm(20)           # if it hangs
                    ok = False
                    try:
                        ok = all(a.read(n).size for a, n in zip(archives, numbers))
                    finally:
                        os._exit(0 if ok else 1)
                self.assertEqual(0, os.waitpid(child, 0)[1])
        for buffering in 0, -1:                # a child has the same position
            with open(self.name, "rb", buffering) as f:
                a = cdfz.Archive(f)
                at = os.lseek(f.fileno(), 0, os.SEEK_CUR)
                self.assertEqual(pathlib.Path(CLASSIC / "cdf2_climate.nc").read_bytes(), a.image(0, a.manifest["size"]).tobytes())
                self.assertEqual(at, os.lseek(f.fileno(), 0, os.SEEK_CUR))

    def test_one_cache(self):
        """All archives share the memory for blocks. Archives that are gone or closed have none of it."""
        old = _cache.shared.limit
        try:
            cdfz.set_cache(100_000)
            sets = [self.open(name) for name in self.copies(20)]
            for d in sets:
                d.tas[3, 4, 5].values, d.tas.values
            self.assertLessEqual(_cache.shared.used, 100_000)
            self.assertGreater(_cache.shared.used, 50_000)
            del sets, d
            gc.collect()
            self.assertEqual(0, _cache.shared.used)
            d = self.open(self.name)
            d.tas.values
            self.assertGreater(_cache.shared.used, 0)
            d.close()
            with _cache.shared:
                pass
            self.assertEqual(0, _cache.shared.used)
            cdfz.set_cache(0)
            np.testing.assert_array_equal(self.want, d.tas.values)
            self.assertEqual(0, _cache.shared.used)
            for bad in (-1, 1.5, "1", True, None):
                with self.assertRaisesRegex(ValueError, "expected a number of bytes"):
                    cdfz.set_cache(bad)
        finally:
            cdfz.set_cache(old)

    def test_own_cache(self):
        for options in ({"block_cache": 1 << 20}, {"backend_kwargs": {"block_cache": 1 << 20}}):
            d = self.open(self.name, **options)
            d.tas.values
            self.assertEqual(0, _cache.shared.used)
            d = pickle.loads(pickle.dumps(d))
            np.testing.assert_array_equal(self.want, d.tas.values)
            self.assertEqual(0, _cache.shared.used)

    def run_python(self, code, **variables):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
        return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)

    def test_environment(self):
        done = self.run_python("import cdfz; print(cdfz._cache.shared.limit)", CDFZ_CACHE="1234")
        self.assertEqual("1234\n", done.stdout, done.stderr)
        done = self.run_python("import cdfz", CDFZ_CACHE="64M")
        self.assertIn("CDFZ_CACHE: expected a number of bytes, found '64M'", done.stderr)

    def test_slow_decoder(self):
        """Python says once that it decodes slowly, unless it was asked to."""
        from cdfz import lorenz
        const = bytes([lorenz.CONST, 0, 0, 128, 63])
        old = _native.LIBRARY, os.environ.pop("CDFZ_PURE_PYTHON", None)
        try:
            _native.LIBRARY = None
            _native.warned.clear()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for _ in range(3):
                    cdfz.decode(const, shape=(4,))
            self.assertEqual(1, len(caught))
            self.assertIn("in Python, many times slower", str(caught[0].message))
            self.assertIn("pip install", str(caught[0].message))
            _native.warned.clear()
            os.environ["CDFZ_PURE_PYTHON"] = "1"
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                cdfz.decode(const, shape=(4,))
            self.assertEqual([], caught)
        finally:
            _native.LIBRARY = old[0]
            os.environ.pop("CDFZ_PURE_PYTHON", None)
            if old[1] is not None:
                os.environ["CDFZ_PURE_PYTHON"] = old[1]

    def test_versions(self):
        out = io.StringIO()
        cdfz.show_versions(out)
        self.assertIn("decoder of lorenz: " + _native.describe(), out.getvalue())
        self.assertIn("xarray: ", out.getvalue())
        self.assertIn(_native.describe(), CdfzBackend.description)

    def test_other_files(self):
        """Files that are no archives are called what they are."""
        classic = CLASSIC / "cdf1_attrs.nc"
        for content, want in {b"": "it is empty", classic.read_bytes(): "classic netCDF file, which netCDF4", b"\x89HDF\r\n\x1a\n" + bytes(200): "netCDF-4 .HDF5. file, which netCDF4",
                              b"<?xml version='1.0'?><netcdf/>": "cdfz.open_dataset reads", b"text " * 100: "not a cdfz archive$"}.items():
            name = os.path.join(self.dir.name, "other.cdfz")
            pathlib.Path(name).write_bytes(content)
            with self.assertRaisesRegex(OSError, f"other.cdfz: not a cdfz archive.*{want}|{want}"):
                cdfz.open(name)
        self.assertEqual(self.before, descriptors())


if __name__ == "__main__":
    unittest.main()
