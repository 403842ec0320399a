# Prints the variables of classic files as netCDF4-python and xarray unpack them, for
# the tests of package cf. Each line holds the file, number and name of a variable, then
# type and values as big-endian doubles in hexadecimal, first from netCDF4, then from
# xarray, or "-" where one of them fails.
#
#   judge.py generate DIR     writes files with many combinations of attributes
#   judge.py unpack FILE...   prints the variables
import sys
import warnings

import netCDF4
import numpy as np
import xarray

warnings.simplefilter("ignore")
LIMIT = 20000  # values compared for each variable

TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def values(t):
    t = np.dtype(t)
    if t.kind == "f":
        return np.array([0, -0.0, 1, -1, 1e20, -999, 0.1, np.nan, np.inf, -np.inf, 255, -32767, 5, 1e-40, 3e38, 16777217], t)
    i = np.iinfo(t)
    v = [i.min, i.min + 1, i.max, i.max - 1, 0, 1, 5, 100, 3]
    return np.array((v * 2)[:16], t)


def generate(folder):
    # One file a type: adding a variable to a classic file moves all values in it.
    for t in TYPES:
        generate_type(t, "%s/%s.nc" % (folder, t))


def generate_type(t, name):
    ds = netCDF4.Dataset(name, "w", format="NETCDF3_64BIT_DATA")
    ds.createDimension("x", 16)
    count = 0

    def add(t, **attrs):
        nonlocal count
        v = ds.createVariable("v%d" % count, t, ("x",), fill_value=attrs.pop("_FillValue", None))
        v.set_auto_maskandscale(False)
        v[:] = values(t)
        v.setncatts(attrs)
        count += 1

    own = np.dtype(t).type
    add(t)
    add(t, _FillValue=own(5))
    for f in ("f4", "f8"):
        num = np.dtype(f).type
        for scale in (0.1, 2, 1, 1e-30, 0, np.nan):
            for offset in (None, 0.3, 273.15, 0, -1e10):
                for fill in (None, 5, 100):
                    attrs = {"scale_factor": num(scale)}
                    if offset is not None:
                        attrs["add_offset"] = num(offset)
                    if fill is not None:
                        attrs["_FillValue"] = own(fill)
                    add(t, **attrs)
        add(t, add_offset=num(0.3))
    add(t, scale_factor=np.float32(0.1), add_offset=np.float64(0.3))
    add(t, scale_factor=np.float64(0.1), add_offset=np.float32(0.3))
    for f in TYPES:
        num = np.dtype(f).type
        add(t, scale_factor=num(2))
        add(t, add_offset=num(3))
        add(t, missing_value=num(5))
        add(t, missing_value=np.array([5, 100], f))
        add(t, missing_value=num(5), _FillValue=own(100), scale_factor=np.float64(0.5))
    for m in (1e20, -999.0, 0.1, 1e300, np.nan, np.inf, 5.5, 255.0):
        add(t, missing_value=np.float64(m))
        add(t, missing_value=np.float64(m), scale_factor=np.float64(2))
        with np.errstate(over="ignore"):
            add(t, missing_value=np.float32(m))
    for u in ("true", "True", "TRUE", "false", "yes"):
        add(t, _Unsigned=u)
        add(t, _Unsigned=u, _FillValue=own(5))
        add(t, _Unsigned=u, _FillValue=values(t)[2], scale_factor=np.float32(0.5))
        add(t, _Unsigned=u, missing_value=values(t)[0], scale_factor=np.float64(0.5))
    add(t, valid_range=np.array([1, 50], t))
    add(t, valid_min=own(1), valid_max=own(50), scale_factor=np.float64(0.1))
    add(t, missing_value="5")
    ds.close()


def doubles(a):
    return np.asarray(a, "f8").astype(">f8").tobytes().hex()


def unpack(name):
    try:
        nc = netCDF4.Dataset(name)
        xr = xarray.open_dataset(name, engine="netcdf4", decode_cf=False)
    except Exception:
        return
    for i, n in enumerate(nc.variables):
        v = nc.variables[n]
        if v.dtype == str or v.dtype.kind not in "iuf" or n not in xr.variables or v.size == 0 or not n.isprintable() or " " in n:
            continue
        rows = max(1, LIMIT // max(1, int(np.prod(v.shape[1:])))) if v.ndim else 0
        if v.ndim and int(np.prod(v.shape[1:])) > LIMIT:
            continue
        at = slice(0, rows) if v.ndim else Ellipsis
        out = [name, str(i), n]
        try:
            a = np.ma.asarray(v[at])
            out += [a.dtype.newbyteorder("=").str[1:], doubles(np.ma.filled(a.astype("f8"), np.nan))]
        except Exception:
            out += ["-", "-"]
        try:
            var = xr.variables[n][at] if v.ndim else xr.variables[n]
            a = xarray.conventions.decode_cf_variable(n, var, decode_times=False).values
            out += [a.dtype.newbyteorder("=").str[1:], doubles(a)]
        except Exception:
            out += ["-", "-"]
        print("\t".join(out))


if sys.argv[1] == "generate":
    generate(sys.argv[2])
else:
    for name in sys.argv[2:]:
        unpack(name)
