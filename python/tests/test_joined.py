"""Tests of joined archives. They need the program cdfz on PATH, xarray, dask and netCDF4:
python3 -m unittest tests/test_joined.py"""
import os
import pathlib
import pickle
import re
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np
import xarray

import cdfz
from cdfz import _joined
from cdfz._errors import ArchiveDamaged, ArchiveUnsupported
from cdfz._joined import Description, Joined, located
from cdfz.xarray_backend import CdfzBackend

CLASSIC = pathlib.Path(__file__).parents[2] / "testdata/classic"
HEAD = '<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2" xmlns:cdfz="https://github.com/cdfz-format/cdfz/joined-1">'
AGG = HEAD + '<aggregation dimName="t" type="joinExisting">'
END = "</aggregation></netcdf>"


class Joining(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = cls.folder.name
        with xarray.open_dataset(CLASSIC / "cdf2_climate.nc", engine="netcdf4", decode_cf=False) as d:
            cls.want = d.drop_vars("stamp").load()  # text, for which xarray writes another dimension
        for i, part in enumerate((slice(0, 9), slice(9, 10), slice(10, 24))):
            cls.part(f"{i}.nc", cls.want.isel(time=part))
        subprocess.run(["cdfz", "join", "-q", "-o", "all.ncml", "0.nc.cdfz", "1.nc.cdfz", "2.nc.cdfz"], cwd=cls.dir, check=True)
        subprocess.run(["cdfz", "join", "-q", "-o", "new.ncml", "--new", "run", "0.nc.cdfz", "0.nc.cdfz"], cwd=cls.dir, check=True)
        cls.all = os.path.join(cls.dir, "all.ncml")

    @classmethod
    def part(cls, name, data):
        """Makes an archive of a part of the times."""
        name = os.path.join(cls.dir, name)
        data.to_netcdf(name, format="NETCDF3_64BIT", unlimited_dims=["time"])
        cdfz.archive(name, name + ".cdfz", "--preset", "portable")
        os.remove(name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def open(self, name="all.ncml"):
        return xarray.open_dataset(os.path.join(self.dir, name), engine=CdfzBackend, decode_cf=False)

    def test_existing(self):
        with self.open() as d:
            self.assertEqual({"time"}, d.encoding["unlimited_dims"])
            xarray.testing.assert_equal(self.want, pickle.loads(pickle.dumps(d)))
        for key in (slice(3, 20, 5), [23, 0, 9, 9], -1, slice(4, 4), slice(9, 10)):
            with self.subTest(key), self.open() as d:
                xarray.testing.assert_equal(self.want.isel(time=key), d.isel(time=key))
        with self.open() as d:
            xarray.testing.assert_equal(self.want.tas.mean("time"), d.chunk({"time": 5}).tas.mean("time").compute())
        self.assertTrue(CdfzBackend().guess_can_open(self.all))

    def test_new(self):
        one = self.want.isel(time=slice(0, 9))
        with self.open("new.ncml") as d:
            self.assertEqual({"run": 2}, {k: d.sizes[k] for k in d.sizes if k not in one.sizes})
            np.testing.assert_array_equal(one.tas.values[3:5], d.tas.values[1, 3:5])
            np.testing.assert_array_equal(one.time.values, d.time.values)

    def test_read(self):
        """Keys of Joined.read against numpy."""
        d = Joined(self.all)
        n = next(i for i, v in enumerate(d.header.vars) if v.name == b"tas")
        want = self.want.tas.values
        for key in ((), slice(20, 2, -3), (..., 3), (5, 4, 3), (slice(7, 12), 2), (slice(0, 0), slice(1, 3))):
            np.testing.assert_array_equal(want[key], d.read(n, key))
        for key in (24, -25, [3, 24]):
            with self.assertRaises(IndexError):
                d.read(n, key)
        with mock.patch.object(_joined, "OPEN", 1):
            d.read(n)
            self.assertLessEqual(len(d.idle), 1)
        d.close()
        self.assertEqual(0, len(d.idle))

    def test_replaced(self):
        text = pathlib.Path(self.all).read_text()
        for old, new in ((text[text.index('size="') + 6:][:5], "12345"), ('ncoords="1"', 'ncoords="2"'), ('dimName="time"', 'dimName="lat"'), ('dimName="time"', 'dimName="x"')):
            self.assertIn(old, text)
            name = os.path.join(self.dir, "wrong.ncml")
            pathlib.Path(name).write_text(text.replace(old, new))
            with self.subTest(new), self.assertRaises(ArchiveUnsupported):
                Joined(name).read(0)
                Joined(name).read([v.name for v in Joined(name).header.vars].index(b"tas"))
        self.part("other.nc", self.want.isel(time=slice(9, 10)).rename(tas="other"))
        pathlib.Path(self.dir, "wrong.ncml").write_text(AGG.replace('"t"', '"time"') + '<netcdf location="0.nc"/><netcdf location="other.nc"/>' + END)
        with self.assertRaisesRegex(ArchiveUnsupported, "other.nc does not fit: its variables differ"):
            Joined(os.path.join(self.dir, "wrong.ncml"))

    def test_sample(self):
        """Classic members that were archived later are compared by their sample."""
        text = pathlib.Path(self.all).read_text()
        self.assertEqual(3, text.count("cdfz:sample="))
        plain = re.sub(r' cdfz:sha256="[0-9a-f]*"', "", text)
        for wrong in (False, True):
            name = os.path.join(self.dir, "sampled.ncml")
            pathlib.Path(name).write_text(re.sub('sample="1:[0-9a-f]{32}', 'sample="1:' + "0" * 32, plain) if wrong else plain)
            with self.subTest(wrong):
                if wrong:
                    with self.assertRaisesRegex(ArchiveUnsupported, "replaced since it was joined"):
                        Joined(name)
                else:
                    d = Joined(name)
                    d.read([v.name for v in d.header.vars].index(b"tas"))
                    d.close()

    def test_ncml(self):
        member = '<netcdf location="a.nc" ncoords="1"/>'
        self.assertEqual("a.nc", Description("x", AGG + member + END).members[0].location)
        for text in ("", "hello", "<html/>", HEAD + "</netcdf>", "<!DOCTYPE a>" + AGG + member + END, AGG + '<scan location="d"/>' + END, HEAD + '<aggregation dimName="t" type="union">' + member + END,
                     AGG + '<netcdf location="a" coordValue="1"/>' + END, AGG + '<netcdf location="a" cdfz:later="1"/>' + END):
            with self.subTest(text), self.assertRaises(ArchiveUnsupported):
                Description("x", text)
        for text in (AGG + member, AGG + END, AGG + '<netcdf ncoords="1"/>' + END, AGG + '<netcdf location="a" ncoords="-1"/>' + END):
            with self.subTest(text), self.assertRaises(ArchiveDamaged):
                Description("x", text)

    def test_located(self):
        self.assertEqual(os.path.join("x", "a.nc.cdfz"), located(os.path.join("x", "t.ncml"), "a.nc"))
        self.assertEqual("https://example.org/y/a.nc.cdfz?k=1", located("https://example.org/x/t.ncml?k=1", "../y/a.nc"))
        for location in ("https://other.org/a.nc", "/etc/a.nc"):
            with self.assertRaises(ArchiveUnsupported):
                located("https://example.org/t.ncml", location)
