package atomicfile

import (
	"bytes"
	"io"
)

// Sparse says where a file gets holes: ranges that take no room and read as zeros.
type Sparse string

// The values of Options.Sparse. With holes, a file takes no more room than any other file of the same bytes.
const (
	SparseNever  Sparse = "never"  // all bytes are written; also the zero value
	SparseAuto   Sparse = "auto"   // holes where bytes are zero, on file systems that have holes
	SparseAlways Sparse = "always" // also on file systems that write the zeros of a hole
)

// holeUnit is the room that file systems give out at once, or a fraction of it. Zeros are left out of
// Write within each unit of the file alone, so that a unit with other bytes is written at once.
const holeUnit = 4096

// setSparse decides whether the file gets holes.
func (t *File) setSparse() {
	t.sparse = t.o.Sparse == SparseAlways || t.o.Sparse == SparseAuto && sys.hasHoles(t.f)
}

// writeSparse appends to the file, and skips units that are zero, or the part of a unit that p has. What was
// never written is zero.
func (t *File) writeSparse(p []byte) (n int, err error) {
	for n < len(p) {
		end := n + t.unit(p, n)
		zero := isZero(p[n:end])
		for end < len(p) {
			next := end + t.unit(p, end)
			if isZero(p[end:next]) != zero {
				break
			}
			end = next
		}
		if zero {
			t.hole += int64(end - n)
			n = end
			continue
		}
		if t.hole > 0 {
			if _, err := t.f.Seek(t.size+int64(n), io.SeekStart); err != nil {
				return n, err
			}
			t.hole = 0
		}
		k, err := t.writeData(p[n:end], t.size+int64(n))
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// unit returns how many bytes of p, from n on, are in one unit of the file.
func (t *File) unit(p []byte, n int) int {
	return min(len(p)-n, holeUnit-int((t.size+int64(n))%holeUnit))
}

// isZero reports whether all bytes are zero.
func isZero(p []byte) bool {
	return len(p) == 0 || p[0] == 0 && bytes.Equal(p[1:], p[:len(p)-1])
}

// closeHole gives the file its length if it ends in a hole.
func (t *File) closeHole() error {
	if t.hole == 0 {
		return nil
	}
	if err := t.f.Truncate(t.size); err != nil {
		return err
	}
	_, err := t.f.Seek(t.size, io.SeekStart)
	if err == nil {
		t.hole = 0
	}
	return err
}

// dig turns zeros that WriteAt has written into holes, where the system can.
func (t *File) dig() error {
	size, err := t.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	buf := make([]byte, 256*holeUnit)
	for off := int64(0); off < size; off += int64(len(buf)) {
		n, err := t.f.ReadAt(buf, off)
		if err != nil && err != io.EOF {
			return err
		}
		for from := 0; from < n; {
			to := from
			for to < n && isZero(buf[to:min(to+holeUnit, n)]) { // the last unit may be cut off
				to += holeUnit
			}
			if to > from && sys.punch(t.f, off+int64(from), int64(to-from)) != nil {
				return nil // cannot: the zeros stay
			}
			from = to + holeUnit
		}
	}
	return nil
}
