"""Tests of volumes. They need the program cdfz on PATH and xarray: python3 -m unittest tests/test_volumes.py"""
import functools
import gc
import http.server
import os
import pathlib
import pickle
import subprocess
import tempfile
import threading
import unittest

import cdfz
from cdfz import _files, _volumes
from cdfz._sources import named

CLASSIC = pathlib.Path(__file__).parents[2] / "testdata/classic"


class Volumes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory()
        dir = pathlib.Path(cls.tmp.name)
        (dir / "arch/1987").mkdir(parents=True)
        cls.image = (CLASSIC / "cdf2_climate.nc").read_bytes()
        cdfz.archive(CLASSIC / "cdf2_climate.nc", dir / "arch/1987/tas.nc.cdfz", "--preset", "portable")
        os.link(dir / "arch/1987/tas.nc.cdfz", dir / "arch/1987/twin.nc.cdfz")
        os.symlink("1987", dir / "arch/latest")
        os.symlink("loop", dir / "arch/loop")
        os.symlink("/etc/passwd", dir / "arch/out")
        os.symlink("1987/../" * 100 + "loops", dir / "arch/loops")
        os.symlink("1987", dir / "arch/link1")
        for i in range(2, 42):
            os.symlink(f"link{i - 1}", dir / f"arch/link{i}")
        (dir / "arch/many").mkdir()
        for i in range(3000):                  # several blocks of the index
            (dir / f"arch/many/{i:04}").touch()
        subprocess.run(["cdfz", "pack", "-q", "-o", "0001.tar", "arch/"], cwd=dir, check=True)
        cls.tar = str(dir / "0001.tar")

    @classmethod
    def tearDownClass(cls):
        cls.tmp.cleanup()

    def test_member(self):
        for name in "1987/tas.nc.cdfz", "1987/twin.nc.cdfz", "latest/tas.nc.cdfz":
            with cdfz.open(self.tar + "/" + name) as f:
                self.assertEqual(f.read(), self.image)
        ds = cdfz.open_dataset(self.tar + "/1987/tas.nc.cdfz")
        self.assertIn("tas", ds)
        again = pickle.loads(pickle.dumps(ds))
        self.assertTrue(again.tas.equals(ds.tas))
        for name in "none", "1987", "loop", "out", "1987/none", "../x", "latest":
            with self.assertRaises(FileNotFoundError):
                cdfz.open(self.tar + "/" + name)

    def test_links(self):
        """A path may lead over 40 links, and finding each part may cost decoding a block."""
        whole, asked = named(self.tar), []
        v = _volumes.Volume(whole)
        find = v.find
        v.find = lambda whole, path: asked.append(path) or find(whole, path)
        self.assertIsNotNone(v.resolve(whole, b"link40/tas.nc.cdfz"))
        self.assertIsNone(v.resolve(whole, b"link41/tas.nc.cdfz"))
        asked.clear()
        self.assertIsNone(v.resolve(whole, b"loop"))
        self.assertLessEqual(len(asked), 41)
        self.assertIsNone(v.resolve(whole, b"loops"))
        self.assertLessEqual(len(asked), 8300)

    def test_replaced(self):
        """A volume of the same length in the place of another one is an error for those that opened the first."""
        dir = pathlib.Path(self.tmp.name, "replaced")
        for n in 0, 1:                         # images that differ in a value, stored as they are
            (dir / f"arch{n}").mkdir(parents=True)
            image = dir / f"{n}.nc"
            image.write_bytes(self.image[:-5] + bytes([n]) + self.image[-4:])
            cdfz.archive(image, dir / f"arch{n}/x.nc.cdfz", "-F", "*,2,4")
            os.utime(dir / f"arch{n}/x.nc.cdfz", (1, 1))
            os.utime(dir / f"arch{n}", (1, 1))
            subprocess.run(["cdfz", "pack", "-q", "--time", "2026-01-01T00:00:00Z", "-o", f"{n}.tar", f"arch{n}/"], cwd=dir, check=True)
        self.assertEqual((dir / "0.tar").stat().st_size, (dir / "1.tar").stat().st_size)
        name = str(dir / "0.tar/x.nc.cdfz")
        first = cdfz.Archive(name)
        text = pickle.dumps(first)
        os.replace(dir / "1.tar", dir / "0.tar")
        second = cdfz.Archive(name)
        size = len(self.image)
        self.assertEqual([0, 1], [a.image(size - 5, 1)[0] for a in (first, second)])
        first.close()
        second.close()
        self.assertEqual(1, second.image(size - 5, 1)[0])
        for read in (lambda: first.image(size - 5, 1), lambda: pickle.loads(text)):
            with self.assertRaisesRegex(OSError, "replaced since it was opened"):
                read()

    def test_descriptors(self):
        """A volume is not kept open when all of its members are gone."""
        a = cdfz.Archive(self.tar + "/1987/tas.nc.cdfz")
        key = a.source.whole.key
        self.assertIn(key, _files.descriptors.entries)
        del a
        gc.collect()
        with _files.descriptors:
            self.assertNotIn(key, _files.descriptors.entries)

    def test_all(self):
        whole = named(self.tar)
        v = _volumes.Volume(whole)
        self.assertGreater(len(v.blocks), 1)
        for i in range(0, 3000, 7):
            self.assertEqual(v.resolve(whole, b"many/%04d" % i)[1], 0)
            self.assertIsNone(v.find(whole, b"many/%04dx" % i))

    def test_url(self):
        class Ranges(http.server.SimpleHTTPRequestHandler):
            valid = "signed"

            def do_GET(self):
                if self.path.partition("?")[2] not in (self.valid, ""):
                    return self.send_error(403)
                try:
                    content = pathlib.Path(self.translate_path(self.path)).read_bytes()
                except OSError:
                    return self.send_error(404)
                first, last = self.headers["Range"].removeprefix("bytes=").split("-")
                start, end = (int(first), min(len(content), int(last) + 1)) if first else (max(0, len(content) - int(last)), len(content))
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
                self.send_header("Content-Length", str(end - start))
                self.send_header("ETag", '"1"')
                self.end_headers()
                self.wfile.write(content[start:end])

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=self.tmp.name))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            at = f"http://127.0.0.1:{server.server_address[1]}/"
            with cdfz.open(at + "0001.tar/1987/tas.nc.cdfz?signed") as f:
                self.assertEqual(f.read(), self.image)
            with self.assertRaises(FileNotFoundError):
                cdfz.open(at + "0001.tar/none")
            Ranges.valid = "signed=again"      # the same volume with another signature
            with cdfz.open(at + "0001.tar/1987/tas.nc.cdfz?signed=again") as f:
                self.assertEqual(f.read(), self.image)
        finally:
            server.shutdown()

    def test_damage(self):
        whole = pathlib.Path(self.tar).read_bytes()
        at = whole.rindex(b"cdfz volume 1 index")
        for b in whole[:at], whole[:at + 100] + b"x" + whole[at + 101:], whole[:at - 3] + b"x" + whole[at - 2:]:
            name = os.path.join(self.tmp.name, "bad.tar")
            pathlib.Path(name).write_bytes(b)
            try:
                with cdfz.open(name + "/1987/tas.nc.cdfz") as f:
                    self.assertEqual(f.read(), self.image)
            except (cdfz.ArchiveDamaged, cdfz.ArchiveUnsupported):
                pass


if __name__ == "__main__":
    unittest.main()
