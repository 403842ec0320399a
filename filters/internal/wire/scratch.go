package wire

import "sync"

// Scratch is the memory between the filters of a block: a buffer to read from and one
// to write to. The zero value is ready.
type Scratch struct {
	read, write *[]byte
}

// maxScratch is the largest buffer that is kept for later blocks. Longer ones are left
// to the garbage collector.
const maxScratch = 16 << 20

var scratchBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Next returns an empty buffer for the output of a filter.
func (s *Scratch) Next() []byte {
	if s.write == nil {
		s.write = scratchBuffers.Get().(*[]byte)
	}
	return (*s.write)[:0]
}

// Keep makes b, which was appended to the result of Next, the input of the next filter.
func (s *Scratch) Keep(b []byte) {
	*s.write = b
	s.read, s.write = s.write, s.read
}

// Free releases both buffers.
func (s *Scratch) Free() {
	for _, b := range []*[]byte{s.read, s.write} {
		if b != nil && cap(*b) <= maxScratch {
			scratchBuffers.Put(b)
		}
	}
}
