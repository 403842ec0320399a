"""The header of classic netCDF files (The NetCDF Classic Format Specification)."""
import collections

import numpy as np

from ._checks import need

TYPES = ("byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64")
SIZES = dict(byte=1, char=1, short=2, int=4, float=4, double=8, ubyte=1, ushort=2, uint=4, int64=8, uint64=8)
DTYPES = dict(byte="i1", char="S1", short=">i2", int=">i4", float=">f4", double=">f8", ubyte="u1", ushort=">u2",
              uint=">u4", int64=">i8", uint64=">u8")

# dims: (name, length or None for the record dimension); attrs: (name, type, values); shape has the
# number of records; segment is (off, len, stride, count), zeros for a variable without a byte.
Header = collections.namedtuple("Header", "length records recsize dims attrs vars")
Variable = collections.namedtuple("Variable", "name dims attrs type shape begin record segment")

MOST = 2**63 - 1                               # of lengths, offsets and numbers of records


def length_of(size, lengths):
    """Returns the bytes of a variable or of its record."""
    for n in lengths:
        size *= n
        need(size <= MOST, "netCDF header: bytes of a variable")
    return size


def parse(b, size):
    """Parses the header at the start of an image of size bytes."""
    need(len(b) >= 4 and bytes(b[:3]) == b"CDF" and b[3] in (1, 2, 5), "no netCDF header")
    version, at = b[3], 4
    def take(n):
        nonlocal at
        need(at + n <= len(b), "netCDF header: cut")
        at += n
        return b[at - n:at]
    number = lambda n: int.from_bytes(take(n), "big")
    count = lambda: number(8 if version == 5 else 4)
    def padded(n):
        out = take(n)
        take(-n % 4)
        return out
    name = lambda: bytes(padded(count()))
    def items(tag, one):
        t, n = number(4), count()
        need(t == tag or t == n == 0, "netCDF header: tag")
        need(n <= len(b), "netCDF header: count")
        return [one() for _ in range(n)]
    def attribute():
        n, t = name(), number(4)
        need(1 <= t <= 11, "netCDF header: type")
        t = TYPES[t - 1]
        return n, t, np.frombuffer(bytes(padded(count() * SIZES[t])), DTYPES[t])
    def variable():
        n, rank = name(), count()
        need(rank <= len(b), "netCDF header: count")
        ids = [count() for _ in range(rank)]
        attrs = items(0x0C, attribute)
        t, _ = number(4), count()
        need(1 <= t <= 11, "netCDF header: type")
        return n, ids, attrs, TYPES[t - 1], number(4 if version == 1 else 8)
    records = count()
    streaming = records == 2**(64 if version == 5 else 32) - 1
    dims, attrs, found = items(0x0A, lambda: (name(), count())), items(0x0C, attribute), items(0x0B, variable)
    lengths = [n for _, n in dims]
    need(streaming or records <= MOST, "netCDF header: number of records")
    need(all(n <= (2**31 - 1 if version == 1 else MOST) for n in lengths), "netCDF header: length of a dimension")
    need(all(begin <= (2**31 - 1 if version == 1 else MOST) for *_, begin in found), "netCDF header: begin")
    need(all(i < len(dims) for _, ids, *_ in found for i in ids), "netCDF header: dimension")
    need(all(lengths[i] for _, ids, *_ in found for i in ids[1:]), "netCDF header: record dimension in another place than the first")
    each = [(ids[:1] != [] and lengths[ids[0]] == 0, begin, length_of(SIZES[t], (lengths[i] for i in ids if lengths[i])))
            for _, ids, _, t, begin in found]
    recs = [(begin, n) for is_rec, begin, n in each if is_rec]
    recsize = recs[0][1] if len(recs) == 1 else sum(n + -n % 4 for _, n in recs)
    if streaming:
        records = max(0, min(((size - begin - n) // recsize + 1 for begin, n in recs if recsize), default=0))
    need(max(recsize, recsize * records) <= MOST, "netCDF header: bytes of variables or records")
    out = []
    for (n, ids, own, t, begin), (is_rec, _, length) in zip(found, each):
        shape = [lengths[i] for i in ids]
        if is_rec:
            shape[0] = records
        times = records if is_rec else 1
        need(begin + length + (recsize * (times - 1) if times else 0) <= MOST, "netCDF header: end of a variable")
        seg = (0, 0, 0, 0) if length * times == 0 or 0 in shape else (begin, length, recsize if times > 1 else 0, times)
        out.append(Variable(n, ids, own, t, shape, begin, is_rec, seg))
    return Header(at, records, recsize, [(n, d or None) for n, d in dims], attrs, out)
