package cdlgen

import (
	"io"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// spillLen is the number of bytes of values kept in memory. Tests change it.
var spillLen = 32 << 20

// spill keeps values in memory, and later in a temporary file. It is only appended to.
type spill struct {
	mem  []byte // all values, or those not yet written to the file
	file *atomicfile.Temporary
	off  int64 // bytes in the file
}

// size returns the number of bytes.
func (s *spill) size() int64 { return s.off + int64(len(s.mem)) }

// append appends values.
func (s *spill) append(b []byte) error {
	if len(s.mem)+len(b) > spillLen {
		if s.file == nil {
			f, err := atomicfile.Temp()
			if err != nil {
				return err
			}
			s.file = f
		}
		if _, err := s.file.Write(s.mem); err != nil {
			return err
		}
		s.off += int64(len(s.mem))
		s.mem = s.mem[:0]
	}
	s.mem = append(s.mem, b...)
	return nil
}

// ReadAt reads values.
func (s *spill) ReadAt(p []byte, off int64) (n int, err error) {
	if off < s.off {
		n, err = s.file.ReadAt(p[:min(int64(len(p)), s.off-off)], off)
		if err != nil && (err != io.EOF || off+int64(n) < s.off) {
			return n, err
		}
	}
	if at := off + int64(n) - s.off; at >= 0 && at <= int64(len(s.mem)) {
		n += copy(p[n:], s.mem[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close frees the values.
func (s *spill) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
