package wire

import "github.com/cdfz-format/cdfz/internal/recycled"

// Scratch is the memory between the filters of a block: a buffer to read from and one
// to write to. The zero value is ready.
type Scratch struct {
	read, write []byte
}

// Next returns an empty buffer for the output of a filter, of about n bytes.
func (s *Scratch) Next(n int) []byte {
	if cap(s.write) < n {
		recycled.Put(s.write)
		s.write = recycled.Get(int64(n))
	}
	return s.write[:0]
}

// Keep makes b, which was appended to the result of Next, the input of the next filter.
func (s *Scratch) Keep(b []byte) { s.read, s.write = b, s.read }

// Free releases both buffers.
func (s *Scratch) Free() {
	recycled.Put(s.read)
	recycled.Put(s.write)
}
