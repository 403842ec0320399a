# Prints the dates that cftime computes. Reads lines of units, calendar and a number in
# hexadecimal floating point, separated by tabs. Prints each date in ISO 8601, or "-".
import sys
import warnings

import cftime

warnings.simplefilter("ignore")
for line in sys.stdin:
    units, calendar, x = line.rstrip("\n").split("\t")
    try:
        print(cftime.num2date(float.fromhex(x), units, calendar).isoformat())
    except Exception:
        print("-")
