"""Tests of URLs. They need the program cdfz on PATH and xarray: python3 -m unittest tests/test_sources.py"""
import http.server
import os
import pathlib
import pickle
import re
import tempfile
import threading
import unittest

import cdfz

CLASSIC = pathlib.Path(__file__).parents[2] / "testdata/classic"


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves server.files. Below /ranges/ with ranges, elsewhere whole files."""

    def do_GET(self):
        path = self.path.partition("?")[0]
        content = self.server.files.get(path.rpartition("/")[2])
        if "/closed/" in path:
            return self.send_error(403)
        if content is None:
            return self.send_error(404)
        etag = f'"{hash(content)}"'
        if self.headers.get("If-Match") not in (None, etag):
            return self.send_error(412)
        first, last = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers["Range"]).groups()
        size = len(content)
        if "/ranges/" in path or "/endless/" in path:
            start, end = (int(first), min(size, int(last) + 1)) if first else (max(0, size - int(last)), size)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
            content = content[start:end]
        else:
            self.send_response(200)
        self.send_header("ETag", etag)
        if "/endless/" not in path:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if "/cut/" in path:
            content = content[:-1]
        if "/endless/" in path:
            self.server.sent = 0
            try:
                while self.server.sent < 1 << 30:
                    self.server.sent += self.wfile.write(bytes(1 << 16))
            except OSError:
                return
        try:
            self.wfile.write(content)
        except OSError:                        # the client has seen enough
            pass

    def log_message(self, *_):
        pass


class URLs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.name = os.path.join(cls.dir.name, "a.nc.cdfz")
        cls.image = (CLASSIC / "cdf2_climate.nc").read_bytes()
        cdfz.archive(CLASSIC / "cdf2_climate.nc", cls.name, "--preset", "portable")
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        cls.server.files = {}
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.at = f"http://127.0.0.1:{cls.server.server_address[1]}"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        cls.dir.cleanup()

    def setUp(self):
        self.server.files.clear()
        self.server.files["a.nc.cdfz"] = pathlib.Path(self.name).read_bytes()

    def test_ranges(self):
        f = cdfz.open(self.at + "/ranges/a.nc.cdfz")
        self.assertEqual(self.image, f.read())

    def test_without_ranges(self):
        """Small files need no ranges. Large ones name what works."""
        f = cdfz.open(self.at + "/a.nc.cdfz")
        self.assertEqual(self.image, f.read())
        self.server.files["large.nc.cdfz"] = bytes(2 << 20)
        with self.assertRaisesRegex(OSError, r"/large.nc.cdfz: the server does not serve ranges.*fsspec.open\('simplecache::'"):
            cdfz.open(self.at + "/large.nc.cdfz")

    def test_errors(self):
        """Errors name the URL, without its password and its query."""
        for path, kind, want in (("/ranges/none.nc.cdfz", FileNotFoundError, "HTTP status 404"), ("/closed/a.nc.cdfz", PermissionError, "HTTP status 403")):
            with self.assertRaisesRegex(kind, f"{self.at}{path}: {want}") as failed:
                cdfz.open_dataset(self.at + path + "?signature=secret")
            self.assertNotIn("secret", str(failed.exception))
        with self.assertRaisesRegex(OSError, r"http://127.0.0.1:9/x.nc.cdfz: .*refused"):
            cdfz.open("http://127.0.0.1:9/x.nc.cdfz")

    def test_wrong_length(self):
        """An answer that is too long is not read to its end, and one that is cut off is an error that names the URL."""
        with self.assertRaisesRegex(OSError, "/endless/a.nc.cdfz: expected at most 4096 bytes, found more"):
            cdfz.open(self.at + "/endless/a.nc.cdfz")
        self.assertLess(self.server.sent, 1 << 29)
        for path in "/ranges/cut/a.nc.cdfz", "/cut/a.nc.cdfz":
            with self.assertRaisesRegex(OSError, f"{path}: IncompleteRead"):
                cdfz.open(self.at + path)

    def test_replaced(self):
        """A file that was replaced is an error, also after unpickling."""
        url = self.at + "/ranges/a.nc.cdfz?signature=secret"
        a = cdfz.Archive(url)
        text = pickle.dumps(a)
        self.assertEqual(b"CDF\2", pickle.loads(text).image(0, 4).tobytes())
        content = self.server.files["a.nc.cdfz"]
        self.server.files["a.nc.cdfz"] = content[:5000] + b"?" + content[5001:]
        with self.assertRaisesRegex(OSError, "changed since it was opened"):
            a.image(0, len(self.image))
        with self.assertRaisesRegex(OSError, "changed since it was opened"):
            pickle.loads(text)


if __name__ == "__main__":
    unittest.main()
