"""The decoder of lorenz in C (c/lorenz.h), if this package was installed with it.

LIBRARY is None without it, or if the environment variable CDFZ_PURE_PYTHON is set. Then MISSING says why. Calls release
the GIL, so that several threads decode at once.
"""
import ctypes
import os
import threading
import warnings

import numpy as np

from ._errors import DamagedBlock, LorenzError, ParameterError

OK, PARAMETERS, CORRUPT, FLOATS = 0, 1, 2, 6
KEPT = 64 << 20                                # bytes of scratch memory that a thread keeps


class Params(ctypes.Structure):
    _fields_ = [("elements", ctypes.c_uint64), ("size", ctypes.c_uint32), ("type", ctypes.c_uint32),
                ("little_endian", ctypes.c_uint32), ("long_dims", ctypes.c_uint32), ("first_long", ctypes.c_uint32),
                ("second_long", ctypes.c_uint32), ("last_long", ctypes.c_uint32 * 2)]


def load():
    """Returns the library, or None and why it is missing."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "liblorenz.so")
    if os.environ.get("CDFZ_PURE_PYTHON"):
        return None, "CDFZ_PURE_PYTHON is set"
    if not os.path.exists(path):
        return None, "the package was installed without it"
    try:
        lib = ctypes.CDLL(path)
    except OSError as e:                       # of another processor
        return None, str(e)
    params, size, address = ctypes.POINTER(Params), ctypes.c_size_t, ctypes.c_void_p
    lib.lorenz_strerror.restype, lib.lorenz_strerror.argtypes = ctypes.c_char_p, [ctypes.c_int]
    lib.lorenz_parse.argtypes = [params, ctypes.POINTER(ctypes.c_uint32), size]
    lib.lorenz_scratch_size.restype, lib.lorenz_scratch_size.argtypes = size, [params]
    lib.lorenz_decode_range.argtypes = [params, address, size, ctypes.c_uint64, ctypes.c_uint64, address, size, address, size]
    return lib, None


LIBRARY, MISSING = load()
CURE = "install make and a C compiler, then: pip install --force-reinstall --no-deps --no-cache-dir cdfz, or the same with its folder"
_thread = threading.local()


def describe():
    """Returns which decoder is active."""
    return "C" if LIBRARY else f"Python, without the library in C ({MISSING})"


def warn():
    """Warns once that Python decodes, unless the user has asked for that."""
    if not LIBRARY and not os.environ.get("CDFZ_PURE_PYTHON") and not warned.is_set():
        warned.set()
        warnings.warn(f"cdfz decodes lorenz in Python, many times slower than in C: {MISSING}. {CURE}", RuntimeWarning, stacklevel=2)


warned = threading.Event()


def parse(p):
    """Returns the parameters of lorenz.Parameters as the library has them."""
    v = [p.version, p.type, p.order, len(p.shape), *p.shape]
    out = Params()
    if LIBRARY.lorenz_parse(out, (ctypes.c_uint32 * len(v))(*(int(x) for x in v)), len(v)) != OK:
        raise ParameterError(f"lorenz: {message(PARAMETERS)}")
    return out


def message(status):
    return LIBRARY.lorenz_strerror(status).decode()


def memory(p):
    """Returns the bytes of memory for decoding a block, beside the block."""
    return LIBRARY.lorenz_scratch_size(parse(p)) + (1 << 16)  # for objects of Python


def decode(data, p, span=None):
    """Returns the decoded bytes of a block, of which only those of the elements in a span need to be set. Returns None
    on processors whose arithmetic the library cannot use."""
    q, src = parse(p), np.frombuffer(data, np.uint8)
    need = LIBRARY.lorenz_scratch_size(q)
    scratch, _thread.scratch = getattr(_thread, "scratch", None), None
    if scratch is None or len(scratch) < need:
        scratch = None                         # before more is allocated
        scratch = np.empty(need, np.uint8)
    out = np.empty(p.n * p.size, np.uint8)
    first, end = span or (0, p.n)
    part = out[first * p.size:end * p.size]
    status = LIBRARY.lorenz_decode_range(q, src.ctypes.data, len(src), first, end - first, part.ctypes.data, len(part),
                                         scratch.ctypes.data, len(scratch))
    if len(scratch) <= KEPT:
        _thread.scratch = scratch
    if status == FLOATS:
        return None
    if status == CORRUPT:
        raise DamagedBlock(f"lorenz: damaged block: {message(status)}")
    if status != OK:
        raise LorenzError(f"lorenz: {message(status)}")
    return out
