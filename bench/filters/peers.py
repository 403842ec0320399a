"""Codecs of numcodecs, filters of HDF5 and its plugins, and the kernels of C-Blosc, for measurements.

peers.py BLOCKS KERNELS    answers one line of JSON with another; BLOCKS has the blocks, KERNELS is kernels.c as a library

open    peer, blocks ([at, bytes, dtype] each) and configs (JSON of a codec, or id and parameters); answers which
        blocks the peer refuses
encode  nanoseconds of processor time and stored bytes of each block
decode  nanoseconds; the result is compared
store   writes the encoded blocks to a file and answers their lengths
"""

import ctypes as c
import glob
import json
import sys
import time

import h5py  # loads libhdf5
import numcodecs
import numcodecs.blosc
import numpy as np

clock = time.thread_time_ns
numcodecs.blosc.set_nthreads(1)
numcodecs.blosc.use_threads = False


class Numcodecs:
    def __init__(self, raw, dtype, config):
        self.codec = numcodecs.get_codec(config)
        if config["id"] == "bitround":  # which refuses foreign byte orders
            raw = raw.view(dtype).astype(dtype[1:])
        elif config["id"] == "blosc":  # which takes the size of elements from the array
            raw = raw.view(dtype)
        self.raw = raw

    def encode(self):
        t = clock()
        out = self.codec.encode(self.raw)
        t = clock() - t
        self.out = np.frombuffer(out, np.uint8) if isinstance(out, (bytes, bytearray)) else out.view(np.uint8)
        return t, self.out.nbytes

    def decode(self):
        t = clock()
        back = self.codec.decode(self.out)
        t = clock() - t
        return t, back

    def stored(self):
        return self.out.tobytes()


class Class2(c.Structure):
    """H5Z_class2_t"""

    FUNC = c.CFUNCTYPE(c.c_size_t, c.c_uint, c.c_size_t, c.c_void_p, c.c_size_t, c.POINTER(c.c_size_t), c.POINTER(c.c_void_p))
    _fields_ = [
        ("version", c.c_int),
        ("id", c.c_int),
        ("encoder", c.c_uint),
        ("decoder", c.c_uint),
        ("name", c.c_char_p),
        ("can_apply", c.c_void_p),
        ("set_local", c.c_void_p),
        ("filter", FUNC),
    ]


libc = c.CDLL(None)
libc.malloc.restype = c.c_void_p
libc.malloc.argtypes = [c.c_size_t]
libc.free.argtypes = [c.c_void_p]
BUILT_IN = {1: "DEFLATE", 2: "SHUFFLE", 3: "FLETCHER32", 4: "SZIP", 5: "NBIT", 6: "SCALEOFFSET"}
PLUGINS = "/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins/lib*.so"
REVERSE = 0x100


def classes():
    hdf5 = c.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "/libhdf5_serial.so" in line), c.RTLD_GLOBAL)
    found = {id: Class2.in_dll(hdf5, "H5Z_" + name) for id, name in BUILT_IN.items()}
    for name in glob.glob(PLUGINS):
        try:
            info = c.CDLL(name).H5PLget_plugin_info
        except (AttributeError, OSError):
            continue  # not a plugin
        info.restype = c.POINTER(Class2)
        found[info().contents.id] = info().contents
    return found


class HDF5:
    found = None

    def __init__(self, raw, dtype, config):
        HDF5.found = HDF5.found or classes()
        self.filter = HDF5.found[config[0]].filter
        self.params = (c.c_uint * max(1, len(config[1])))(*config[1])
        self.count = len(config[1])
        self.raw = raw

    def run(self, flags, data):
        n = data.nbytes
        size, buf = c.c_size_t(n), c.c_void_p(libc.malloc(n))
        c.memmove(buf, data.ctypes.data, n)
        psize, pbuf = c.byref(size), c.byref(buf)
        t = clock()
        ret = self.filter(flags, self.count, self.params, n, psize, pbuf)
        t = clock() - t
        if ret == 0:
            libc.free(buf)
            raise ValueError("the filter failed")
        out = np.frombuffer(c.string_at(buf, ret), np.uint8)
        libc.free(buf)
        return t, out

    def encode(self):
        t, self.out = self.run(0, self.raw)
        return t, self.out.nbytes

    def decode(self):
        return self.run(REVERSE, self.out)

    def stored(self):
        return self.out.tobytes()


class Kernel:
    lib = None

    def __init__(self, raw, dtype, config):
        Kernel.lib = Kernel.lib or c.CDLL(sys.argv[2])
        self.config, self.raw = config, raw
        self.out, self.back = np.zeros_like(raw), np.zeros_like(raw)

    def run(self, name, src, dst):
        size, part = self.config[1], self.config[2]
        f = getattr(Kernel.lib, name)
        args = c.c_size_t(size), c.c_size_t(src.nbytes), c.c_void_p(src.ctypes.data), c.c_void_p(dst.ctypes.data), c.c_size_t(part)
        t = clock()
        f(*args)
        return clock() - t

    def encode(self):
        return self.run(self.config[0], self.raw, self.out), self.raw.nbytes

    def decode(self):
        t = self.run(self.config[0].replace("shuffle", "unshuffle"), self.out, self.back)
        return t, self.back

    def stored(self):
        return self.out.tobytes()


PEERS = {"numcodecs": Numcodecs, "hdf5": HDF5, "blosc": Kernel}


def versions():
    return {
        "numcodecs": "numcodecs %s, Blosc %s" % (numcodecs.__version__, numcodecs.blosc.VERSION_STRING),
        "hdf5": "HDF5 " + h5py.version.hdf5_version,
    }


def refuses(block):
    """HDF5 stores a block unchanged if an optional filter fails, as lzf does if it does not shorten it."""
    try:
        block.encode()
    except ValueError:
        return True
    return False


def answer(q, opened):
    if q["op"] == "versions":
        return versions()
    key = q["peer"]
    if q["op"] == "open":
        blocks = np.fromfile(sys.argv[1], np.uint8)
        opened[key] = [PEERS[key](blocks[at : at + n], dtype, config) for (at, n, dtype), config in zip(q["blocks"], q["configs"])]
        return {"refused": [i for i, b in enumerate(opened[key]) if refuses(b)]}
    all = opened[key]
    if q["op"] == "encode":
        best = [min((b.encode() for _ in range(q["times"])), key=lambda r: r[0]) for b in all]
        return {"ns": sum(t for t, _ in best), "stored": sum(n for _, n in best)}
    if q["op"] == "decode":
        ns = 0
        for b in all:
            t, back = min((b.decode() for _ in range(q["times"])), key=lambda r: r[0])
            ns += t
            back = np.frombuffer(back, np.uint8) if isinstance(back, (bytes, bytearray)) else np.ascontiguousarray(back).view(np.uint8)
            if q["exact"] and back.tobytes() != np.ascontiguousarray(b.raw).view(np.uint8).tobytes():
                raise ValueError("%s: a block is not restored" % key)
        return {"ns": ns}
    with open(q["file"], "wb") as f:
        return {"lengths": [f.write(b.stored()) for b in all]}


def main():
    opened = {}
    for line in sys.stdin:
        try:
            a = answer(json.loads(line), opened)
        except Exception as e:
            a = {"error": "%s: %s" % (type(e).__name__, e)}
        print(json.dumps(a), flush=True)


main()
