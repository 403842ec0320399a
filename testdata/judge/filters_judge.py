#!/usr/bin/python3
"""Decodes blocks with the filters of python/, which were written from docs/FORMAT.md and docs/LORENZ.md.

Reads one JSON object per line: id and params of a filter, n, the decoded length, and block, in base64. Answers with
one line: the SHA-256 of the decoded bytes, "damaged: " and the reason, or "unsupported: " and the reason.
"""

import base64
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))

from cdfz import ArchiveDamaged, ArchiveUnsupported
from cdfz._filters import decode

for line in sys.stdin:
    job = json.loads(line)
    n = job["n"]
    try:
        data = decode([{"id": job["id"], "params": job["params"]}], base64.b64decode(job["block"]), n, 0, 1 << 32)
        print(hashlib.sha256(data).hexdigest() if len(data) == n else "damaged: length")
    except ArchiveDamaged as e:
        print("damaged:", e)
    except ArchiveUnsupported as e:
        print("unsupported:", e)
