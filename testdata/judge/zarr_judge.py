#!/usr/bin/python3
"""Checks archives as ZIP files and Zarr stores with programs that do not know cdfz, except for the codec lorenz
of python/.

Needs Debian's python3-zarr, python3-xarray, python3-netcdf4 and python3-scipy. Reads jobs
and answers each with one line. All lines are JSON objects. A job is a netCDF file with its archives:

  archives   paths of its archives with a Zarr view
  original   path of the file, or "" for no comparison in xarray with the original
  vars       of each variable of the view: path, type (as in netCDF), shape, sha256 of the values
  omitted    attributes that the view leaves out: [path or "" for the file, name]
  absent     hexadecimal names of the variables that are not at the root of the view
  zip        true: check the archives as ZIP files only

The answer:

  errors     a list of errors
  refused    why xarray refuses both archive and original, or ""
  ordinary   the engine with which xarray decodes the original, or ""
  unjudged   why the original cannot be compared, or only its times: the reason of each engine
  differs    the first difference between the decoded files, if it is due to omissions of the view:
             see Original.reduced
"""

import hashlib
import json
import os
import re
import resource
import sys
import warnings
import zipfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # each thread takes address space, which is limited below

import numpy as np
import xarray as xr
import zarr

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
import cdfz

cdfz.register()
warnings.simplefilter("ignore")
np.set_printoptions(threshold=4, edgeitems=2)

# netCDF4 takes a streaming file's number of records for 2^32-1 and asks for as many values.
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

DTYPES = {
    "byte": "|i1", "char": "|S1", "short": ">i2", "int": ">i4", "float": ">f4", "double": ">f8",
    "ubyte": "|u1", "ushort": ">u2", "uint": ">u4", "int64": ">i8", "uint64": ">u8",
}

# Numeric attributes that affect decoding in xarray.
DECODED_WITH = ("_FillValue", "missing_value", "scale_factor", "add_offset")


# What xarray remembers of attributes that it decodes with, to write them again.
ENCODED = DECODED_WITH + ("_Unsigned", "units", "calendar", "coordinates", "grid_mapping", "bounds")


class Fault(Exception):
    """An error found by a judge."""


def want(condition, *what):
    if not condition:
        raise Fault(" ".join(str(w) for w in what))


def sha256(array, dtype):
    array = np.asarray(array)
    want(array.dtype.kind == np.dtype(dtype).kind and array.dtype.itemsize == np.dtype(dtype).itemsize,
         "dtype", array.dtype, "expected", dtype)
    return hashlib.sha256(np.ascontiguousarray(array.astype(dtype)).tobytes()).hexdigest()


def refusal(error):
    """Class and text of an exception, without the names the view gives to dimensions it must rename."""
    return re.sub(r"__d\d+_*", "", "%s: %s" % (type(error).__name__, error))


# JSON according to RFC 8259: no NaN, no duplicate names.

def no_constant(text):
    raise Fault("JSON has " + text)


def no_twice(pairs):
    names = [k for k, _ in pairs]
    want(len(set(names)) == len(names), "JSON has a name twice in", names)
    return dict(pairs)


def strict_json(data):
    return json.loads(data.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=no_twice)


def judge_zip(path):
    with zipfile.ZipFile(path) as z:
        bad = z.testzip()
        want(bad is None, "zipfile.testzip:", bad)
        names = z.namelist()
        want(len(set(names)) == len(names), "an entry name comes twice")
        meta = {n: strict_json(z.read(n)) for n in names
                if n.endswith(".json") or n.rpartition("/")[2] in (".zgroup", ".zattrs", ".zarray", ".zmetadata")}
    return meta


def judge_zarr(path, meta, expected):
    all_meta = meta[".zmetadata"]
    want(all_meta["zarr_consolidated_format"] == 1, "zarr_consolidated_format")
    single = {n: m for n, m in meta.items() if n != ".zmetadata" and not n.endswith(".json")}
    consolidated = meta[".cdfz/plan.json"].get("zarr") == "consolidated"
    if consolidated:
        want(list(single) == [".zgroup", ".zattrs"], "single entries", list(single))
        want({n: all_meta["metadata"][n] for n in single} == single, ".zmetadata is not what the single entries say")
    else:
        want(all_meta["metadata"] == single, ".zmetadata is not what the single entries say")
        arrays = [n[:-len("/.zarray")] for n in single if n.endswith("/.zarray")]
        want(arrays == [v["path"] for v in expected], "arrays", arrays)

    store = zarr.ZipStore(path, mode="r")
    try:
        if consolidated:
            group = zarr.open_group(store, mode="r")
            want(not list(group.array_keys()), "zarr.open_group finds", list(group.array_keys()), "in a consolidated archive")
            want(group.attrs.asdict() == single[".zattrs"], "zarr.open_group finds other attributes")
        for opened in (zarr.open_consolidated,) if consolidated else (zarr.open_consolidated, zarr.open_group):
            group = opened(store, mode="r")
            at_root = sorted(v["path"] for v in expected if "/" not in v["path"])
            want(sorted(group.array_keys()) == at_root, opened.__name__, "finds", sorted(group.array_keys()))
            want(not list(group.group_keys()), opened.__name__, "finds groups")
            for v in expected:
                a = group[v["path"]]
                dtype = DTYPES[v["type"]]
                want(a.dtype == np.dtype(dtype) and a.dtype.str == dtype, v["path"], "dtype", a.dtype.str, "expected", dtype)
                want(list(a.shape) == v["shape"], v["path"], "shape", a.shape, "expected", v["shape"])
                want(sha256(a[...], dtype) == v["sha256"], v["path"], "values differ,", opened.__name__)
                a.attrs.asdict()
    finally:
        store.close()


