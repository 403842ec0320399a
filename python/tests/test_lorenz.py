"""Tests of the decoder. They do not need the program cdfz: python3 -m unittest tests/test_lorenz.py"""
import dataclasses
import hashlib
import json
import pathlib
import pickle
import random
import re
import tracemalloc
import unittest
from unittest import mock

import numpy as np
import numcodecs

import cdfz
from cdfz import _chunks, lorenz
from cdfz._chunks import LorenzChunks
from cdfz._filters import decode
from cdfz.codec import Lorenz

TESTDATA = pathlib.Path(__file__).parents[2] / "lorenz/testdata"


def vectors(folder="vectors"):
    for path in sorted((TESTDATA / folder).iterdir()):
        head, _, block = path.read_bytes().partition(b"\n\n")
        fields = dict(line.split(": ") for line in head.decode().splitlines())
        yield path.name, lorenz.Parameters.from_vector([int(x) for x in fields["parameters"].split()]), block, fields.get("sha256")


class Decoder(unittest.TestCase):
    def test_vectors(self):
        names = set()
        for name, p, block, want in [*vectors(), *vectors("blocks")]:
            with self.subTest(name):
                if want is None:
                    self.assertRaises(cdfz.DamagedBlock, lorenz.decode_block, block, p)
                else:
                    out = lorenz.decode_block(block, p)
                    self.assertEqual(want, hashlib.sha256(out).hexdigest())
                    self.assertTrue(out.flags.writeable)
            names.add(name)
        self.assertIn("float4cell64", names)

    def test_memory(self):
        """Blocks of a few bytes take what `lorenz.memory` states, and are refused where that is too much."""
        def uv(v):
            return bytes([v & 127 | 128, *uv(v >> 7)]) if v > 127 else bytes([v])

        n, groups = 1 << 18, bytes(5)
        for kind, size in (1, 1), (4, 4), (5, 4), (6, 8), (11, 8):
            wide = 128 if size == 8 else 0
            p = lorenz.Parameters.from_vector([1, kind, 0, 1, n])
            for block in (bytes([2, 16 | wide, 0, 0]) + uv(n // 2) + bytes([0, 1, 0, 0, 0, 0]) + groups,    # repeats
                          bytes([2, 2 | wide, 0, 0]) + bytes(2 * size) + uv(1) + uv(n) + bytes([0, 2]) + groups,  # masks
                          bytes([2, 64 | wide, 0, 0]) + uv(n - 1) + bytes([0, 1]) + bytes((n - 1) * size) + groups,  # patches
                          bytes([5, wide, 0, 0, 0, 2, 0, 0, 0, 0]) + groups):  # references
                with self.subTest(kind=kind, block=block[:20].hex()):
                    chain, most = [{"id": 52723, "params": [1, kind, 0, 1, n]}], lorenz.memory(block, p)
                    with self.assertRaises(cdfz.ArchiveUnsupported):
                        decode(chain, block, n * size, 0, most - 1)
                    tracemalloc.start()
                    self.assertEqual(n * size, len(decode(chain, block, n * size, 0, most)))
                    self.assertLessEqual(tracemalloc.get_traced_memory()[1], most + n * size)
                    tracemalloc.stop()

    def test_columns(self):
        """A block that claims more columns than it has room for is refused before memory is taken for them."""
        p = lorenz.Parameters(type=lorenz.INT8, shape=(1 << 30,))
        block = bytes([8, 32, 0, 128, 128, 128, 128, 4, 32, 0, 0, 0, 0, 1]) + bytes(11)
        tracemalloc.start()
        self.assertRaises(cdfz.DamagedBlock, lorenz.decode_slowly, block, p)
        self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 16)
        tracemalloc.stop()

    def test_damage(self):
        """Damage is detected or decodes to data of the right length. No other exception is raised."""
        rnd = random.Random(1)
        for name, p, block, want in vectors():
            if want is None:
                continue
            for n in range(0, len(block), 1 + len(block) // 6):
                with self.assertRaises(cdfz.DamagedBlock, msg=f"{name} cut at {n}"):
                    lorenz.decode_block(block[:n], p)
            self.assertRaises(cdfz.DamagedBlock, lorenz.decode_block, block + b"\0", p)
            for _ in range(6):
                bad = bytearray(block)
                bad[rnd.randrange(min(len(bad), rnd.choice((30, 1000))))] ^= 1 << rnd.randrange(8)
                try:
                    self.assertEqual(p.n * p.size, len(lorenz.decode_block(bad, p)), name)
                except cdfz.DamagedBlock as e:
                    self.assertIsInstance(e, ValueError)
                    self.assertTrue(str(e).startswith("lorenz: damaged block: "))

    def test_parameters(self):
        for bad in (dict(version=2), dict(type=0), dict(type=12), dict(type="f4"), dict(type=True), dict(order=2), dict(shape=5),
                    dict(shape=[-1]), dict(shape=[2.0]), dict(shape=[1 << 31]), dict(shape=[1 << 20, 1 << 20])):
            self.assertRaises(cdfz.ParameterError, lorenz.Parameters, **bad)
        for bad in ([], [1, 5, 0], [1, 5, 0, 2, 3], [1, 5, 0, 1, 3, 4, 5]):
            self.assertRaises(cdfz.ParameterError, lorenz.Parameters.from_vector, bad)
        self.assertEqual(12, lorenz.Parameters.from_vector([1, 5, 0, 2, 3, 4, 2]).n)

    def test_decode(self):
        self.assertEqual(b"\1\2\1\2\1\2", cdfz.decode(b"\1\1\2", type=3, shape=(3,)).tobytes())


class Numcodecs(unittest.TestCase):
    config = {"id": "lorenz", "version": 1, "type": 3, "order": 0, "shape": [2, 3]}

    def test_codec(self):
        cdfz.register()
        codec = numcodecs.get_codec(dict(self.config))
        self.assertIsInstance(codec, Lorenz)
        self.assertEqual(self.config, codec.get_config())
        self.assertEqual(codec, numcodecs.get_codec(codec.get_config()))
        self.assertEqual(codec, pickle.loads(pickle.dumps(codec)))
        self.assertRaisesRegex(NotImplementedError, "read-only", codec.encode, b"")
        want = np.full((2, 3), 258, ">i2")
        for buf in (b"\1\1\2", bytearray(b"\1\1\2"), np.frombuffer(b"\1\1\2", "u1"), np.frombuffer(b"\1\1\2", "i1")):
            out = codec.decode(buf)
            self.assertTrue((out.view(">i2").reshape(2, 3) == want).all())
        out = np.zeros((2, 3), ">i2")
        codec.decode(b"\1\1\2", out=out)
        self.assertTrue((out == want).all())
        self.assertRaises(ValueError, codec.decode, b"\1\1")
        self.assertRaises(ValueError, numcodecs.get_codec, dict(self.config, version=2))


class Chunks(unittest.TestCase):
    """The codec of Zarr format 3 without zarr. test_zarr3 has the rest."""

    config = {"version": 1, "type": 3, "order": 0, "shape": [2, 3]}

    def parse(self, **config):
        return LorenzChunks.from_dict({"name": "cdfz.lorenz", "configuration": config})

    def test_json(self):
        codec = self.parse(**self.config)
        data = json.loads(json.dumps(codec.to_dict()))
        self.assertEqual({"name": "cdfz.lorenz", "configuration": self.config}, data)
        self.assertEqual(codec, LorenzChunks.from_dict(data))
        self.assertEqual(codec, self.parse(type=3, shape=[2, 3]))
        self.assertEqual(hash(codec), hash(pickle.loads(pickle.dumps(codec))))
        with self.assertRaises(dataclasses.FrozenInstanceError):
            codec.type = 5

    def test_wrong_json(self):
        for config, words in (({}, "expected the keys .* found none"), ({"type": 3}, "found type$"),
                              (dict(self.config, level=3), "found version, type, order, shape, level"), (dict(self.config, version=2), "version 1, found 2"),
                              (dict(self.config, type=12), "found 12"), (dict(self.config, order=2), "found 2"),
                              (dict(self.config, shape=5), "list of dimensions, found 5"), (dict(self.config, shape=[1 << 31]), "dimensions of 0 to")):
            with self.subTest(words), self.assertRaisesRegex(cdfz.ParameterError, words):
                self.parse(**config)
        for data in (None, {"name": "cdfz.lorenz"}, {"name": "lorenz", "configuration": self.config}, {"name": "cdfz.lorenz", "configuration": [1]}):
            self.assertRaises(cdfz.ParameterError, LorenzChunks.from_dict, data)

    def test_check(self):
        codec = self.parse(**self.config)
        codec.check((2, 3), 2)
        codec.check((6,), 2)
        self.parse(type=3, shape=[]).check((), 2)
        for shape, size in (((2, 4), 2), ((), 2), ((2, 3), 4), ((3,), 4)):
            want = re.escape(f"shape {list(shape)} with elements of {size} bytes, found type 3, of 2 bytes, and shape [2, 3]")
            with self.assertRaisesRegex(cdfz.ParameterError, want):
                codec.check(shape, size)

    def test_decode(self):
        codec = self.parse(**self.config)
        self.assertEqual(b"\1\2" * 6, codec.decode_chunk(b"\1\1\2").tobytes())
        self.assertRaises(cdfz.DamagedBlock, codec.decode_chunk, b"\1\1")
        self.assertRaises(cdfz.DamagedBlock, codec.decode_chunk, b"")
        with mock.patch.object(_chunks, "MEMORY", -1), self.assertRaisesRegex(cdfz.ArchiveUnsupported, "memory"):
            codec.decode_chunk(b"\1\1\2")
        with mock.patch.object(_chunks, "MEMORY", -1), self.assertRaisesRegex(cdfz.ArchiveUnsupported, "memory"):
            Lorenz(type=3, shape=[6]).decode(b"\1\1\2")


if __name__ == "__main__":
    unittest.main()
