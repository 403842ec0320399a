"""What a report of a problem should contain."""
import importlib
import platform
import sys

from . import _cache, _compressed, _files, _native, _program


def show_versions(file=None):
    """Prints the versions of cdfz and of what it uses, the program that is found, and which decoder is active, to a
    text file, sys.stdout if it is None."""
    from . import __version__

    try:
        program = _program.program()
    except FileNotFoundError:
        program = "none"
    rows = [("cdfz", __version__), ("decoder of lorenz", _native.describe()), ("zstd", _compressed.zstd_library() or "plain Python"),
            ("program", program), ("files kept open", _files.descriptors.limit), ("bytes of decoded blocks kept", _cache.shared.limit),
            ("python", platform.python_version()), ("platform", platform.platform())]
    for name in ("numpy", "xarray", "dask", "netCDF4", "numcodecs", "zarr", "fsspec"):
        try:
            rows.append((name, getattr(importlib.import_module(name), "__version__", "without a version")))
        except ImportError:
            rows.append((name, "none"))
    for name, what in rows:
        print(f"{name}: {what}", file=file or sys.stdout)
