"""Compares archives with their originals by the Python package. Standard input has a line for each
pair: ORIGINAL TAB ARCHIVE. For each pair one line is printed: "ok", "unread" if xarray cannot open
the original, or what differs."""
import io
import os
import random
import sys
import traceback
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
import cdfz
import xarray
from cdfz.xarray_backend import Store

warnings.simplefilter("ignore")
MOST = 64 << 20
rnd = random.Random(1)


def compare_image(original, file):
    size = os.path.getsize(original)
    assert file.size == size and file.seek(0, io.SEEK_END) == size
    with open(original, "rb") as f:
        for _ in range(5):
            off = rnd.randrange(size)
            n = rnd.randrange(1, min(size - off, rnd.choice((10, 5000))) + 1)
            f.seek(off)
            file.seek(off)
            assert f.read(n) == file.read(n), f"bytes {off} to {off + n}"
        f.seek(0)
        file.seek(0)
        assert f.read() == file.read(), "image"


def compare(original, archive):
    a = cdfz.Archive(archive, block_cache=1 << 28)   # every block is decoded once: lorenz is slow in Python
    compare_image(original, cdfz.ImageFile(a))
    for decode in True, False:
        def opened(name, engine=None):
            return xarray.open_dataset(name, engine=engine, decode_cf=decode)
        try:
            want = opened(original, "netcdf4")
        except Exception as e:
            try:
                opened(Store(a))
            except Exception as mine:
                if type(mine) is type(e):
                    continue
                return f"{type(mine).__name__}: {mine} instead of {type(e).__name__}: {e}"
            continue
        with want:
            got = opened(Store(a))
            large = [k for k, v in want.variables.items() if v.nbytes > MOST]
            want, got = want.drop_vars(large), got.drop_vars(large)
            xarray.testing.assert_identical(want.load(), got.load())
            for k in want.variables:
                assert want[k].dtype == got[k].dtype, f"{k}: {got[k].dtype} instead of {want[k].dtype}"
    return "ok"


for line in sys.stdin:
    try:
        print(compare(*line.rstrip("\n").split("\t")).replace("\n", " "), flush=True)
    except Exception as e:
        where = traceback.extract_tb(e.__traceback__)[-1]
        print(f"{type(e).__name__}: {e} ({os.path.basename(where.filename)}:{where.lineno})".replace("\n", " | "), flush=True)
