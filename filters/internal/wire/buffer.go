package wire

import (
	"io"
	"math"
)

// Extend appends n bytes of any content to b and returns the whole slice and the new
// part. It makes room for up to a quarter more, so that many calls copy little.
func Extend(b []byte, n int) (all, part []byte) {
	at := len(b)
	if cap(b)-at < n {
		b = Grow(b, max(n, at/4))
	}
	b = b[:at+n]
	return b, b[at : at+n : at+n]
}

// Grow makes room for exactly n more bytes in b. slices.Grow may allocate more, which
// matters if n is the limit for a hostile block.
func Grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(make([]byte, 0, len(b)+n), b...)
}

// ClampLen limits a computed length to the range of int on all systems.
func ClampLen(n int64) int {
	return int(min(n, math.MaxInt32))
}

// Sink collects the output of a stream encoder.
type Sink struct{ Buf []byte }

func (s *Sink) Write(p []byte) (int, error) {
	s.Buf = append(s.Buf, p...)
	return len(p), nil
}

// ErrTooLong means that a stream exceeds the limit. [Stream] replaces it.
var ErrTooLong = io.ErrShortBuffer

// ReadLimited appends all bytes of r to dst, at most max, and returns [ErrTooLong] if
// there are more. Memory grows with the bytes that arrive, from a guess based on the
// encoded length, and never beyond max. probe is one byte of scratch memory.
func ReadLimited(dst []byte, r io.Reader, probe []byte, max, encoded int) ([]byte, error) {
	end := len(dst) + max
	if cap(dst) < end {
		dst = Grow(dst, min(max, 4*encoded+512))
	}
	for {
		if len(dst) == end {
			// The end of the stream, with its checksum, has not been read yet.
			n, err := readOne(r, probe)
			if n > 0 {
				return dst, ErrTooLong
			}
			if err == io.EOF {
				return dst, nil
			}
			return dst, err
		}
		if len(dst) == cap(dst) {
			dst = Grow(dst, min(end-len(dst), len(dst)+512))
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), end)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// readOne reads until there is a byte or an error. Decompressors may return neither,
// but not forever.
func readOne(r io.Reader, p []byte) (int, error) {
	for range 100 {
		if n, err := r.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// Stream adds name and kind to an error of a stream decompressor.
func Stream(name string, max int, err error) error {
	if err == ErrTooLong {
		return Errorf(ErrDecodedSize, "%s: expected at most %d bytes, found more", name, max)
	}
	return Causef(ErrDamaged, err, "%s", name)
}
