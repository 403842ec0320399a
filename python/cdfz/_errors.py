"""Errors of the decoder."""


class LorenzError(ValueError):
    """A lorenz block that cannot be decoded."""


class ParameterError(LorenzError):
    """No block can have these parameters."""


class DamagedBlock(LorenzError):
    """The bytes are not a lorenz block with these parameters."""


def need(ok, what):
    if not ok:
        raise DamagedBlock(f"lorenz: damaged block: {what}")


class ArchiveError(ValueError):
    """An archive that cannot be read."""


class ArchiveDamaged(ArchiveError):
    """The bytes violate the format."""


class ArchiveUnsupported(ArchiveError, OSError):
    """Not a cdfz archive, or one that needs a newer reader, or a library or memory that is missing. It is an OSError, as
    the errors of netCDF4 for files that it cannot read."""
