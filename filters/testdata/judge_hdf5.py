"""Judge: HDF5, driven by h5py, with its filters and plugins.

Reads one JSON object per line and answers with another:
  {"op": "read", "chain": [[id, [params], flags], ...], "mask": M, "n": N, "stored": HEX}
      writes an encoded chunk directly into a file (write_direct_chunk) and reads
      the data set through HDF5: {"raw": HEX}
  {"op": "write", "chain": ..., "raw": HEX}
      lets HDF5 write the data: {"stored": HEX, "mask": M, "params": [[...], ...]}
  {"op": "available", "ids": [...]}: {"missing": [...]}
If HDF5 refuses, the answer is {"error": TEXT}.
"""
import binascii, json, sys
import h5py, numpy
from h5py import h5d, h5f, h5p, h5s, h5t, h5z


def dataset(chain, n, size):
    fapl = h5p.create(h5p.FILE_ACCESS)
    fapl.set_fapl_core(backing_store=False)
    f = h5f.create(b"judge.h5", fapl=fapl)
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_chunk((n,))
    for fid, params, flags in chain:
        if fid == 2:
            plist.set_shuffle()  # its parameter is the size of the type
        else:
            plist.set_filter(fid, flags, tuple(params))
    typ = h5t.py_create(numpy.dtype("V%d" % size)) if size > 1 else h5t.STD_U8BE
    return f, h5d.create(f, b"d", typ, h5s.create_simple((n,)), plist)


def elemsize(chain):
    return next((params[0] for fid, params, _ in chain if fid == 2), 1)


def read(q):
    size = elemsize(q["chain"])
    f, d = dataset(q["chain"], q["n"] // size, size)
    d.write_direct_chunk((0,), binascii.unhexlify(q["stored"]), q["mask"])
    # The open data set remembers the chunk as it was, with no filter skipped.
    del d
    d = h5d.open(f, b"d")
    out = numpy.zeros(q["n"] // size, "V%d" % size if size > 1 else "u1")
    d.read(h5s.ALL, h5s.ALL, out, d.get_type())
    return {"raw": out.tobytes().hex()}


def write(q):
    raw = binascii.unhexlify(q["raw"])
    size = elemsize(q["chain"])
    f, d = dataset(q["chain"], len(raw) // size, size)
    d.write(h5s.ALL, h5s.ALL, numpy.frombuffer(raw, "V%d" % size if size > 1 else "u1"), d.get_type())
    h5f.flush(f)
    mask, stored = d.read_direct_chunk((0,))
    plist = d.get_create_plist()
    params = [[plist.get_filter(i)[0], list(plist.get_filter(i)[2])] for i in range(plist.get_nfilters())]
    return {"stored": stored.hex(), "mask": mask, "params": params}


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
