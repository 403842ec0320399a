"""Reads cdfz archives in Python: numpy, and a library for zstd.

    xarray.open_dataset("x.nc.cdfz")      # once the package is installed
    cdfz.open("x.nc.cdfz")                # the netCDF file as an open file, for netCDF4, scipy and others
    cdfz.Archive("x.nc.cdfz")             # header and values without xarray
    cdfz.archive("x.nc")                  # runs the program cdfz

The first three also take an http or https URL, an open binary file, or bytes instead of a name.
"""
from ._archive import Archive
from ._errors import ArchiveDamaged, ArchiveError, ArchiveUnsupported
from ._image import ImageFile
from ._program import archive
from .lorenz import DamagedBlock, LorenzError, ParameterError, decode

__all__ = ["open", "archive", "Archive", "ImageFile", "ArchiveError", "ArchiveDamaged", "ArchiveUnsupported",
           "decode", "register", "LorenzError", "ParameterError", "DamagedBlock"]
__version__ = "0.1.0"


def open(what, cache=None):
    """Opens the netCDF file in an archive: a binary file, read-only and seekable.

    what: a name, an http or https URL, an open binary file, or bytes. cache: bytes of decoded blocks
    kept in memory, 64 MiB if None.
    """
    return ImageFile(Archive(what, cache))


def register():
    """Registers the codec `lorenz` with numcodecs, and so with Zarr."""
    from numcodecs.registry import register_codec

    from .codec import Lorenz

    register_codec(Lorenz)
