"""Checks of the claims of an archive. Comments and names quote headings of docs/FORMAT.md."""
import json
import re
import unicodedata

from ._errors import ArchiveDamaged

M32, M16, MAXBLOCK, MAXHEADER = 0xFFFFFFFF, 0xFFFF, 2**30, 2**28


def need(ok, what):
    if not ok:
        raise ArchiveDamaged(what)


def uint(x, what="number", top=2**63 - 1):
    need(type(x) is int and 0 <= x <= top, f"{what}: {x!r:.40} is not an integer from 0 to {top}")
    return x


# ---- "Rules for JSON" and the members of manifest and plan

def parse_json(text):
    def pairs(list_):
        d = dict(list_)
        need(len(d) == len(list_), "a member occurs twice")
        return d
    text = bytes(text).decode()                # strict: ValueError is damage
    integer = lambda s: -0.0 if s == "-0" else int(s)  # which is equal to 0, but has a sign
    x = json.loads(text, object_pairs_hook=pairs, parse_constant=lambda c: need(False, c), parse_int=integer)
    json.dumps(x, ensure_ascii=False).encode() # an unpaired surrogate does not encode
    return x

def levels(x):
    """Returns the levels of objects and lists in a value."""
    inner = x.values() if type(x) is dict else x if type(x) is list else ()
    return 1 + max(map(levels, inner), default=0)

def parts(content, at):
    """Yields name, start and end of each member of the object that begins at a character of a text, or of the elements of a
    list. Raises ValueError or AttributeError where that is no JSON."""
    value = json.JSONDecoder().raw_decode
    after = lambda what, at: re.compile(r"[ \t\n\r]*" + what).match(content, at).end()
    first = after(r"[{\[]", at)
    last, name = "}" if content[first - 1] == "{" else "]", None
    at = after("", first)
    if content.startswith(last, at):
        return
    while True:
        if last == "}":
            name, at = json.decoder.scanstring(content, after('"', at))
            at = after(":", at)
        at = after("", at)
        _, end = value(content, at)
        yield name, at, end
        at = after(rf"[,\{last}]", end)
        if content[at - 1] == last:
            return

def codecs(content):
    """Yields the codecs of a valid plan as its text has them."""
    for name, at, _ in parts(content, 0):
        if name == "chains":
            for _, chain, _ in parts(content, at):
                for _, filter, _ in parts(content, chain):
                    yield from (content[a:b] for member, a, b in parts(content, filter) if member == "codec")
            return

def members(x, required, optional=""):
    need(type(x) is dict, f"{x!r:.40} is not an object")
    required, known = required.split(), (required + " " + optional).split()
    for m in required:
        need(m in x, f"member {m} is missing")
    need(not any(x[m] is None for m in known if m in x), "a member is null")
    need(len(x) - sum(m in x for m in known) <= 32, "too many unknown members")
    need(all(m in known or levels(v) <= 32 for m, v in x.items()), "a value of more than 32 levels")
    return x

def text(x, most=255):
    need(type(x) is str and len(x.encode()) <= most, f"{x!r:.40} is not a string of at most {most} bytes")
    return x

def hexdigits(x, n):
    need(type(x) is str and re.fullmatch("[0-9a-f]{%d}" % n if n else "([0-9a-f]{2})*", x), f"{x!r:.40} are no {n} hexadecimal digits")
    return x

def path_allowed(v):
    p = text(v["path"])
    plain = (1 <= len(p.encode()) <= 200 and p[0] != "." and not set(p) & set("/\\")
             and not any(unicodedata.category(c) == "Cc" for c in p))
    need(plain or p == f".cdfz/v/{v['var']}", f"path {p!r}")
