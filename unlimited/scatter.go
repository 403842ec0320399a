package unlimited

import "bytes"

// span is a piece of raw that begins at lo.
type span struct {
	lo   int64
	data []byte
}

// Pieces returns a piece of raw that has the byte raw: data[0] is byte lo.
type Pieces func(raw int64) (lo int64, data []byte, err error)

// Scatter fills dst with the image bytes from off on. It asks for pieces in increasing order
// within each segment, and keeps one for each. Bytes of segments without want stay as they
// are; the last element of want is for the rest.
func (l *Layout) Scatter(dst []byte, off int64, want []bool, at Pieces) error {
	return l.EachPiece(off, int64(len(dst)), want, at, func(i int64, piece []byte) bool {
		copy(dst[i:], piece)
		return true
	})
}

// Difference compares image, the bytes from off on, with the pieces that Scatter would copy.
// It returns the image offset of the first byte that differs, or -1.
func (l *Layout) Difference(image []byte, off int64, want []bool, at Pieces) (int64, error) {
	first := int64(-1)
	err := l.EachPiece(off, int64(len(image)), want, at, func(i int64, piece []byte) bool {
		part := image[i:][:len(piece)]
		if bytes.Equal(part, piece) {
			return true
		}
		k := 0
		for part[k] == piece[k] {
			k++
		}
		first = off + i + int64(k)
		return false
	})
	return first, err
}

// EachPiece calls visit with the pieces that Scatter would copy to the n image bytes from off on,
// in image order, and with their places from off on, until it returns false.
func (l *Layout) EachPiece(off, n int64, want []bool, at Pieces, visit func(i int64, piece []byte) bool) error {
	last := make([]span, len(l.segs)+1)
	var err error
	l.ImageRuns(off, off+n, func(r Run) bool {
		if !want[r.Seg] {
			return true
		}
		for i, end := r.ImageOff-off, r.ImageOff-off+r.Len; i < end; {
			raw := r.RawOff + i - (r.ImageOff - off)
			s := &last[r.Seg]
			if raw < s.lo || raw >= s.lo+int64(len(s.data)) {
				if s.lo, s.data, err = at(raw); err != nil {
					return false
				}
			}
			piece := s.data[raw-s.lo:]
			piece = piece[:min(end-i, int64(len(piece)))]
			if !visit(i, piece) {
				return false
			}
			i += int64(len(piece))
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
