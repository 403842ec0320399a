package unlimited

// Tail collects the last part of raw, some segments and the rest, while the image
// passes once from its first byte to its last.
type Tail struct {
	l     *Layout
	first int    // segment
	from  int64  // raw offset of the first byte
	buf   []byte // the tail, as far as it has passed
	next  int64  // image offset of the next byte
	rest  int64  // bytes of the rest that have passed
}

// TailLen returns the length of the tail that begins with segment first, or with the
// rest if first is the number of segments.
func (l *Layout) TailLen(first int) int64 { return l.size - l.rawOff[first] }

// NewTail returns the tail that begins with segment first. It needs TailLen bytes of
// memory.
func (l *Layout) NewTail(first int) *Tail {
	return &Tail{l: l, first: first, from: l.rawOff[first], buf: make([]byte, l.TailLen(first))}
}

// Bytes returns the tail. Only bytes that have passed are valid.
func (t *Tail) Bytes() []byte { return t.buf }

// Until returns how many bytes of the image must have passed before the bytes [lo, hi)
// of the tail are valid.
func (t *Tail) Until(lo, hi int64) int64 {
	if lo >= hi {
		return 0
	}
	return t.l.LastByte(t.from+lo, t.from+hi) + 1
}

// Pass takes the next image bytes.
func (t *Tail) Pass(p []byte) {
	from, end := t.next, t.next+int64(len(p))
	t.next = end
	for i := t.first; i < len(t.l.segs); i++ {
		t.l.segs[i].collect(t.buf[t.l.rawOff[i]-t.from:], p, from)
	}
	base := t.l.RestOff()
	if base+t.rest == t.l.size {
		return
	}
	t.l.RawRuns(base+t.rest, t.l.size, func(r Run) bool {
		if r.ImageOff >= end {
			return false
		}
		n := min(r.Len, end-r.ImageOff)
		copy(t.buf[r.RawOff-t.from:], p[r.ImageOff-from:][:n])
		t.rest += n
		return n == r.Len
	})
}

// collect copies the bytes of p, image bytes from byte off on, that belong to the
// segment to their places in dst, the segment's values.
func (s Segment) collect(dst, p []byte, off int64) {
	end := off + int64(len(p))
	if s.Size() == 0 || s.Off >= end || s.At(s.Size()-1) < off {
		return
	}
	run, in := int64(0), max(0, off-s.Off)
	if s.Stride > 0 {
		run, in = in/s.Stride, in%s.Stride
		if in >= s.Len { // in the gap after the run
			run, in = run+1, 0
		}
	}
	for run < s.Count {
		at := s.Off + run*s.Stride + in
		if at >= end {
			return
		}
		if whole := wholeRuns(end-at, s.Len, s.Stride); in == 0 && whole > 0 {
			k := min(s.Count-run, whole)
			gather(dst[run*s.Len:][:k*s.Len], p[at-off:], s.Len, s.Stride)
			run += k
			continue
		}
		n := min(s.Len-in, end-at)
		copy(dst[run*s.Len+in:], p[at-off:][:n])
		run, in = run+1, 0
	}
}

// wholeRuns returns how many runs of n bytes, a stride apart, lie completely in a
// window that begins with one.
func wholeRuns(window, n, stride int64) int64 {
	switch {
	case window < n:
		return 0
	case stride == 0:
		return 1
	}
	return (window-n)/stride + 1
}
