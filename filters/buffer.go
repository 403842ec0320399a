package filters

import "sync"

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
