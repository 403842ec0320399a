"""The filters of archives, decoding only."""
import bz2
import struct
import zlib

import numpy as np

from . import lorenz
from ._checks import M32, need
from ._compressed import lz4_block, zstd_frame
from ._errors import ArchiveDamaged, ArchiveUnsupported

# ---- "Filters". In undo(params, data, n, top), n is the decoded length, or None if it is
# unknown (an inner filter that compresses). The output has at most top bytes.


def inflate(d, data, n, top):
    out = d.decompress(data, (top if n is None else n) + 1)
    need(d.eof and not d.unused_data, "compressed stream is cut or something follows it")
    return out

def unshuffle(params, data, n, top):
    need(len(params) == 1 and 1 <= params[0], "shuffle: parameters")
    a, S = np.frombuffer(data, np.uint8), params[0]
    body = len(a) // S * S
    return np.concatenate((a[:body].reshape(S, -1).T.ravel(), a[body:]))

def unfletcher(params, data, n, top):
    need(len(data) >= 4, "fletcher32: no checksum")
    out, want = data[:-4], struct.unpack("<I", data[-4:])[0]
    w = np.frombuffer(bytes(out) + b"\0" * (len(out) % 2), ">u2").astype(np.uint64)
    # Ones'-complement folding keeps the residue modulo 65535. A nonzero sum never becomes 0. Sum2 counts
    # word i (len − i) times; the weights are reduced so that 2^29 words fit 64 bits.
    s = [int(w.sum()), int((w * (np.arange(len(w), 0, -1, dtype=np.uint64) % np.uint64(65535))).sum())]
    lo, hi = ((x - 1) % 65535 + 1 if x else 0 for x in s)
    need(hi << 16 | lo == want, "fletcher32: wrong checksum")
    return out

def unlz4(params, data, n, top):
    total, block = struct.unpack_from(">QI", data)
    need((total <= top if n is None else total == n) and (block > 0 or total == 0), "lz4: wrong length")
    out, pos, left = [], 12, total
    while left:
        m = min(block, left)
        size, = struct.unpack_from(">I", data, pos)
        part = data[pos + 4:pos + 4 + size]
        need(len(part) == size, "lz4: cut")
        out.append(part if size == m else lz4_block(bytes(part), m))
        pos, left = pos + 4 + size, left - m
    need(pos == len(data), "lz4: bytes after the last block")
    return b"".join(out)

def unzstd(params, data, n, top):
    need(len(data) >= 6 and bytes(data[:4]) == b"\x28\xb5\x2f\xfd", "zstd: no frame")
    d = data[4]                                # RFC 8878, 3.1.1.1
    need(d >> 6 or d & 32, "zstd: frame without its content size")
    need(not d & 7, "zstd: frame with a checksum or a dictionary")
    at = 5 + (not d & 32)
    end = at + (1 if d < 64 else 0, 2, 4, 8)[d >> 6]
    size = int.from_bytes(data[at:end], "little") + (256 if d >> 6 == 1 else 0)
    need(size <= top if n is None else size == n, "zstd: wrong length")
    last = False
    while not last:                            # the frame ends where the data does
        need(end + 3 <= len(data), "zstd: cut")
        h = int.from_bytes(data[end:end + 3], "little")
        last, end = h & 1, end + 3 + (1 if h >> 1 & 3 == 1 else h >> 3)
    need(end == len(data), "zstd: cut, or something follows the frame")
    return zstd_frame(bytes(data), size)

def level(lo, hi, required=False):
    return lambda p: len(p) == 1 and lo <= p[0] <= hi or not p and not required

PARAMS = {1: level(0, 9, True), 2: level(1, M32, True), 3: lambda p: not p, 307: level(1, 9), 32004: level(0, 2113929216),
          32015: lambda p: not p or len(p) == 1 and -131072 <= (p[0] ^ 2**31) - 2**31 <= 22}

def unlorenz(params, data, n, top, memory, span=None):
    p = lorenz.Parameters.from_vector(params)
    need(p.n * p.size <= top if n is None else p.n * p.size == n, "lorenz: wrong length")
    needs = lorenz.memory(data, p)
    if needs > memory:
        raise ArchiveUnsupported(f"lorenz: expected a block that needs at most {memory} bytes of memory, found {needs}")
    if span:
        span = span[0] // p.size, -(-span[1] // p.size)
    return lorenz.decode_block(data, p, span).data

FILTERS = {1: lambda p, *a: inflate(zlib.decompressobj(), *a), 2: unshuffle, 3: unfletcher,
           307: lambda p, *a: inflate(bz2.BZ2Decompressor(), *a), 32004: unlz4, 32015: unzstd, 52723: unlorenz}

def decode(chain, data, n, mask, memory, span=None):
    """Returns the n decoded bytes of a block. Those outside of a span may have any value."""
    need(mask >> len(chain) == 0, "mask beyond the chain")
    steps, length = [], n                      # length: of the input of each filter, if known
    for i, f in enumerate(chain):
        if not mask >> i & 1:
            need(f["id"] < 65536 and PARAMS.get(f["id"], lambda p: True)(f["params"]), f"filter {f['id']}: id or parameters")
            steps.append((f, length))
            length = length if f["id"] == 2 else length + 4 if f["id"] == 3 and length is not None else None
    need(length is None or length == len(data), "wrong stored length")
    for f, length in reversed(steps):
        if f["id"] not in FILTERS:
            raise ArchiveUnsupported(f"unknown filter {f['id']} ({f.get('name', 'no name')})")
        try:
            more = (memory, span if f is chain[0] else None) if f["id"] == 52723 else ()
            data = FILTERS[f["id"]](f["params"], memoryview(data), length, 2 * n + 65536, *more)
        except ArchiveUnsupported:
            raise
        except (ValueError, RuntimeError, OSError, EOFError, IndexError, struct.error, zlib.error) as e:
            raise ArchiveDamaged(f"filter {f['id']}: {e}")
        need(length is None or len(data) == length, "wrong decoded length")
    return data
