"""Tests of the codec of Zarr format 3. They need zarr 3, xarray, and stores that cdfz export made (.ci/zarr3):
STORES=folder python3 -m unittest tests/test_zarr3.py"""
import concurrent.futures
import json
import os
import pathlib
import pickle
import shutil
import struct
import tempfile
import unittest

import numpy as np
import xarray
import zarr

import cdfz
from cdfz.zarr3 import Lorenz

STORES = pathlib.Path(os.environ["STORES"])


def arrays(name):
    """Returns the arrays of a store of format 3 by their paths."""
    group = zarr.open_group(STORES / name, mode="r")
    return dict(group.arrays())


class Reading(unittest.TestCase):
    def test_names(self):
        """The codec is found by its entry point."""
        codecs = [c for a in arrays("lorenz.zarr").values() for c in a.metadata.codecs]
        self.assertTrue(any(isinstance(c, Lorenz) for c in codecs))
        cdfz.register()                        # the same once more
        self.assertIs(Lorenz, zarr.registry.get_codec_class("cdfz.lorenz"))

    def test_values(self):
        """Blocks of lorenz have the values of those that zarr knows, in format 2, too."""
        want = arrays("plain.zarr")
        for name in ("lorenz.zarr", "lorenz2.zarr"):
            got = arrays(name)
            self.assertEqual(set(want), set(got))
            for path, a in want.items():
                with self.subTest(f"{name} {path}"):
                    np.testing.assert_array_equal(a[...], got[path][...])
                    if a.ndim:
                        np.testing.assert_array_equal(a[-1:], got[path][-1:])

    def test_characters(self):
        """zarr has a type for them since 3.1."""
        if zarr.__version__.startswith("3.0."):
            self.assertRaisesRegex(ValueError, "null_terminated_bytes", arrays, "letters.zarr")
            return
        with xarray.open_zarr(STORES / "letters.zarr") as got, xarray.open_dataset(STORES / "letters.nc", engine="netcdf4") as want:
            xarray.testing.assert_equal(want.load(), got.load())

    def test_xarray(self):
        with xarray.open_zarr(STORES / "lorenz.zarr") as got, xarray.open_dataset(STORES / "image.nc", engine="netcdf4") as want:
            xarray.testing.assert_equal(want.load(), got.load())

    def test_archive(self):
        """The Zarr view of an archive."""
        with xarray.open_zarr(zarr.storage.ZipStore(STORES / "image.nc.cdfz", mode="r")) as got, \
                xarray.open_dataset(STORES / "image.nc", engine="netcdf4") as want:
            xarray.testing.assert_equal(want.load(), got.load())

    def test_threads(self):
        a = arrays("lorenz.zarr")["tas"]
        want = a[...]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for k, got in enumerate(pool.map(lambda k: a[k % len(want)], range(200))):
                np.testing.assert_array_equal(want[k % len(want)], got)

    def test_pickle(self):
        a = arrays("lorenz.zarr")["tas"]
        np.testing.assert_array_equal(a[...], pickle.loads(pickle.dumps(a))[...])


class Changed(unittest.TestCase):
    """Copies of the array tas with other metadata."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.path = pathlib.Path(self.dir.name) / "tas"
        shutil.copytree(STORES / "lorenz.zarr/tas", self.path)
        self.meta = json.loads((self.path / "zarr.json").read_text())

    def open(self):
        (self.path / "zarr.json").write_text(json.dumps(self.meta))
        return zarr.open_array(self.path, mode="r")

    def test_wrong(self):
        """Wrong metadata are named when the array is opened."""
        good = self.meta["codecs"]
        self.assertEqual(["bytes", "cdfz.lorenz"], [c["name"] for c in good])
        for change, words in (({"type": 6}, "elements of 4 bytes, found type 6, of 8 bytes"), ({"shape": [1, 2]}, r"found type 5, .* and shape \[1, 2\]"),
                              ({"version": 2}, "version 1, found 2"), ({"level": 1}, "found .*level")):
            self.meta["codecs"] = [good[0], dict(good[1], configuration=dict(good[1]["configuration"], **change))]
            with self.subTest(change), self.assertRaisesRegex(cdfz.ParameterError, words):
                self.open()

    def test_damage(self):
        a = self.open()
        chunk = next(p for p in sorted(self.path.rglob("*")) if p.is_file() and p.name != "zarr.json")
        chunk.write_bytes(chunk.read_bytes()[:-1])
        with self.assertRaises(cdfz.DamagedBlock):
            a[...]
        chunk.unlink()                         # a chunk that is not there has the fill value
        a[...]

    def test_write(self):
        self.open()
        a = zarr.open_array(self.path, mode="r+")
        with self.assertRaisesRegex(NotImplementedError, "read-only"):
            a[...] = 0
        with self.assertRaises(NotImplementedError):
            next(c for c in a.metadata.codecs if isinstance(c, Lorenz)).compute_encoded_size(4, None)

    def test_sharding(self):
        """The blocks as the inner chunks of one shard, and one of them missing."""
        want = self.open()[...]
        chunk = self.meta["chunk_grid"]["configuration"]["chunk_shape"]
        counts = [-(-n // c) for n, c in zip(want.shape, chunk)]
        data, index, hole = b"", b"", [n - 1 for n in counts]
        for at in np.ndindex(*counts):
            block = self.path.joinpath("c", *map(str, at)).read_bytes()
            if list(at) == hole:
                index += b"\xff" * 16
                continue
            index += struct.pack("<QQ", len(data), len(block))
            data += block
        shutil.rmtree(self.path / "c")
        shard = self.path.joinpath("c", *"0" * len(counts))
        shard.parent.mkdir(parents=True)
        shard.write_bytes(data + index)
        self.meta["chunk_grid"]["configuration"]["chunk_shape"] = [n * c for n, c in zip(counts, chunk)]
        self.meta["codecs"] = [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunk, "codecs": self.meta["codecs"], "index_location": "end",
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]
        missing = tuple(slice(k * c, None) for k, c in zip(hole, chunk))
        want[missing] = self.meta["fill_value"] if isinstance(self.meta["fill_value"], (int, float)) else np.nan
        a = self.open()
        np.testing.assert_array_equal(want, a[...])
        np.testing.assert_array_equal(want[0], a[0])


if __name__ == "__main__":
    unittest.main()
