# Prints what UDUNITS, cftime and xarray take units of time for. Reads lines of units, and prints the
# time of 1.5 units in seconds since 2000-01-01 of the standard calendar, as UDUNITS, cftime and xarray
# compute it, or "-".
import ctypes
import sys
import warnings

import cftime
import numpy as np
from xarray.coding import times

warnings.simplefilter("ignore")
udunits = ctypes.CDLL("libudunits2.so.0")
for f in udunits.ut_read_xml, udunits.ut_parse, udunits.ut_get_converter:
    f.restype = ctypes.c_void_p
udunits.cv_convert_double.restype = ctypes.c_double
udunits.ut_set_error_message_handler(udunits.ut_ignore)
system = ctypes.c_void_p(udunits.ut_read_xml(None))
seconds = ctypes.c_void_p(udunits.ut_parse(system, b"seconds since 2000-01-01 00:00:00", 0))
epoch = cftime.datetime(2000, 1, 1, calendar="standard")
NUMBER = 1.5


def by_udunits(units):
    unit = udunits.ut_parse(system, units.encode(), 0)
    convert = unit and udunits.ut_get_converter(ctypes.c_void_p(unit), seconds)
    if not convert:
        return "-"
    return "%.6f" % udunits.cv_convert_double(ctypes.c_void_p(convert), ctypes.c_double(NUMBER))


def by_cftime(units):
    try:
        return "%.6f" % (cftime.num2date(NUMBER, units, "standard") - epoch).total_seconds()
    except Exception:
        return "-"


def by_xarray(units):
    try:
        t = times.decode_cf_datetime(np.array([NUMBER]), units, "standard")[0]
    except Exception:
        return "-"
    if isinstance(t, np.datetime64):
        return "%.6f" % ((t - np.datetime64("2000-01-01", "ns")) / np.timedelta64(1, "s"))
    return "%.6f" % (t - epoch).total_seconds()


for line in sys.stdin:
    units = line.rstrip("\n")
    print(by_udunits(units), by_cftime(units), by_xarray(units))
