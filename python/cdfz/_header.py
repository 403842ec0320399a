"""The filter for netCDF headers (docs/FORMAT.md, "header"): LZMA after a dictionary of their vocabulary."""
import functools
import lzma
import pathlib
import struct

from ._checks import need
from ._errors import ArchiveUnsupported

LATEST = 1
MOST, STREAM = 1 << 21, 1 << 16
PROPERTIES = 1                                 # lc = 1, lp = pb = 0


@functools.lru_cache(None)
def dictionary(number):
    return pathlib.Path(__file__).with_name(f"header{number}.bin").read_bytes() if number else b""


def unheader(params, data, n, top):
    if params[0] > LATEST:
        raise ArchiveUnsupported(f"header: unknown dictionary {params[0]}")
    data = bytes(data)
    size, k = 0, 0
    while True:
        need(k < min(4, len(data)), "header: malformed length")
        b = data[k]
        size, k = size | (b & 127) << 7 * k, k + 1
        if b < 128:
            break
    need(k == 1 or b, "header: malformed length")
    need(size <= MOST and (size <= top if n is None else size == n), "header: wrong length")
    stream = data[k:]
    if not size:
        need(not stream, "header: bytes after the end")
        return b""
    need(5 <= len(stream) <= STREAM and not stream[0], "header: no LZMA stream")
    # LZMA2 can begin with an uncompressed chunk, which the dictionary becomes here. A chunk of LZMA with new
    # properties follows, and the end.
    words = dictionary(params[0])
    chunks = b"\1" + struct.pack(">H", len(words) - 1) + words if words else b""
    control = (0xc0 if words else 0xe0) | size - 1 >> 16
    chunks += struct.pack(">BHHB", control, size - 1 & 0xffff, len(stream) - 1, PROPERTIES) + stream + b"\0"
    d = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": max(4096, len(words) + size)}])
    try:
        out = d.decompress(chunks)
    except lzma.LZMAError as e:
        raise ValueError(f"header: {e}") from None
    need(d.eof and not d.unused_data and len(out) == len(words) + size, "header: damaged LZMA stream")
    return out[len(words):]
