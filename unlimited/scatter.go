package unlimited

import "bytes"

// span is a piece of raw that begins at lo.
type span struct {
	lo   int64
	data []byte
}

// Pieces returns a piece of raw that contains byte raw. data[0] is byte lo.
type Pieces func(raw int64) (lo int64, data []byte, err error)

// Scatter fills dst with the image bytes from off on. It requests pieces in increasing order
// within each segment, and keeps the last one of each. If the runs in records are short, it
// requests pieces of the rest again for each gap. Bytes of segments that want excludes stay
// unchanged. The last element of want stands for the rest.
func (l *Layout) Scatter(dst []byte, off int64, want []bool, at Pieces) error {
	runs := func(from, to int64) error {
		if from == to {
			return nil
		}
		part := dst[from-off : to-off]
		return l.EachPiece(from, to-from, want, at, func(i int64, piece []byte) bool {
			copy(part[i:], piece)
			return true
		})
	}
	end, done := off+int64(len(dst)), off
	for i := range l.items {
		it := &l.items[i]
		if it.seg >= 0 || it.stride > narrowRun*int64(len(it.members)) {
			continue
		}
		// The whole records in dst.
		first := max(0, off-it.start+it.stride-1) / it.stride
		n := max(0, min(end, it.end)-it.start)/it.stride - first
		if n < fewRecords {
			continue
		}
		from, to := it.start+first*it.stride, it.start+(first+n)*it.stride
		if err := runs(done, from); err != nil {
			return err
		}
		if err := l.columns(dst[from-off:to-off], it, first, n, want, at); err != nil {
			return err
		}
		done = to
	}
	return runs(done, end)
}

// Records with at most narrowRun bytes per run on average are copied column by column, if there
// are at least fewRecords of them. A call for each run would take longer than copying it.
const (
	narrowRun  = 16
	fewRecords = 8
)

// columns fills dst with n whole records of the record section from record first on.
func (l *Layout) columns(dst []byte, it *item, first, n int64, want []bool, at Pieces) error {
	rest := len(l.segs)
	gapsPer, end, gaps := it.stride-it.valLen, int64(0), int64(0)
	gap := func(to int64) error { // the gap from end on
		if to == end || !want[rest] {
			return nil
		}
		raw := l.rawOff[rest] + it.restBefore + first*gapsPer + gaps
		return column{dst[end:], raw, to - end, it.stride, gapsPer, n}.fill(at)
	}
	for _, m := range it.members {
		if err := gap(m.off); err != nil {
			return err
		}
		if want[m.seg] {
			if err := (column{dst[m.off:], l.rawOff[m.seg] + first*m.len, m.len, it.stride, m.len, n}).fill(at); err != nil {
				return err
			}
		}
		end, gaps = m.off+m.len, m.gapsTo
	}
	return gap(it.stride)
}

// column is n runs of len bytes: stride bytes apart in dst, and step bytes in raw.
type column struct {
	dst               []byte
	raw               int64
	len, stride, step int64
	n                 int64
}

// fill copies the runs.
func (c column) fill(at Pieces) error {
	var s span
	for k := int64(0); k < c.n; k++ {
		to := c.dst[k*c.stride:][:c.len]
		raw := c.raw + k*c.step
		for len(to) > 0 {
			if raw < s.lo || raw >= s.lo+int64(len(s.data)) {
				var err error
				if s.lo, s.data, err = at(raw); err != nil {
					return err
				}
			}
			piece := s.data[raw-s.lo:]
			if len(piece) >= 4 && len(to) == 4 {
				*(*[4]byte)(to) = [4]byte(piece)
				break
			}
			if len(to) == 1 {
				to[0] = piece[0]
				break
			}
			j := copy(to, piece)
			to, raw = to[j:], raw+int64(j)
		}
	}
	return nil
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

// EachPiece calls visit, until it returns false, with the pieces that Scatter would copy to the n
// image bytes from off on, in image order, and with the offset of each piece from off.
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

// Overlay copies the bytes of the segments in want from src to dst. Both are the image
// bytes from off on and have the same length. The last element of want stands for the
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
