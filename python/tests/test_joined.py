"""Tests of joined archives. They need the program cdfz on PATH, xarray, dask and netCDF4:
python3 -m unittest tests/test_joined.py"""
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np
import xarray

import cdfz
from cdfz import _joined, _times
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
        for key in (24, -25, [3, 24], 1.5, [True, False]):
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

    def test_reopened(self):
        """A dataset is of the files that it was opened with, wherever the program is now, or an error."""
        self.join("again.ncml", "0.nc.cdfz", "1.nc.cdfz")
        pathlib.Path(self.dir, "plain.ncml").write_text(AGG.replace('"t"', '"time"') + '<netcdf location="4.nc"/><netcdf location="5.nc"/>' + END)
        for name in "4.nc.cdfz", "5.nc.cdfz":  # of which the description says nothing
            shutil.copyfile(os.path.join(self.dir, "1.nc.cdfz"), os.path.join(self.dir, name))
        before = os.getcwd()
        try:
            os.chdir(self.dir)
            sets = [xarray.open_dataset(name, engine=CdfzBackend, decode_cf=False) for name in ("again.ncml", "plain.ncml")]
            texts = [pickle.dumps(d) for d in sets]
            os.chdir("/")
            for d in *sets, *map(pickle.loads, texts):
                np.testing.assert_array_equal(self.want.tas[9], d.tas[-1])
        finally:
            os.chdir(before)
        self.join("again.ncml", "1.nc.cdfz", "2.nc.cdfz")
        with self.assertRaisesRegex(OSError, "replaced since it was opened.*again.ncml"):
            pickle.loads(texts[0])
        self.part("6.nc", self.want.isel(time=slice(10, 11)))
        os.replace(os.path.join(self.dir, "6.nc.cdfz"), os.path.join(self.dir, "5.nc.cdfz"))
        texts[1] = pickle.dumps(sets[1])
        sets[1].close()
        for read in (lambda: sets[1].tas.values, lambda: pickle.loads(texts[1]).tas.values):
            with self.assertRaisesRegex(OSError, "replaced since"):
                read()

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

    def gen(self, name, units, times, calendar="", extra="", half=0.5):
        """Makes an archive with times and their bounds."""
        bounds = ", ".join(f"{float(t) - half}, {float(t) + half}" if t < 1e20 else "_, _" for t in times)
        pathlib.Path(self.dir, name + ".cdl").write_text(f"""netcdf {name} {{ dimensions: time = UNLIMITED ; two = 2 ; variables:
            double time(time) ; time:units = "{units}" ; time:bounds = "bnds" ; {f'time:calendar = "{calendar}" ;' if calendar else ''} {extra}
            double bnds(time, two) ; float v(time) ;
            data: time = {', '.join(str(t) for t in times)} ; bnds = {bounds} ; v = {', '.join(str(t) for t in times)} ; }}""")
        subprocess.run(["cdfz", "gen", "-q", "-f", "-o", name + ".nc.cdfz", name + ".cdl"], cwd=self.dir, check=True)
        return name + ".nc.cdfz"

    def same(self, name):
        """Compares all values with those of the restored file."""
        restored = os.path.join(self.dir, "restored.nc")
        subprocess.run(["cdfz", "restore", "-q", "-f", "-o", restored, name], cwd=self.dir, check=True)
        with xarray.open_dataset(restored, engine="netcdf4", decode_cf=False) as want, self.open(name) as found:
            xarray.testing.assert_identical(want.load(), found.load())
            for key in ([-1, 0, 2], slice(None, None, -2)):
                xarray.testing.assert_identical(want.isel(time=key), found.isel(time=key))
        with xarray.open_dataset(restored, engine="netcdf4") as want, xarray.open_dataset(os.path.join(self.dir, name), engine=CdfzBackend) as found:
            np.testing.assert_array_equal(want.time.values, found.time.values)
        os.remove(restored)

    def join(self, name, *members):
        subprocess.run(["cdfz", "join", "-q", "-f", "--skip-missing", "-o", name, *members], cwd=self.dir, check=True)
        return pathlib.Path(self.dir, name).read_text()

    def test_units(self):
        """Times in other units of the same calendar, and other spellings of the same."""
        first = self.gen("u0", "days since 1998-01-16", [0, 15.5])
        text = self.join("units.ncml", first, self.gen("u1", "Days since 1998-1-16 00:00:00 0:00", [31, 46.5], "gregorian"))
        self.assertNotIn("timeUnitsChange", text)
        self.same("units.ncml")
        text = self.join("units.ncml", first, self.gen("u2", "hours since 1998-02-16 06:00", [-6, 366], "standard", half=12), self.gen("u3", "seconds since 1998-03-31T03:30:00.5 +03:30", [-0.5], "STANDARD", half=0))
        self.assertIn('timeUnitsChange="true"', text)
        self.same("units.ncml")
        pathlib.Path(self.dir, "units.ncml").write_text(text.replace(' timeUnitsChange="true"', ""))
        with self.assertRaisesRegex(ArchiveUnsupported, "u2.nc does not fit: variable 'time' differs"):
            Joined(os.path.join(self.dir, "units.ncml")).read(0)
        for name, units, calendar in (("u4", "hours since 1998-02-16", "noleap"), ("u5", "days as %Y%m%d", "")):
            self.gen(name, units, [1], calendar)
            pathlib.Path(self.dir, "units.ncml").write_text(AGG.replace('"t"', '"time" timeUnitsChange="true"') + f'<netcdf location="u0.nc"/><netcdf location="{name}.nc"/>' + END)
            with self.subTest(units), self.assertRaisesRegex(ArchiveUnsupported, "variable 'time' differs"):
                Joined(os.path.join(self.dir, "units.ncml"))
        self.gen("u6", "hours since 1998-02-16", [1])  # a third of a day
        pathlib.Path(self.dir, "units.ncml").write_text(AGG.replace('"t"', '"time" timeUnitsChange="true"') + '<netcdf location="u0.nc"/><netcdf location="u6.nc"/>' + END)
        with self.assertRaisesRegex(ArchiveUnsupported, "1.0 is no exact time in the units of the first file"):
            Joined(os.path.join(self.dir, "units.ncml")).read(0)

    def test_calendars(self):
        """Conversions in all calendars are those of the program."""
        for n, (calendar, a, b) in enumerate((("standard", "1582-10-04", "1582-10-15"), ("proleptic_gregorian", "1582-10-04", "1582-10-15"), ("julian", "1900-2-29", "1900-03-01"),
                                              ("noleap", "2000-02-28", "2001-3-1"), ("365_day", "1-1-1", "1850-7-1"), ("all_leap", "1999-02-29", "1999-3-1"), ("360_day", "1999-02-30", "2005-3-1"))):
            with self.subTest(calendar):
                self.join("calendar.ncml", self.gen(f"c{n}", f"days since {a}", [0, 0.5], calendar), self.gen(f"d{n}", f"minutes since {b} 00:00", [1440, 2880], calendar, half=720))
                self.same("calendar.ncml")

    def test_parts(self):
        """Records that are left out, of the first file, too."""
        missing = "time:_FillValue = 1e30 ;"
        text = self.join("parts.ncml", self.gen("p0", "days since 1998-01-16", [1e30, 0, 1e30, 1, 2], extra=missing), self.gen("p1", "days since 1998-01-16", [1e30, 3, 4], extra=missing))
        self.assertEqual(3, text.count("cdfz:start="))
        self.same("parts.ncml")
        pathlib.Path(self.dir, "parts.ncml").write_text(text.replace('ncoords="2" cdfz:start="3"', 'ncoords="3" cdfz:start="3"'))
        with self.assertRaisesRegex(ArchiveUnsupported, "expected 3 indices"):
            Joined(os.path.join(self.dir, "parts.ncml")).read(0)
        # both at once
        self.join("both.ncml", "p0.nc.cdfz", self.gen("p2", "hours since 1998-01-16", [1e30, 120, 144], extra=missing, half=12))
        self.same("both.ncml")

    def test_spellings(self):
        """Units are read as the program reads them, or not at all."""
        for text, want in (("days since 2000-01-01", 946684800), ("day since 2000-1-1T06:30:05.25Z", 946708205.25), ("s since 2000-01-01 00:00 -01:30", 946690200), ("h since 2000-01-01 12:00:00 UTC", 946728000),
                           ("days since 2000-13-01", None), ("days since 2001-02-29", None), ("days since 2000-01-01 24:00", None), ("days since 0000-01-01", None), ("days since 1582-10-10", None),
                           ("months since 2000-01-01", None), ("days since 2000-01-01 -06:00", None), ("days since 2000-01-01 12:00 6", None), ("days since 2000-01-01 EST", None), ("days", None), ("", None)):
            found = _times.parse(text, "gregorian")
            self.assertEqual(want, None if found is None else found[2] / 1e9, text)

    def test_ncml(self):
        member = '<netcdf location="a.nc" ncoords="1"/>'
        self.assertEqual("a.nc", Description("x", AGG + member + END).members[0].location)
        for text in ("", "hello", "<html/>", HEAD + "</netcdf>", "<!DOCTYPE a>" + AGG + member + END, AGG + '<scan location="d"/>' + END, HEAD + '<aggregation dimName="t" type="union">' + member + END,
                     AGG + '<netcdf location="a" coordValue="1"/>' + END, AGG + '<netcdf location="a" cdfz:later="1"/>' + END):
            with self.subTest(text), self.assertRaises(ArchiveUnsupported):
                Description("x", text)
        for text in (AGG + member, AGG + END, AGG + '<netcdf ncoords="1"/>' + END, AGG + '<netcdf location="a" ncoords="-1"/>' + END, AGG + '<netcdf location="a" cdfz:start="1"/>' + END):
            with self.subTest(text), self.assertRaises(ArchiveDamaged):
                Description("x", text)

    def test_located(self):
        self.assertEqual(os.path.join("x", "a.nc.cdfz"), located(os.path.join("x", "t.ncml"), "a.nc"))
        self.assertEqual("https://example.org/y/a.nc.cdfz?k=1", located("https://example.org/x/t.ncml?k=1", "../y/a.nc"))
        for location in ("https://other.org/a.nc", "/etc/a.nc"):
            with self.assertRaises(ArchiveUnsupported):
                located("https://example.org/t.ncml", location)