class Original:
    """The netCDF file as read by xarray, if one of its engines can."""

    def __init__(self, job):
        self.expected = {v["path"]: v for v in job["vars"] if "/" not in v["path"]}
        self.absent = set()
        for name in job["absent"]:
            name = bytes.fromhex(name)
            self.absent |= {name.decode("utf-8", "surrogateescape"), name.decode("latin-1")}
        self.omitted = [tuple(o) for o in job["omitted"]]
        self.against = []  # reasons of the engines that refuse the file
        self.raw = self.decoded = None
        self.engine = self.ordinary = ""
        self.decode_times = True
        for engine in ("netcdf4", "scipy"):
            try:
                raw = self.open(job["original"], engine, False)
                self.check(raw)
            except Exception as e:
                self.against.append("%s: %s" % (engine, refusal(e)))
                continue
            self.raw, self.engine = raw, engine
            for self.decode_times in (True, False):
                try:
                    self.decoded = self.open(job["original"], engine, True, decode_times=self.decode_times)
                    self.ordinary = engine
                    break
                except Exception as e:
                    self.against.append("%s, decoding: %s" % (engine, refusal(e)))
            break

    def open(self, path, engine, decode, **more):
        with xr.open_dataset(path, decode_cf=decode, engine=engine, drop_variables=sorted(self.absent), **more) as ds:
            for name, v in self.expected.items():
                want(name in ds.variables, "no variable", name)
                if not decode:
                    want(list(ds.variables[name].shape) == v["shape"], name, "has shape", ds.variables[name].shape)
            return ds.load()

    def check(self, raw):
        """An engine that reads other values than the manifest claims cannot judge this file."""
        for name, v in self.expected.items():
            want(sha256(raw.variables[name].values, DTYPES[v["type"]]) == v["sha256"], name, "reads other values")

    def reduced(self, view):
        """Returns the original decoded with the attributes and dimensions of the view, and the differences of these.

        omitted  an attribute is left out
        dims     a dimension has another name: its name stands for two, or occurs twice in a variable
        nul      text has NULs, which netCDF4 drops and the view keeps
        types    JSON does not tell the number type of an attribute that xarray uses for decoding
        """
        causes = {"omitted" for path, _ in self.omitted if path in self.expected}
        variables = {}
        for name in self.expected:
            ours, theirs = view.variables[name], self.raw.variables[name]
            if ours.dims != theirs.dims:
                want([re.sub(r"__d\d+_*$", "", d) for d in ours.dims] == list(theirs.dims), name, "has dimensions", ours.dims)
                causes.add("dims")
            for k, x in ours.attrs.items():
                if isinstance(x, str) and "\0" in x:
                    causes.add("nul")
                if k in DECODED_WITH and not isinstance(x, str) and np.asarray(x).dtype.newbyteorder("=") != np.asarray(theirs.attrs[k]).dtype.newbyteorder("="):
                    causes.add("types")
            variables[name] = xr.Variable(ours.dims, theirs.values, ours.attrs)
        return xr.decode_cf(xr.Dataset(variables, attrs=view.attrs), decode_times=self.decode_times).load(), causes


def equal_text(a, b):
    def plain(x):
        if isinstance(x, bytes):
            x = x.decode("utf-8", "surrogateescape")
        return x.replace("\0", "")
    return plain(a) == plain(b)


def compare_attrs(where, ours, theirs, omitted):
    """Attributes of the view equal those of the original, except for omissions."""
    for k in theirs:
        if k not in ours:
            want((where, k) in omitted, where, "attribute", k, "is missing")
    for k, x in ours.items():
        want(k in theirs, where, "has an attribute", k, "too many")
        y = theirs[k]
        if isinstance(x, str):
            want(isinstance(y, (str, bytes)) and equal_text(x, y), where, "attribute", k, repr(x), "expected", repr(y))
        else:
            want(np.ndim(x) == np.ndim(y) and (np.array_equal(x, y) or np.all(x != x) and np.all(y != y)), where, "attribute", k, x, "expected", y)


