"""Reads cdfz archives in Python and numpy.

    xarray.open_dataset("x.nc.cdfz")      # once the package is installed
    xarray.open_dataset("x.ncml")         # archives that cdfz join describes as one dataset
    cdfz.open_dataset("https://…")        # the same for all sources; xarray gives URLs to netCDF4
    cdfz.open("x.nc.cdfz")                # the netCDF file as an open file, for netCDF4, scipy and others
    cdfz.Archive("x.nc.cdfz")             # header and values without xarray
    cdfz.archive("x.nc")                  # runs the program cdfz

All but the program take a name, and all but the first also an http or https URL, an open binary file, or bytes instead of a name.
"""
from ._archive import Archive
from ._cache import set_cache
from ._errors import ArchiveDamaged, ArchiveError, ArchiveUnsupported
from ._image import ImageFile
from ._program import archive
from ._versions import show_versions
from .lorenz import DamagedBlock, LorenzError, ParameterError, decode

__all__ = ["open", "open_dataset", "archive", "Archive", "ImageFile", "set_cache", "show_versions", "ArchiveError", "ArchiveDamaged", "ArchiveUnsupported",
           "decode", "register", "LorenzError", "ParameterError", "DamagedBlock"]
__version__ = "1.0.0-dev"


def open(what, block_cache=None):
    """Opens the netCDF file in an archive: a binary file, read-only and seekable.

    what, block_cache: as for Archive.
    """
    return ImageFile(Archive(what, block_cache))


def open_dataset(what, **options):
    """Opens an archive with xarray.open_dataset, which takes the options, and its engine cdfz.

    what: as for open. Without this, xarray gives URLs to netCDF4, which takes them for OPeNDAP.
    """
    import xarray

    from .xarray_backend import CdfzBackend

    return xarray.open_dataset(what, engine=CdfzBackend, **options)


def register():
    """Registers the codec `lorenz` with numcodecs, and so with Zarr format 2, and `cdfz.lorenz` with zarr 3, if that is
    there, for format 3."""
    from numcodecs.registry import register_codec

    from .codec import Lorenz

    register_codec(Lorenz)
    try:
        from zarr.registry import register_codec
    except ImportError:                        # no zarr, or zarr 2
        return
    from . import zarr3

    register_codec(zarr3.NAME, zarr3.Lorenz)
