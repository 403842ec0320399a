"""Tests of the decoder in C, against the one in Python. They need liblorenz.so in the package:
make -C c lorenz OUT=../python/cdfz; python3 -m unittest tests/test_native.py"""
import concurrent.futures
import ctypes
import multiprocessing
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import cdfz
from cdfz import _native, lorenz
from test_lorenz import vectors

ROOT = pathlib.Path(__file__).parents[2]


def outcome(decode, block, p):
    try:
        return bytes(decode(block, p))
    except cdfz.DamagedBlock:
        return None


def first_values(name):
    return cdfz.Archive(name).read(6, (slice(0, 3), 2)).tobytes()


class Native(unittest.TestCase):
    def test_library(self):
        self.assertIsNotNone(_native.LIBRARY)
        code = "from cdfz import _native; print(_native.LIBRARY)"
        env = {**os.environ, "CDFZ_PURE_PYTHON": "1", "PYTHONPATH": str(ROOT / "python")}
        self.assertEqual("None\n", subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout)

    def test_params(self):
        """The parameters have the fields of c/lorenz.h."""
        struct = re.search(r"typedef struct \{\n([^}]*)\} lorenz_params;", (ROOT / "c/lorenz.h").read_text())[1]
        kinds = {"uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64}
        want = [(name, kinds[kind] * int(n[1:-1]) if n else kinds[kind]) for kind, name, n in re.findall(r"^\t(\w+) (\w+)(\[\d+\])?;", struct, re.M)]
        self.assertEqual(want, _native.Params._fields_)

    def test_same(self):
        """Both accept the same blocks, and decode them to the same values."""
        rnd, accepted = random.Random(3), 0
        for folder in "vectors", "blocks":
            for name, p, block, want in vectors(folder):
                if p.n * p.size > 30000:
                    continue
                self.assertEqual(want is None, outcome(_native.decode, block, p) is None, name)
                for _ in range(3 if len(block) else 0):
                    bad = bytearray(block)
                    bad[rnd.randrange(min(len(bad), rnd.choice((30, 1000))))] ^= 1 << rnd.randrange(8)
                    bad = bytes(bad)
                    got = outcome(_native.decode, bad, p)
                    self.assertEqual(outcome(lorenz.decode_slowly, bad, p), got, f"{name}: {bad.hex()}")
                    accepted += got is not None
        self.assertGreater(accepted, 20)

    def test_archive(self):
        """Threads of one selection, threads with one archive, and forked processes read the same."""
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "a.nc.cdfz")
            source = ROOT / "testdata/classic/cdf2_climate.nc"
            subprocess.run(["cdfz", "archive", "-q", "--block", "4KiB", "-o", name, source], check=True)
            a = cdfz.Archive(name)
            self.assertEqual(source.read_bytes(), bytes(a.image(0, source.stat().st_size)))
            number = max(range(len(a.header.vars)), key=lambda i: len(a.header.vars[i].shape))
            want = a.read(number)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                for got in pool.map(lambda i: cdfz.Archive(name).read(number) if i % 2 else a.read(number), range(16)):
                    np.testing.assert_array_equal(want, got)
            want = first_values(name)
            with multiprocessing.get_context("fork").Pool(3) as pool:
                for got in pool.map(first_values, [name] * 6):
                    self.assertEqual(want, got)

    def test_parts(self):
        """Selections of a part of a block decode this first, and the whole block the second time."""
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "a.nc.cdfz")
            subprocess.run(["cdfz", "archive", "-q", "-o", name, ROOT / "testdata/classic/cdf2_climate.nc"], check=True)
            whole = cdfz.Archive(name)
            number = max(range(len(whole.header.vars)), key=lambda i: np.prod(whole.header.vars[i].shape))
            want, rnd = whole.read(number), random.Random(4)
            for _ in range(40):
                a, spans, inner = cdfz.Archive(name), [], _native.decode
                with mock.patch.object(_native, "decode", lambda data, p, span=None: spans.append(span) or inner(data, p, span)):
                    key = tuple(rnd.choice((rnd.randrange(n), slice(rnd.randrange(n), n, rnd.randint(1, 3)), sorted(rnd.sample(range(n), 2))))
                                for n in want.shape)
                    for _ in range(2):
                        np.testing.assert_array_equal(want[np.ix_(*[np.atleast_1d(np.arange(n)[k]) for k, n in zip(key, want.shape)])].ravel(),
                                                      a.read(number, key).ravel())
                    a.read(number)
            a, spans = cdfz.Archive(name), []
            with mock.patch.object(_native, "decode", lambda data, p, span=None: spans.append((p.n, span)) or inner(data, p, span)):
                a.read(number, (0,) * want.ndim), a.read(number, (0,) * want.ndim), a.read(number, (0,) * want.ndim)
            n = np.prod(a.block_shape(number))
            self.assertEqual([(n, (0, 1)), (n, None)], [s for s in spans if s[0] == n])

    def test_errors(self):
        """Damage of one of many blocks is the error of a selection."""
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "a.nc.cdfz")
            subprocess.run(["cdfz", "archive", "-q", "--block", "4KiB", "-o", name, ROOT / "testdata/classic/cdf2_climate.nc"], check=True)
            a = cdfz.Archive(name)
            number = max(range(len(a.header.vars)), key=lambda i: len(a.header.vars[i].shape))
            off, size, _, _ = a.row(a.blocked()[number]["first"] + 5)
            with open(name, "r+b") as f:
                f.seek(off + size // 2)
                byte = f.read(1)[0]
                f.seek(off + size // 2)
                f.write(bytes([byte ^ 1]))
            with self.assertRaisesRegex(cdfz.ArchiveDamaged, f"block {a.blocked()[number]['first'] + 5} at {off}: wrong CRC"):
                cdfz.Archive(name).read(number)


if __name__ == "__main__":
    unittest.main()
