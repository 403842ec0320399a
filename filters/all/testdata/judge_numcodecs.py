"""Judge: numcodecs, the codecs of Zarr, and the zstd program.

Reads one JSON object per line and answers with another:
  {"op": "decode", "codecs": [JSON, ...], "n": N, "stored": HEX}: {"raw": HEX}
  {"op": "encode", "codecs": [JSON, ...], "raw": HEX, "dtype": TYPE}: {"stored": HEX}
  {"op": "lz4", "raw": HEX}: {"stored": HEX}, just the LZ4 block
  {"op": "sum", "name": "crc32" or "adler32", "raw": HEX}: {"stored": HEX}, with the sum at the
      end, from zlib
  {"op": "bitshuffle", "size": S, "block": B, "raw": HEX} or "stored": {"stored": HEX} or {"raw":
      HEX}, in the form of HDF5's filter with zstd, from the library bitshuffle and numcodecs' zstd
  {"op": "zstd", "stored": HEX}: {"raw": HEX}, decoded by /usr/bin/zstd
If they refuse, the answer is {"error": TEXT}.
"""
import binascii, json, struct, subprocess, sys, zlib
import bitshuffle, numcodecs, numpy
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


def checksum(q):
    raw = binascii.unhexlify(q["raw"])
    return {"stored": (raw + struct.pack("<I", getattr(zlib, q["name"])(raw))).hex()}


def shuffled(q):
    size, zstd = q["size"], numcodecs.Zstd(3)
    encode = "raw" in q
    data = binascii.unhexlify(q["raw" if encode else "stored"])
    if encode:
        n, block, out = len(data), q["block"], struct.pack(">QI", len(data), q["block"] * size)
    else:
        (n, block), out, at = struct.unpack_from(">QI", data), b"", 12
        block //= size
    left = n // size
    while left >= 8:
        m = min(block, left // 8 * 8)
        left -= m
        if encode:
            part = numpy.frombuffer(data, "V%d" % size, m, n - (left + m) * size)
            part = zstd.encode(bitshuffle.bitshuffle(part, m).tobytes())
            out += struct.pack(">I", len(part)) + part
        else:
            length, = struct.unpack_from(">I", data, at)
            part = numpy.frombuffer(zstd.decode(data[at + 4:at + 4 + length]), "V%d" % size)
            assert len(part) == m
            out, at = out + bitshuffle.bitunshuffle(part, m).tobytes(), at + 4 + length
    return {"stored": (out + data[n - left * size:]).hex()} if encode else {"raw": (out + data[at:]).hex()}


def zstd(q):
    r = subprocess.run(["/usr/bin/zstd", "-d", "-c", "-q"], input=binascii.unhexlify(q["stored"]), capture_output=True)
    if r.returncode:
        raise RuntimeError(r.stderr.decode())
    return {"raw": r.stdout.hex()}


ops = {"decode": decode, "encode": encode, "lz4": lz4, "sum": checksum, "bitshuffle": shuffled, "zstd": zstd}
for line in sys.stdin:
    q = json.loads(line)
    try:
        answer = ops[q["op"]](q)
    except Exception as e:
        answer = {"error": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(answer), flush=True)
