#!/usr/bin/env python3
"""Answers the runner of the conformance suite with the reader in Python of testdata/reader and the package in python."""
import hashlib, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../reader"), os.path.join(HERE, "../../python")]
import cdfz
import cdfz_reader
from cdfz import lorenz


def answer(line):
    request, path = line.split(" ", 1)
    if request == "block":
        parameters, path = path.split(" ", 1)
        with open(path, "rb") as f:
            p = lorenz.Parameters.from_vector([int(x) for x in parameters.split(",")])
            return "image " + hashlib.sha256(lorenz.decode_block(f.read(), p)).hexdigest()
    if request == "archive":
        return "image " + cdfz_reader.restore(cdfz_reader.Archive(path))[1]
    return "skipped"


for line in sys.stdin:
    try:
        out = answer(line.rstrip("\n"))
    except cdfz.ArchiveUnsupported as e:
        out = f"refused {e}"
    except (cdfz.ArchiveDamaged, cdfz.DamagedBlock, KeyError, TypeError, ValueError) as e:
        out = f"damaged {e}"
    print(out.replace("\n", "; "), flush=True)
