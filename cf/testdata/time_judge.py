# Prints what cftime makes of numbers: reads lines of units, calendar and a number as a
# hexadecimal float, separated by tabs, and prints the date of each in ISO 8601, or "-".
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
