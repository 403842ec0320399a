"""Tests of reading archives. They need the program cdfz on PATH, xarray, dask, netCDF4 and scipy:
python3 -m unittest tests/test_archive.py"""
import hashlib
import io
import os
import pathlib
import pickle
import random
import struct
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
import xarray

import cdfz
from cdfz import _compressed, _zstd
from cdfz.xarray_backend import CdfzBackend

CLASSIC = pathlib.Path(__file__).parents[2] / "testdata/classic"
COMPAT = [CLASSIC.parent / "compat" / name for name in ("1", "1-contexts", "1-modes")]
# lorenz is slow in Python, so most tests use deflate.
LAYOUTS = {"default": (), "always": ("--zarr", "always", "--preset", "portable"), "never": ("--zarr", "never", "-F", "*,32004"),
           "small": ("--block", "4K", "--preset", "portable")}


class Compat(unittest.TestCase):
    def test_archives(self):
        """Archives of earlier versions have the images that were archived."""
        for folder, line in [(f, line) for f in COMPAT for line in (f / "SHA256SUMS").read_text().splitlines()]:
            want, name = line.split("  ")
            with self.subTest(name):
                a = cdfz.Archive(folder / (name + ".cdfz"))
                self.assertEqual(want, hashlib.sha256(a.image(0, a.plan["image"]["size"])).hexdigest())

    def test_outside(self):
        """A range outside of the file is no damage."""
        a = cdfz.Archive(COMPAT[0] / "cdf1_climate_small.nc.cdfz")
        size = a.plan["image"]["size"]
        for off, n in (0, size + 1), (-1, 4), (size + 1, 0), (4, -1), (0, 10**30):
            with self.subTest(off=off, n=n), self.assertRaisesRegex(IndexError, f"^expected a range of the {size} bytes of the file, found {n} from {off} on$"):
                a.image(off, n)
        self.assertEqual(0, len(a.image(size, 0)))

    def test_keys(self):
        """Indices are integers: fractions are not cut off, and booleans are neither 0 and 1 nor a mask."""
        a = cdfz.Archive(COMPAT[0] / "cdf1_climate_small.nc.cdfz")
        number = next(i for i, v in enumerate(a.header.vars) if len(v.shape) == 2 and v.shape[0] == 3)
        for key in 1.5, [1.7], True, [True, False, True], np.array([True, False]), np.float32(1), "1", None, [[0, 1]]:
            with self.subTest(key=key), self.assertRaisesRegex(IndexError, "^expected an integer, a slice or a list of integers for dimension 0 of variable '"):
                a.read(number, (key,))
        want = a.read(number)
        for key in 1, -1, np.int16(1), [2, 0], np.array([1], np.uint8), np.array([], int), slice(0, 2), ...:
            with self.subTest(key=key):
                np.testing.assert_array_equal(want[key], a.read(number, (key,)))
        self.assertEqual((0, *want.shape[1:]), a.read(number, ([],)).shape)


