"""Judge: ncaux_h5filterspec_parse of libnetcdf 4.9.0 (package libnetcdf19).

Reads one JSON string per line and answers with [id, [params]] or null.
"""
import ctypes, json, sys

lib = ctypes.CDLL("libnetcdf.so.19")
for line in sys.stdin:
    fid, n, params = ctypes.c_uint(), ctypes.c_size_t(), ctypes.POINTER(ctypes.c_uint)()
    text = json.loads(line).encode("latin-1")
    if lib.ncaux_h5filterspec_parse(text, ctypes.byref(fid), ctypes.byref(n), ctypes.byref(params)):
        print("null", flush=True)
    else:
        print(json.dumps([fid.value, [params[i] for i in range(n.value)]]), flush=True)
