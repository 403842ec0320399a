"""Errors of the decoder."""


class LorenzError(ValueError):
    """A lorenz block that cannot be decoded."""


class ParameterError(LorenzError):
    """The parameters are not those of any block."""


class DamagedBlock(LorenzError):
    """The bytes are not a lorenz block with these parameters."""


def need(ok, what):
    if not ok:
        raise DamagedBlock(f"lorenz: damaged block: {what}")
