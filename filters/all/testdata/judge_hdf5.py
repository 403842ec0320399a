"""Judge: HDF5, driven by h5py, with its filters and plugins.

Reads one JSON object per line and answers with another:
  {"op": "read", "chain": [[id, [params], flags], ...], "mask": M, "n": N, "stored": HEX}
      writes an encoded chunk directly into a file (write_direct_chunk) and reads
      the data set through HDF5: {"raw": HEX}
  {"op": "write", "chain": ..., "raw": HEX}
      lets HDF5 write the data: {"stored": HEX, "mask": M, "params": [[...], ...], "raw":
      HEX, what it reads back}
  The key "dtype" sets the type of the elements, "precision" and "offset" their
  significant bits, "fill" the fill value, "undefined" for none.
  {"op": "available", "ids": [...]}: {"missing": [...]}
If HDF5 refuses, the answer is {"error": TEXT}.
"""
import binascii, ctypes, json, sys
import h5py, numpy
from h5py import h5d, h5f, h5p, h5s, h5t, h5z


def dataset(q, nbytes):
    fapl = h5p.create(h5p.FILE_ACCESS)
    fapl.set_fapl_core(backing_store=False)
    f = h5f.create(b"judge.h5", fapl=fapl)
    plist = h5p.create(h5p.DATASET_CREATE)
    size = next((params[0] for fid, params, _ in q["chain"] if fid == 2 and params), 1)
    dtype = q.get("dtype", "V%d" % size if size > 1 else "u1")
    typ = h5t.py_create(numpy.dtype(dtype)).copy() if dtype != "u1" else h5t.STD_U8BE
    if "precision" in q:
        typ.set_precision(q["precision"])
        typ.set_offset(q["offset"])
    n = nbytes // typ.get_size()
    plist.set_chunk((n,))
    fill = q.get("fill")
    if fill == "undefined":
        plist.set_fill_time(h5d.FILL_TIME_NEVER)
        set_no_fill(plist)
    elif fill is not None:
        plist.set_fill_value(numpy.array(fill, dtype))
    for fid, params, flags in q["chain"]:
        if fid == 2:
            plist.set_shuffle()  # its parameter is the size of the type
        else:
            plist.set_filter(fid, flags, tuple(params))
    d = h5d.create(f, b"d", typ, h5s.create_simple((n,)), plist)
    return f, d, numpy.zeros(n, dtype)


def set_no_fill(plist):
    """Makes the fill value undefined, for which h5py has no call."""
    if ctypes.CDLL(h5z.__file__).H5Pset_fill_value(ctypes.c_int64(plist.id), ctypes.c_int64(h5t.STD_U8BE.id), None) < 0:
        raise RuntimeError("H5Pset_fill_value")


def whole(d, out):
    d.read(h5s.ALL, h5s.ALL, out, d.get_type())
    return out.tobytes().hex()


def read(q):
    f, d, out = dataset(q, q["n"])
    d.write_direct_chunk((0,), binascii.unhexlify(q["stored"]), q["mask"])
    # The open data set remembers the chunk as it was, with no filter skipped.
    del d
    return {"raw": whole(h5d.open(f, b"d"), out)}


def write(q):
    raw = binascii.unhexlify(q["raw"])
    f, d, out = dataset(q, len(raw))
    data = numpy.frombuffer(raw, out.dtype)
    d.write(h5s.ALL, h5s.ALL, data, d.get_type())
    h5f.flush(f)
    mask, stored = d.read_direct_chunk((0,))
    plist = d.get_create_plist()
    params = [list(plist.get_filter(i)[2]) for i in range(plist.get_nfilters())]
    del d
    return {"stored": stored.hex(), "mask": mask, "params": params, "raw": whole(h5d.open(f, b"d"), out)}


def available(q):
    return {"missing": [i for i in q["ids"] if not h5z.filter_avail(i)]}


ops = {"read": read, "write": write, "available": available}
for line in sys.stdin:
    q = json.loads(line)
    try:
        answer = ops[q["op"]](q)
    except Exception as e:
        answer = {"error": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(answer), flush=True)
