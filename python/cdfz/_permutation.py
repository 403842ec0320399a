"""The bytes of the netCDF file ("The permutation")."""
import numpy as np

from ._blocks import Blocks
from ._checks import need


class Permutation(Blocks):
    """Puts the netCDF file together from variables, pools and the rest."""

    def segments(self):
        """Returns the segments of blocked and pooled variables, and where their raw bytes are."""
        with self._lock:
            if hasattr(self, "_segments"):
                return self._segments
        rows, where = [], []
        for v in self.vars:
            if v["bytes"]:
                rows.append([v["segment"][x] for x in ("off", "len", "stride", "count")])
                where.append((v, 0))
        for p in self.pools:
            at = 0
            for s in p["segments"]:
                rows.append(s)
                where.append((p, at))
                at += s[1] * s[3]
        found = np.array(rows, np.int64).reshape(-1, 4), where
        with self._lock:
            self._segments = found
        return found

    def before(self, off):
        """Returns the number of bytes of segments before a byte of the image."""
        s = self.segments()[0]
        ahead = np.maximum(off - s[:, 0], 0)
        stride = np.where(s[:, 3] > 1, s[:, 2], np.iinfo(np.int64).max)
        whole = np.minimum(ahead // stride, s[:, 3])
        return int((whole * s[:, 1] + np.where(whole < s[:, 3], np.minimum(ahead - whole * np.where(s[:, 3] > 1, stride, 0), s[:, 1]), 0)).sum())

    def image(self, off, n):
        """Returns bytes [off, off+n) of the netCDF file. A range outside of it is an IndexError."""
        size = self.plan["image"]["size"]
        if not (0 <= off and 0 <= n <= size - off):
            raise IndexError(f"expected a range of the {size} bytes of the file, found {n} from {off} on")
        out, used, end = np.empty(n, np.uint8), np.zeros(n, bool), off + n
        segs, where = self.segments()
        last = segs[:, 0] + segs[:, 2] * (segs[:, 3] - 1) + segs[:, 1] if len(segs) else np.zeros(0, np.int64)
        for i in np.flatnonzero((segs[:, 0] < end) & (last > off)).tolist():
            (start, length, stride, count), (v, base) = segs[i].tolist(), where[i]
            r0, r1 = 0, count
            if count > 1:                      # records that overlap the range
                r0 = max(0, -(-(off - start - length + 1) // stride))
                r1 = min(count, max(0, -(-(end - start) // stride)))
            if r0 >= r1:
                continue
            lo = base + r0 * length + max(0, off - start - r0 * stride)
            hi = base + (r1 - 1) * length + min(length, end - start - (r1 - 1) * stride)
            raw, at = self.raw(v, lo, hi - lo), 0
            if r1 - r0 > 2:   # whole records in between
                first = length - max(0, off - start - r0 * stride)
                k = r1 - r0 - 2
                view = lambda a: np.lib.stride_tricks.as_strided(a[start + (r0 + 1) * stride - off:], (k, length), (stride, 1))
                need(not view(used).any(), "segments overlap")
                view(used)[...] = True
                view(out)[...] = raw[first:first + k * length].reshape(k, length)
            for r in dict.fromkeys((r0, r1 - 1)):
                a, b = max(start + r * stride, off), min(start + r * stride + length, end)
                at = base + r * length + a - start - r * stride - lo
                need(not used[a - off:b - off].any(), "segments overlap")
                used[a - off:b - off] = True
                out[a - off:b - off] = raw[at:at + b - a]
        at = off - self.before(off)
        left = end - self.before(end) - at
        need(n - np.count_nonzero(used) == left, "segments overlap")
        out[~used] = self.rest(at, left)
        return out