def same(a, b):
    if a.ndim == b.ndim == 0 and a.dtype.kind == b.dtype.kind == "f":
        return np.array_equal(a, b, equal_nan=True)  # xarray widens single values, depending on their source
    if a.dtype.kind != b.dtype.kind or a.dtype.itemsize != b.dtype.itemsize or a.shape != b.shape:
        return False
    if a.dtype.kind == "O":
        return all(x == y or (x != x and y != y) for x, y in zip(a.ravel(), b.ravel()))
    if a.dtype.kind in "fcmM":
        return np.array_equal(a, b, equal_nan=True)
    return np.array_equal(a, b)


def compare_decoded(view, original):
    names = set(view.variables)
    want(names == set(original.variables), "decoded variables differ:", names ^ set(original.variables))
    want(set(view.coords) == set(original.coords), "coordinates differ:", set(view.coords) ^ set(original.coords))
    want(set(view.indexes) == set(original.indexes), "indexes differ:", set(view.indexes) ^ set(original.indexes))
    for name in sorted(names):
        a, b = view.variables[name], original.variables[name]
        want(a.dims == b.dims, name, "decoded dimensions", a.dims, "expected", b.dims)
        want(same(a.values, b.values), name, "decoded values differ:", a.dtype, a.values, "expected", b.dtype, b.values)
        compare_encoding(name, a.encoding, b.encoding)


def compare_encoding(name, ours, theirs):
    """The encodings are equal, except for the sizes of numbers, which JSON does not have."""
    if "dtype" in ours and "dtype" in theirs:
        a, b = (np.dtype(e["dtype"]).newbyteorder("=") for e in (ours, theirs))
        want(a == b, name, "encoded as", a, "expected", b)
    for k in ENCODED:
        x, y = ours.get(k), theirs.get(k)
        if isinstance(x, str) and isinstance(y, (str, bytes)):
            want(equal_text(x, y), name, "encoding", k, repr(x), "expected", repr(y))
            continue
        a, b = np.asarray(x), np.asarray(y)
        want(a.dtype.kind.replace("u", "i") == b.dtype.kind.replace("u", "i") and
             np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), name, "encoding", k, repr(x), "expected", repr(y))


def judge_xarray(path, job, original, answer):
    expected = {v["path"]: v for v in job["vars"] if "/" not in v["path"]}
    store = zarr.ZipStore(path, mode="r")
    try:
        try:
            view = xr.open_zarr(store, consolidated=True, decode_cf=False, chunks=None).load()
        except Exception as e:
            why = refusal(e)
            if original:
                want(any(a.partition(": ")[2] == why for a in original.against),
                     "xarray refuses the view:", why, "but says of the original:", original.against)
                want(answer["refused"] in ("", why), "xarray refuses archives for different reasons:", why)
            answer["refused"] = why
            return
        want(not answer["refused"], "xarray refuses another archive of the file:", answer["refused"])
        want(set(view.variables) == set(expected), "variables", sorted(view.variables))
        for name, v in expected.items():
            dtype = DTYPES[v["type"]]
            want(list(view.variables[name].shape) == v["shape"], name, "shape", view.variables[name].shape)
            want(sha256(view.variables[name].values, dtype) == v["sha256"], name, "values differ in xarray")
        if not original or original.raw is None:
            return
        if any("\0" in k for v in [view, *view.variables.values()] for k in v.attrs):
            answer["ordinary"], answer["unjudged"] = "", original.engine + ": cuts names at NUL"
            return
        omitted = set(original.omitted)
        compare_attrs("", view.attrs, original.raw.attrs, omitted)
        for name in expected:
            compare_attrs(name, view.variables[name].attrs, original.raw.variables[name].attrs, omitted)
        if original.decoded is None:
            return
        decoded = xr.open_zarr(store, consolidated=True, decode_cf=True, decode_times=original.decode_times, chunks=None).load()
        try:
            compare_decoded(decoded, original.decoded)
        except Fault as fault:
            theirs, causes = original.reduced(view)
            if not causes:
                raise
            compare_decoded(decoded, theirs)
            answer["differs"] = "%s (%s)" % (fault, " ".join(sorted(causes)))
    finally:
        store.close()


def judge(job):
    answer = {"errors": [], "refused": "", "ordinary": "", "unjudged": "", "differs": ""}
    original = None
    if job.get("original"):
        original = Original(job)
        answer["ordinary"] = original.ordinary
        if not original.ordinary or not original.decode_times:
            answer["unjudged"] = "; ".join(original.against).replace(job["original"], "original")
    for path in job["archives"]:
        try:
            meta = judge_zip(path)
            if not job.get("zip"):
                judge_zarr(path, meta, job["vars"])
                judge_xarray(path, job, original, answer)
        except Exception as e:
            answer["errors"].append("%s: %s: %s" % (path.rpartition("/")[2], type(e).__name__, e))
    return answer


def main():
    for line in sys.stdin:
        print(json.dumps(judge(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
