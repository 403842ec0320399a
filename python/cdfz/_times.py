"""Units of time of joined archives (docs/joined.md): which mean the same, and how values are converted.

Read are the spellings of the CF conventions, `hours since 1850-1-1 00:00:00`. The program reads more (docs/reading.md).
"""
import re
from fractions import Fraction

import numpy as np

from ._netcdf import DTYPES

DAY = 86400 * 10**9                            # nanoseconds, as are all lengths here
NAMES = {"nanosecond nanoseconds nanosec nanosecs nsec nsecs ns": 1, "microsecond microseconds microsec microsecs usec usecs us": 10**3,
         "millisecond milliseconds millisec millisecs msec msecs ms": 10**6, "second seconds sec secs s": 10**9, "minute minutes min mins": 60 * 10**9,
         "hour hours hr hrs h": 3600 * 10**9, "day days d": DAY, "week weeks": 7 * DAY, "fortnight fortnights": 14 * DAY}
STEPS = {name: n for names, n in NAMES.items() for name in names.split()}
CALENDARS = {"": "standard", "gregorian": "standard", "no_leap": "noleap", "365_day": "noleap", "allleap": "all_leap", "366_day": "all_leap"}
CALENDARS.update((n, n) for n in ("standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"))
SINCE = re.compile(r"\s*([a-z]+)\s+since\s+(\d{1,4})-(\d{1,2})-(\d{1,2})(?:(?:\s+|t)(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6})0*)?)?"
                   r"(?:\s*(?:z|utc|gmt|([-+])(\d{1,2}):(\d{2}))|\s+0{1,2}:00(?::00)?)?)?\s*", re.A)


def parse(text, calendar):
    """Returns (calendar, nanoseconds of a unit, nanoseconds of the reference time since 1970), or None if these are not
    units of time in a known spelling."""
    calendar, m = CALENDARS.get(calendar.strip().lower()), SINCE.fullmatch(text.lower())
    if calendar is None or m is None or m[1] not in STEPS:
        return None
    year, month, day, *clock = (int(x or 0) for x in m.groups()[1:7])
    days = day_number(calendar, year, month, day) if 1 <= month <= 12 else None
    if days is None or year == 0 or clock[0] > 23 or max(clock[1:]) > 59 or int(m[10] or 0) > 23 or int(m[11] or 0) > 59:
        return None
    zone = (int(m[10] or 0) * 60 + int(m[11] or 0)) * (-1 if m[9] == "-" else 1)
    seconds = clock[0] * 3600 + (clock[1] - zone) * 60 + clock[2]
    return calendar, STEPS[m[1]], days * DAY + seconds * 10**9 + int((m[8] or "").ljust(6, "0")) * 1000


def day_number(calendar, year, month, day):
    """Returns the days since 1970 of a date, in the calendars without leap years or such since their own 1970. None if the
    calendar does not have the date."""
    if calendar == "360_day":
        return (year - 1970) * 360 + (month - 1) * 30 + day - 1 if 1 <= day <= 30 else None
    julian = calendar == "julian" or calendar == "standard" and (year, month, day) < (1582, 10, 15)
    leap = calendar == "all_leap" or calendar != "noleap" and year % 4 == 0 and (julian or year % 100 != 0 or year % 400 == 0)
    lengths = [31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if not 1 <= day <= lengths[month - 1] or calendar == "standard" and (1582, 10, 5) <= (year, month, day) < (1582, 10, 15):
        return None
    n, y = sum(lengths[:month - 1]) + day - 1, year - 1
    if calendar in ("noleap", "all_leap"):
        return n + (year - 1970) * (365 + leap)
    if julian:
        return n + 365 * y + y // 4 - 719164
    return n + 365 * y + y // 4 - y // 100 + y // 400 - 719162


def attrs_of(v):
    return {n: values for n, _, values in reversed(v.attrs)}


def units_of(h, v):
    """Returns what parse does for a variable. Bounds inherit the units of their variable."""
    text = lambda attrs, name: attrs[name].tobytes().rstrip(b"\0").decode("latin-1") if name in attrs else ""
    attrs = attrs_of(v)
    if b"units" not in attrs:
        for p in h.vars:
            theirs = attrs_of(p)
            if p is not v and v.name in (theirs[n].tobytes().rstrip(b"\0") for n in (b"bounds", b"climatology") if n in theirs):
                attrs = theirs
                break
    return None if v.type == "char" else parse(text(attrs, b"units"), text(attrs, b"calendar"))


def packed(v):
    return any(n in (b"scale_factor", b"add_offset", b"_Unsigned") for n, *_ in v.attrs)


FILLS = {"short": -32767, "int": -2147483647, "float": np.float32(9.9692099683868690e36), "double": 9.9692099683868690e36,
         "ushort": 65535, "uint": 4294967295, "int64": -9223372036854775806, "uint64": 18446744073709551614}


def convert(values, v, units, to):
    """Returns an array of a variable's times in other units of the same calendar. Missing ones stay. The error is a
    ValueError with a time whose conversion is not exact."""
    attrs = attrs_of(v)
    missing = [x for n in (b"_FillValue", b"missing_value") if n in attrs and attrs[n].dtype.kind != "S" for x in attrs[n].tolist()]
    missing = missing or ([FILLS[v.type].item() if hasattr(FILLS[v.type], "item") else FILLS[v.type]] if v.type in FILLS else [])
    (_, step, ref), (_, other, base) = units, to
    whole = np.dtype(DTYPES[v.type]).kind in "iu"
    bounds = np.iinfo(DTYPES[v.type]) if whole else None
    out = np.array(values)
    for at, x in np.ndenumerate(values):
        x = x.item()
        if x != x or x in missing:
            continue
        y = (Fraction(x) * step + ref - base) / other if abs(x) != float("inf") else None
        exact = y is not None
        if exact and whole:
            exact = y.denominator == 1 and bounds.min <= y <= bounds.max and max(abs(x), abs(y)) < 2**53
            y = int(y) if exact else y
        elif exact:
            near = out.dtype.type(float(y))
            exact, y = np.isfinite(near) and Fraction(near.item()) == y, near
        if not exact:
            raise ValueError(x)
        out[at] = y
    return out
