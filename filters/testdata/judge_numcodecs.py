"""Judge: numcodecs, the codecs of Zarr, and the zstd program.

Reads one JSON object per line and answers with another:
  {"op": "decode", "codecs": [JSON, ...], "n": N, "stored": HEX}: {"raw": HEX}
  {"op": "encode", "codecs": [JSON, ...], "raw": HEX, "dtype": TYPE}: {"stored": HEX}
  {"op": "lz4", "raw": HEX}: {"stored": HEX}, just the LZ4 block
  {"op": "zstd", "stored": HEX}: {"raw": HEX}, decoded by /usr/bin/zstd
If they refuse, the answer is {"error": TEXT}.
"""
import binascii, json, subprocess, sys
import numcodecs, numpy
from numcodecs.compat import ensure_bytes


def decode(q):
    data = binascii.unhexlify(q["stored"])
    for c in reversed(q["codecs"]):
        data = ensure_bytes(numcodecs.get_codec(dict(c)).decode(data))
    return {"raw": data.hex()}


def encode(q):
    data = binascii.unhexlify(q["raw"])
    if "dtype" in q:
        data = numpy.frombuffer(data, q["dtype"]).copy()
    for c in q["codecs"]:
        data = ensure_bytes(numcodecs.get_codec(dict(c)).encode(data))
    return {"stored": data.hex()}


def lz4(q):
    return {"stored": ensure_bytes(numcodecs.LZ4().encode(binascii.unhexlify(q["raw"])))[4:].hex()}


def zstd(q):
    r = subprocess.run(["/usr/bin/zstd", "-d", "-c", "-q"], input=binascii.unhexlify(q["stored"]), capture_output=True)
    if r.returncode:
        raise RuntimeError(r.stderr.decode())
    return {"raw": r.stdout.hex()}


ops = {"decode": decode, "encode": encode, "lz4": lz4, "zstd": zstd}
for line in sys.stdin:
    q = json.loads(line)
    try:
        answer = ops[q["op"]](q)
    except Exception as e:
        answer = {"error": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(answer), flush=True)
