"""Blocks of lz4 and frames of zstd, by the library that is installed: zstd of Python 3.14,
numcodecs or zstandard, and in plain Python where these are missing."""
import functools
import importlib
import struct

from . import _zstd


@functools.lru_cache(None)
def zstd_library():
    """Returns the name of the module that decodes zstd, or None."""
    for name in ("compression.zstd", "numcodecs.zstd", "zstandard"):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return name
    return None


def zstd_frame(data, size):
    """Decodes a frame whose header names size."""
    name = zstd_library()
    if name is None:
        return _zstd.decompress(data, size)
    zstd = importlib.import_module(name)
    if name != "zstandard":
        return zstd.decompress(data)
    try:
        return zstd.ZstdDecompressor().decompress(data, max_output_size=size)
    except zstd.ZstdError as e:
        raise ValueError(str(e)) from None


def lz4_block(data, size):
    """Decodes a block to size bytes."""
    try:
        from numcodecs import lz4
    except ImportError:
        return plain_lz4(data, size)
    # numcodecs expects the decoded length before the block, little-endian
    return lz4.decompress(struct.pack("<I", size) + data)


def plain_lz4(data, size):
    out, at, match = bytearray(), 0, None  # match: where the last one begins
    def length(n):
        nonlocal at
        while n >= 15:
            b = data[at]
            at, n = at + 1, n + b
            if b < 255 or n > size:
                break
        return n
    while True:
        token = data[at]
        at += 1
        n = length(token >> 4)
        if at + n > len(data) or len(out) + n > size:
            raise ValueError("lz4: literals beyond the end")
        out += data[at:at + n]
        at += n
        if at == len(data):
            if match is not None and (n < 5 or match > size - 12):
                raise ValueError("lz4: the end of the block breaks the rules")
            break
        match = len(out)
        back, = struct.unpack_from("<H", data, at)
        at += 2
        n = length(token & 15) + 4
        if not 1 <= back <= len(out) or len(out) + n > size:
            raise ValueError("lz4: copy from before the start or beyond the end")
        while n > 0:
            part = out[-back:][:n]
            out += part
            n -= len(part)
    if len(out) != size:
        raise ValueError("lz4: wrong length")
    return bytes(out)
