package filters

import (
	"io"
	"sync"
)

// scratch is the memory between the filters of a block: a buffer to read from and one
// to write to. The zero value is ready.
type scratch struct {
	read, write *[]byte
}

// maxScratch is the largest buffer that is kept for later blocks. Longer ones are left
// to the garbage collector.
const maxScratch = 16 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// next returns an empty buffer for the output of a filter.
func (s *scratch) next() []byte {
	if s.write == nil {
		s.write = buffers.Get().(*[]byte)
	}
	return (*s.write)[:0]
}

// keep makes b, which was appended to the result of next, the input of the next filter.
func (s *scratch) keep(b []byte) {
	*s.write = b
	s.read, s.write = s.write, s.read
}

// free releases both buffers.
func (s *scratch) free() {
	for _, b := range []*[]byte{s.read, s.write} {
		if b != nil && cap(*b) <= maxScratch {
			buffers.Put(b)
		}
	}
}

// extend appends n bytes of any content to b and returns the whole slice and the new
// part.
func extend(b []byte, n int) (all, part []byte) {
	at := len(b)
	b = grow(b, n)[:at+n]
	return b, b[at : at+n : at+n]
}

// grow makes room for exactly n more bytes in b. slices.Grow may allocate more, which
// matters if n is the limit for a hostile block.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(make([]byte, 0, len(b)+n), b...)
}

// sink collects the output of a stream encoder.
type sink struct{ buf []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	return len(p), nil
}

// errTooLong means that a stream exceeds the limit. Callers of the package never see
// it.
var errTooLong = io.ErrShortBuffer

// readLimited appends all bytes of r to dst, at most max, and returns errTooLong if
// there are more. Memory grows with the bytes that arrive, from a guess based on the
// encoded length, and never beyond max. probe is one byte of scratch memory.
func readLimited(dst []byte, r io.Reader, probe []byte, max, encoded int) ([]byte, error) {
	end := len(dst) + max
	if cap(dst) < end {
		dst = grow(dst, min(max, 4*encoded+512))
	}
	for {
		if len(dst) == end {
			// The end of the stream, with its checksum, has not been read yet.
			n, err := readOne(r, probe)
			if n > 0 {
				return dst, errTooLong
			}
			if err == io.EOF {
				return dst, nil
			}
			return dst, err
		}
		if len(dst) == cap(dst) {
			dst = grow(dst, min(end-len(dst), len(dst)+512))
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

// inStage adds stage and kind to an error of a decompressor.
func inStage(name string, max int, err error) error {
	if err == errTooLong {
		return errorf(ErrDecodedSize, "%s: expected at most %d bytes, found more", name, max)
	}
	return causef(ErrDamaged, err, "%s", name)
}
