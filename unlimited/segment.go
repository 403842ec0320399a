package unlimited

import "fmt"

// Segment is the place of one variable's values in the image: run i is the image bytes
// [Off+i*Stride, Off+i*Stride+Len). Lengths and offsets are in bytes.
type Segment struct {
	Off    int64 `json:"off"`
	Len    int64 `json:"len"`
	Stride int64 `json:"stride"` // 0 iff Count <= 1
	Count  int64 `json:"count"`
}

// Size returns the number of bytes of all runs.
func (s Segment) Size() int64 { return s.Len * s.Count }

// At returns the image offset of byte off of the values, which must exist.
func (s Segment) At(off int64) int64 { return s.Off + off/s.Len*s.Stride + off%s.Len }

// Runs calls yield for the runs that hold the bytes [off, end) of the values, in order,
// until it returns false: n bytes of the image from byte at.
func (s Segment) Runs(off, end int64, yield func(at, n int64) bool) {
	for off < end {
		n := min(end-off, s.Len-off%s.Len)
		if !yield(s.At(off), n) {
			return
		}
		off += n
	}
}

// Cut returns the bytes [lo, hi) of the values. p holds the image bytes from byte off
// on, including those between the first and the last of these values. The result shares
// the memory of p if the values are contiguous in it.
func (s Segment) Cut(p []byte, off, lo, hi int64) []byte {
	if lo >= hi {
		return nil
	}
	if at := s.At(lo); at+hi-lo == s.At(hi-1)+1 {
		return p[at-off:][:hi-lo]
	}
	out := make([]byte, hi-lo)
	s.fill(out, p, off, lo)
	return out
}

// fill fills dst with the values from byte lo on. p holds the image bytes from byte off on.
func (s Segment) fill(dst, p []byte, off, lo int64) {
	if in := lo % max(s.Len, 1); in > 0 && len(dst) > 0 { // the rest of a run
		n := copy(dst[:min(s.Len-in, int64(len(dst)))], p[s.At(lo)-off:])
		dst, lo = dst[n:], lo+int64(n)
	}
	if whole := int64(len(dst)) / max(s.Len, 1) * s.Len; whole > 0 {
		gather(dst[:whole], p[s.At(lo)-off:], s.Len, s.Stride)
		dst, lo = dst[whole:], lo+whole
	}
	if len(dst) > 0 {
		copy(dst, p[s.At(lo)-off:])
	}
}

func (s Segment) check(header, size int64) error {
	if s.Len < 0 || s.Count < 0 || s.Stride < 0 || s.Off < 0 || (s.Count > 1) != (s.Stride > 0) {
		return fmt.Errorf("negative or inconsistent fields (off %d, len %d, stride %d, count %d)", s.Off, s.Len, s.Stride, s.Count)
	}
	if s.Len == 0 || s.Count == 0 {
		return nil
	}
	if s.Off < header || s.Off > size || s.Len > size-s.Off {
		return fmt.Errorf("bytes [%d, +%d) outside [%d, %d)", s.Off, s.Len, header, size)
	}
	if s.Count > 1 && (s.Len > s.Stride || s.Count-1 > (size-s.Off-s.Len)/s.Stride) {
		return fmt.Errorf("%d runs of %d bytes every %d from %d, beyond the end at %d", s.Count, s.Len, s.Stride, s.Off, size)
	}
	return nil
}
