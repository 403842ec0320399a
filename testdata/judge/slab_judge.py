#!/usr/bin/python3
"""Checks hyperslabs with programs that do not know cdfz: netCDF4-python, else scipy.

Needs Debian's python3-netcdf4 and python3-scipy. Reads jobs and answers each with one line. All
lines are JSON objects. A job is a netCDF file and the values that were read from it:

  path        path of the file
  sparse      true: the file is too large to read whole variables
  vars        for each variable, in order: type (as in netCDF), shape, sha256 of the values
  selections  var (its number), start, count, stride, sha256 of the values that were read, and double,
              sha256 of the values converted to double, "" for text

Values are hashed in row-major order, big-endian as in the file. A judge that refuses a whole variable,
or reads other values than the job claims, cannot judge the variable, and the next judge is tried.
Negative strides are applied by numpy to the variable as read by the judge.

The answer:

  judges      the judge of each variable: "netcdf4", "scipy", or "" for none
  against     for each variable a list of the reasons of judges that do not judge it
  judged      number of compared selections
  errors      the selections that differ
"""

import hashlib
import json
import os
import resource
import sys
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # each thread takes address space, which is limited below

import netCDF4
import numpy as np
from scipy.io import netcdf_file

warnings.simplefilter("ignore")

# netCDF4 takes a streaming file's number of records for 2^32-1 and asks for as many values.
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

DTYPES = {
    "byte": "|i1", "char": "|S1", "short": ">i2", "int": ">i4", "float": ">f4", "double": ">f8",
    "ubyte": "|u1", "ushort": ">u2", "uint": ">u4", "int64": ">i8", "uint64": ">u8",
}


def sha256(array, dtype):
    return hashlib.sha256(np.ascontiguousarray(np.asarray(array).astype(dtype)).tobytes()).hexdigest()


class NetCDF4:
    name = "netcdf4"

    def __init__(self, path):
        self.file = netCDF4.Dataset(path)
        self.file.set_auto_maskandscale(False)
        self.file.set_always_mask(False)
        self.file.set_auto_chartostring(False)

    def variables(self, count):
        by_id = {v._varid: v for v in self.file.variables.values()}  # one of several with the same name
        return [by_id.get(i) for i in range(count)]

    def read(self, v, key):
        return v[key]


class SciPy:
    name = "scipy"

    def __init__(self, path):
        self.file = netcdf_file(path, mmap=False, maskandscale=False)

    def variables(self, count):
        found = list(self.file.variables.values())
        if len(found) != count:
            raise ValueError("%d variables, expected %d" % (len(found), count))
        return found

    def read(self, v, key):
        return v.data[key]


def slices(start, count, stride):
    out = []
    for a, n, s in zip(start, count, stride):
        if n == 0:
            out.append(slice(a, a))
            continue
        last = a + (n - 1) * s
        end = last + (1 if s > 0 else -1)
        out.append(slice(a, None if end < 0 else end, s))
    return tuple(out)


class Variable:
    """A variable, read by the first judge that reads all of it as expected."""

    def __init__(self, judges, number, expected, sparse):
        self.judge = self.whole = None
        self.against = []
        self.dtype = DTYPES[expected["type"]]
        for judge, found in judges:
            try:
                if isinstance(found, Exception):
                    raise found
                self.accept(judge, found[number], expected, sparse)
                return
            except Exception as e:
                self.against.append("%s: %s: %s" % (judge.name, type(e).__name__, str(e).partition(": b'/")[0]))

    def accept(self, judge, v, expected, sparse):
        if v is None:
            raise ValueError("no such variable")
        if list(v.shape) != expected["shape"]:
            raise ValueError("shape %s, expected %s" % (list(v.shape), expected["shape"]))
        if not sparse:
            whole = np.asarray(judge.read(v, Ellipsis))
            want = np.dtype(self.dtype)
            if whole.dtype.kind != want.kind or whole.dtype.itemsize != want.itemsize:
                raise ValueError("type %s, expected %s" % (whole.dtype, want))
            if sha256(whole, want) != expected["sha256"]:
                raise ValueError("other values")
            self.whole = whole
        self.judge, self.v = judge, v

    def compare(self, s):
        key = slices(s["start"], s["count"], s["stride"])
        answers = []
        if self.whole is not None:
            answers.append(("numpy", self.whole[key]))
        if all(step > 0 for step in s["stride"]) or self.whole is None:
            # A scalar has an empty key, which netCDF4 does not accept.
            answers.append((self.judge.name, np.asarray(self.judge.read(self.v, key or Ellipsis))))
        for name, got in answers:
            if list(got.shape) != s["count"]:
                return "%s: shape %s" % (name, list(got.shape))
            if sha256(got, self.dtype) != s["sha256"]:
                return name + ": other values"
            if s["double"] and sha256(got, ">f8") != s["double"]:
                return name + ": other values as double"
        return ""


def judge(job):
    judges = []
    for kind in (NetCDF4, SciPy):
        if job["sparse"] and kind is SciPy:
            continue
        try:
            opened = kind(job["path"])
            found = opened.variables(len(job["vars"]))
        except Exception as e:
            opened, found = kind, e
        judges.append((opened, found))
    variables = [Variable(judges, i, v, job["sparse"]) for i, v in enumerate(job["vars"])]
    answer = {
        "judges": [v.judge.name if v.judge else "" for v in variables],
        "against": [v.against for v in variables],
        "judged": 0,
        "errors": [],
    }
    for s in job["selections"]:
        v = variables[s["var"]]
        if v.judge:
            answer["judged"] += 1
            try:
                why = v.compare(s)
            except Exception as e:
                why = "%s: %s" % (type(e).__name__, e)
            if why:
                answer["errors"].append("variable %d, start %s, count %s, stride %s: %s" % (
                    s["var"], s["start"], s["count"], s["stride"], why))
    for opened, _ in judges:
        if not isinstance(opened, type):
            opened.file.close()
    return answer


def main():
    for line in sys.stdin:
        print(json.dumps(judge(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
