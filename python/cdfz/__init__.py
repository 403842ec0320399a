"""Reads the numeric codec of cdfz archives in Python: numpy only, numcodecs for Zarr.

    import cdfz, xarray, zarr
    cdfz.register()                       # not needed once the package is installed
    xarray.open_zarr(zarr.storage.ZipStore("x.nc.cdfz", mode="r"))
"""
from .lorenz import DamagedBlock, LorenzError, ParameterError, decode

__all__ = ["decode", "register", "LorenzError", "ParameterError", "DamagedBlock"]
__version__ = "0.1.0"


def register():
    """Registers the codec `lorenz` with numcodecs, and so with Zarr."""
    from numcodecs.registry import register_codec

    from .codec import Lorenz

    register_codec(Lorenz)
