package unlimited

// span is a piece of raw that begins at lo.
type span struct {
	lo   int64
	data []byte
}

// Scatter fills dst with the image bytes from off on. at returns a piece of raw that has
// the byte raw: data[0] is byte lo. Scatter asks for pieces in increasing order within
// each segment, and keeps one for each. Bytes of segments without want stay as they are;
// the last element of want is for the rest.
func (l *Layout) Scatter(dst []byte, off int64, want []bool, at func(raw int64) (lo int64, data []byte, err error)) error {
	last := make([]span, len(l.segs)+1)
	var err error
	l.ImageRuns(off, off+int64(len(dst)), func(r Run) bool {
		if !want[r.Seg] {
			return true
		}
		out := dst[r.ImageOff-off:][:r.Len]
		for raw := r.RawOff; len(out) > 0; {
			s := &last[r.Seg]
			if raw < s.lo || raw >= s.lo+int64(len(s.data)) {
				if s.lo, s.data, err = at(raw); err != nil {
					return false
				}
			}
			n := copy(out, s.data[raw-s.lo:])
			out = out[n:]
			raw += int64(n)
		}
		return true
	})
	return err
}

// Overlay copies the bytes of segments with want from src to dst, which are both the
// image bytes from off on and have the same length. The last element of want is for the
// rest.
func (l *Layout) Overlay(dst, src []byte, off int64, want []bool) {
	l.ImageRuns(off, off+int64(len(dst)), func(r Run) bool {
		if want[r.Seg] {
			copy(dst[r.ImageOff-off:][:r.Len], src[r.ImageOff-off:])
		}
		return true
	})
}

// LastByte returns the largest image offset of the raw bytes [lo, hi), which must not be
// empty. It looks at each segment once, not at its runs.
func (l *Layout) LastByte(lo, hi int64) int64 {
	last := int64(0)
	for lo < hi {
		seg := l.segmentOf(lo)
		end := hi
		if seg < len(l.segs) {
			end = min(hi, l.rawOff[seg+1])
		}
		// Image order is raw order within a segment, and within the rest.
		l.RawRuns(end-1, end, func(r Run) bool {
			last = max(last, r.ImageOff)
			return false
		})
		lo = end
	}
	return last
}