class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.original = str(CLASSIC / "cdf2_climate.nc")
        cls.bytes = pathlib.Path(cls.original).read_bytes()
        cls.archives = {}
        for name, options in LAYOUTS.items():
            cls.archives[name] = os.path.join(cls.dir.name, name + ".nc.cdfz")
            cdfz.archive(cls.original, cls.archives[name], *options)
        with xarray.open_dataset(cls.original, engine="netcdf4") as d:
            cls.want = d.load()

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def test_layouts(self):
        for name in self.archives.values():
            with self.subTest(name), xarray.open_dataset(name, engine=CdfzBackend) as d:
                xarray.testing.assert_identical(self.want, d)

    def test_kinds(self):
        """Names, paths, bytes and open files, with lazy reading and pickling."""
        name = self.archives["always"]
        with open(name, "rb") as f:
            for what in (name, pathlib.Path(name), f, io.BytesIO(f.read()), pathlib.Path(name).read_bytes()):
                a = cdfz.Archive(what)
                self.assertEqual(self.bytes[:100], a.image(0, 100).tobytes())
        with xarray.open_dataset(name, engine=CdfzBackend) as d:
            xarray.testing.assert_identical(self.want, pickle.loads(pickle.dumps(d)))
        self.assertTrue(CdfzBackend().guess_can_open(name))
        self.assertTrue(CdfzBackend().guess_can_open("https://example.org/x.nc.cdfz?token=1"))
        self.assertTrue(CdfzBackend().guess_can_open(io.BytesIO(pathlib.Path(name).read_bytes())))
        for no in (self.original, io.BytesIO(b"CDF"), 5, None):
            self.assertFalse(CdfzBackend().guess_can_open(no))

    def test_lazy(self):
        """A point decodes one block."""
        a = cdfz.Archive(self.archives["small"])
        number = max(range(len(a.header.vars)), key=lambda i: np.prod(a.header.vars[i].shape))
        decoded = []
        inner = a.block
        a.block = lambda *args, **kw: decoded.append(args[0]) or inner(*args, **kw)
        a.read(number, (0,) * len(a.header.vars[number].shape))
        a.read(number, (0,) * len(a.header.vars[number].shape))
        self.assertEqual(1, len(decoded))
        n = a.header.vars[number].shape[0]
        decoded.clear()
        a.read(number, ([0, n - 1],) + (0,) * (len(a.header.vars[number].shape) - 1))
        self.assertEqual(1, len(decoded))      # the first one is kept

    def test_outer(self):
        """Indices of xarray decode only their blocks."""
        decoded = []
        inner = cdfz.Archive.block
        with mock.patch.object(cdfz.Archive, "block", lambda self, *args, **kw: decoded.append(args[0]) or inner(self, *args, **kw)), \
                cdfz.open_dataset(self.archives["small"]) as d:
            v = max(d.data_vars.values(), key=lambda v: v.size)
            point = {dim: 0 for dim in v.dims[1:]}
            decoded.clear()
            v.isel({v.dims[0]: [0, v.shape[0] - 1]} | point).load()
        self.assertEqual(2, len(decoded))

    def test_dask(self):
        for chunks in {}, {"time": 5}:
            with xarray.open_dataset(self.archives["always"], engine=CdfzBackend, chunks=chunks) as d:
                xarray.testing.assert_identical(self.want, d.compute())
                name = max(d.data_vars, key=lambda k: d[k].size)
                xarray.testing.assert_allclose(self.want[name].mean(), d[name].mean().compute())

    def test_indexing(self):
        plain = dict(decode_cf=False)          # xarray cannot decode no times
        with xarray.open_dataset(self.archives["small"], engine=CdfzBackend, **plain) as d, \
                xarray.open_dataset(self.original, engine="netcdf4", **plain).load() as want:
            for k, v in want.data_vars.items():
                for pick in (0, -1, slice(None, None, -2), slice(1, 1), slice(1, None, 3), np.array([1, 0, 0])):
                    at = {dim: pick for dim in v.dims if v.sizes[dim] > 1}
                    xarray.testing.assert_identical(v.isel(at), d[k].isel(at).load())
                rnd = random.Random(k)
                for _ in range(20):            # lists of indices in some dimensions
                    at = {}
                    for dim in v.dims:
                        n = v.sizes[dim]
                        at[dim] = rnd.choice((slice(None), rnd.randrange(-n, n), [rnd.randrange(-n, n) for _ in range(rnd.randrange(4))],
                                              sorted(rnd.sample(range(n), min(n, 5)))))
                    xarray.testing.assert_identical(v.isel(at), d[k].isel(at).load())

    def test_cut(self):
        """Variables of files that were cut off: what there is, and zeros beyond the end. Selections take little memory."""
        for number, (kind, shape, records) in enumerate(((b"\1", [6, 5, 7], 0), (b"\1", [0, 5, 7], 6), (b"\5", [6, 1 << 16, 1 << 12], 0), (b"\5", [0, 1 << 16, 1 << 12], 6))):
            name = os.path.join(self.dir.name, f"cut{number}.nc")
            word = struct.Struct(">q" if kind == b"\5" else ">i").pack
            tag = struct.Struct(">i").pack
            bytes_ = 4 * (shape[1] * shape[2] if records else shape[0] * shape[1] * shape[2])
            head = b"CDF" + kind + word(records) + tag(10) + word(3)
            for i, n in enumerate(shape):
                head += word(1) + b"xyz"[i:i + 1] + bytes(3) + word(n)
            head += bytes(4) + word(0) + tag(11) + word(1) + word(1) + b"v" + bytes(3) + word(3) + b"".join(map(word, range(3)))
            head += bytes(4) + word(0) + tag(5) + word(bytes_)
            begin = len(head) + len(word(0))
            values = np.arange(1, 100, dtype=">f4")
            pathlib.Path(name).write_bytes(head + word(begin) + values.tobytes() + b"\1\2")
            cdfz.archive(name)
            full = [records or shape[0], *shape[1:]]
            last = np.frombuffer(b"\1\2\0\0", ">f4")[0]
            flat = lambda i: values[i] if i < 99 else last if i == 99 else 0
            want = lambda x, y, z: flat((x * full[1] + y) * full[2] + z)
            with self.subTest(kind=kind, records=records), mock.patch("cdfz._selection.RUN", 64):
                a = cdfz.Archive(name + ".cdfz")
                for key in ((0, 0, 0), (slice(None), 1, [3, 0, 3]), (5, slice(4, 0, -2), slice(6, 1, -1)), (slice(0, 6, 5), [4, 0], 6),
                            ([2, 2], slice(0, 5), slice(0, 7, 3)), (-1, -1, -1), (0, 0, slice(0, 0)), (slice(0, 4), slice(0, 5), slice(0, 7)), (0, slice(0, 60, 15))):
                    key += (slice(None, 7),) * (3 - len(key))
                    picks = [range(*k.indices(m)) if isinstance(k, slice) else [i % m for i in np.atleast_1d(k)] for k, m in zip(key, full)]
                    found = np.reshape([want(x, y, z) for x in picks[0] for y in picks[1] for z in picks[2]], [len(p) for p in picks])
                    np.testing.assert_array_equal(found.reshape(a.read(0, key).shape), a.read(0, key), str(key))
                with xarray.open_dataset(name + ".cdfz", engine=CdfzBackend) as d:
                    self.assertEqual(1, d.v[0, 0, 0])

    def test_file(self):
        import netCDF4
        import scipy.io
        with cdfz.open(self.archives["default"]) as f:
            self.assertEqual((True, True, False, len(self.bytes)), (f.readable(), f.seekable(), f.writable(), f.size))
            rnd = random.Random(1)
            for _ in range(30):
                off, n = rnd.randrange(len(self.bytes) + 9), rnd.choice((0, 1, 9, 5000, len(self.bytes)))
                f.seek(off)
                self.assertEqual(self.bytes[off:off + n], f.read(n))
            self.assertEqual(0, f.seek(0))
            with netCDF4.Dataset("x.nc", memory=f.read()) as d:
                self.assertEqual(set(self.want.variables), set(d.variables))
            f.seek(0)
            with xarray.open_dataset(f, engine="scipy") as d:
                xarray.testing.assert_identical(self.want, d.load())
        with cdfz.open(self.archives["always"]) as f:
            self.assertEqual(self.bytes[:4], io.BufferedReader(f).read(4))
            self.assertRaises(ValueError, f.seek, -1)
        with cdfz.open(self.archives["always"]) as f, scipy.io.netcdf_file(f, mmap=False) as d:
            self.assertEqual(set(self.want.variables), set(d.variables))
        self.assertRaises(ValueError, f.read)

    def test_whole(self):
        """Whoever reads the whole file, in one or many pieces, learns of a wrong sum and of rounded values."""
        vector = lambda name: (CLASSIC.parent / "vectors" / name).read_bytes().partition(b"\n\n")[2]
        for n in (-1, 100):
            with self.subTest(n):
                with cdfz.open(vector("bad/image_other")) as f, self.assertRaisesRegex(cdfz.ArchiveDamaged, "another SHA-256"):
                    while f.read(n):
                        pass
                with cdfz.open(vector("good/loss")) as f, self.assertWarnsRegex(RuntimeWarning, "values of 'a' were rounded") as caught:
                    for _ in range(2):
                        f.seek(0)
                        while f.read(n):
                            pass
                self.assertEqual(1, len(caught.warnings))

    def test_threads(self):
        a, failed = cdfz.Archive(self.archives["small"], block_cache=4096), []
        def work(seed):
            rnd = random.Random(seed)
            for _ in range(10):
                off = rnd.randrange(len(self.bytes))
                n = min(rnd.randrange(5000), len(self.bytes) - off)
                if a.image(off, n).tobytes() != self.bytes[off:off + n]:
                    failed.append(off)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([], failed)

    def test_damage(self):
        """Damage is detected, or the values are right. Nothing else is raised."""
        rnd = random.Random(2)
        whole = pathlib.Path(self.archives["always"]).read_bytes()
        detected = 0
        for i in range(60):
            bad = bytearray(whole)
            for _ in range(rnd.choice((1, 1, 8))):
                bad[rnd.randrange(len(bad)) if i % 2 else rnd.randrange(len(bad) - 3000, len(bad))] ^= 1 << rnd.randrange(8)
            if i % 10 == 0:
                del bad[rnd.randrange(len(bad)):]
            try:
                a = cdfz.Archive(bytes(bad))
                self.assertEqual(self.bytes, a.image(0, len(self.bytes)).tobytes())
            except cdfz.ArchiveError:
                detected += 1
        self.assertGreater(detected, 20)
        for what in b"", b"CDF\1", whole[:50], pathlib.Path(self.original).read_bytes():
            self.assertRaises(cdfz.ArchiveError, cdfz.Archive, what)

    def test_damaged_block(self):
        """The error names the file, the variable, its indices and the block."""
        bad = bytearray(pathlib.Path(self.archives["small"]).read_bytes())
        a = cdfz.Archive(bytes(bad))
        number = max(range(len(a.header.vars)), key=lambda i: np.prod(a.header.vars[i].shape))
        row = a.row(a.blocked()[number]["first"])
        bad[row[0]] ^= 1
        name = os.path.join(self.dir.name, "bad.cdfz")
        pathlib.Path(name).write_bytes(bad)
        v = a.header.vars[number]
        with self.assertRaisesRegex(cdfz.ArchiveDamaged, rf"bad.cdfz: variable '{v.name.decode()}'\[0\D.*\]: block \d+ at \d+: wrong CRC"):
            cdfz.Archive(name).read(number)

    def test_names(self):
        # Exceptions in __del__ are not raised, but passed to this hook.
        seen = []
        before, sys.unraisablehook = sys.unraisablehook, seen.append
        try:
            with tempfile.TemporaryDirectory() as folder:
                for name, kind in (folder, IsADirectoryError), (folder + "/none.nc.cdfz", FileNotFoundError):
                    with self.assertRaises(kind) as caught:
                        cdfz.open(name)
                    self.assertEqual(caught.exception.filename, name)
        finally:
            sys.unraisablehook = before
        self.assertEqual(seen, [])

    def test_lz4(self):
        from numcodecs import lz4
        rnd = random.Random(3)
        for n in (1, 15, 300, 5000):
            data = bytes(rnd.choice(b"ab") for _ in range(n)) + b"x" * n
            block = lz4.compress(data)[4:]
            self.assertEqual(data, _compressed.plain_lz4(block, len(data)))
            for _ in range(20):
                bad = bytearray(block)
                bad[rnd.randrange(len(bad))] ^= 1 << rnd.randrange(8)
                try:
                    self.assertEqual(len(data), len(_compressed.plain_lz4(bytes(bad), len(data))))
                except (ValueError, IndexError, cdfz._compressed.struct.error):
                    pass

    def test_zstd(self):
        """The decoder in plain Python gives what the library gives, and no other bytes of damaged frames than it."""
        from numcodecs import zstd
        rnd = random.Random(4)
        words = [bytes(rnd.choice(b"abcdefgh_=") for _ in range(rnd.randrange(1, 12))) for _ in range(200)]
        inputs = [b"", b"x", b"x" * 150_000, bytes(rnd.randrange(256) for _ in range(2000)),
                  b" ".join(rnd.choice(words) for _ in range(4_000)), b"".join(struct.pack("<I", n * n) for n in range(3000)),
                  bytes(min(255, int(rnd.expovariate(0.1))) for _ in range(6_000)), b"".join(rnd.choice(words) * rnd.randrange(9) for _ in range(99))]
        refused = 0
        for data in inputs:
            for level in (-5, 3, 19):
                frame = bytes(zstd.compress(data, level))
                self.assertEqual(data, _zstd.decompress(frame, len(data)))
                for _ in range(6 if len(data) < 25_000 else 1):
                    bad = bytearray(frame)
                    bad[rnd.randrange(min(len(bad), 400))] ^= 1 << rnd.randrange(8)
                    try:
                        found = _zstd.decompress(bytes(bad), len(data))
                    except (ValueError, IndexError):
                        refused += 1
                        continue
                    self.assertEqual(len(data), len(found))
                    try:
                        self.assertEqual(found, bytes(zstd.decompress(bytes(bad))))
                    except RuntimeError:
                        pass                       # the library checks more of the header
        self.assertGreater(refused, 30)
        for n in rnd.sample(range(len(frame)), 30):
            self.assertRaises((ValueError, IndexError), _zstd.decompress, frame[:n], len(data))
        self.assertRaises(ValueError, _zstd.decompress, b"\x28\xb5\x2f\xfd\x20\x05\0\0\0", 5)  # a frame whose blocks have no end

    def test_without_zstd(self):
        """Archives are read where no library for zstd is installed."""
        name = os.path.join(self.dir.name, "zstd.nc.cdfz")
        cdfz.archive(self.original, name, "-F", "*,32015,19")
        with mock.patch.object(_compressed, "zstd_library", lambda: None), mock.patch.object(_zstd, "decompress", wraps=_zstd.decompress) as plain:
            self.assertEqual(self.bytes, cdfz.open(name).read())
            self.assertGreater(plain.call_count, 1)

    def test_program(self):
        self.assertRaisesRegex(RuntimeError, "nosuch", cdfz.archive, "nosuch.nc")


if __name__ == "__main__":
    unittest.main()
