#!/usr/bin/python3
"""Decodes lorenz blocks with the decoder of python/, which was written from docs/LORENZ.md.

Reads one JSON object per line: params, the parameters as numbers, and block, in base64. Answers with one line:
the SHA-256 of the decoded bytes, or "damaged: " and the reason.
"""

import base64
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))

from cdfz import lorenz

for line in sys.stdin:
    job = json.loads(line)
    p = lorenz.Parameters.from_vector(job["params"])
    try:
        print(hashlib.sha256(lorenz.decode_block(base64.b64decode(job["block"]), p)).hexdigest())
    except lorenz.DamagedBlock as e:
        print("damaged:", e)
