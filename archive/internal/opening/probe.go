package opening

import (
	"fmt"
	"io"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// ProbeArchive reports whether a file has the head or the tail of an archive, of this
// format or a later one.
func ProbeArchive(r io.ReaderAt, size int64) (head, end bool, err error) {
	if size >= int64(czip.HeadLen) {
		b := make([]byte, czip.HeadLen)
		if err := ioat.ReadFull(r, b, 0); err != nil {
			return false, false, err
		}
		head = string(b[:4]) == czip.HeadMagic && string(b[czip.LocalFixed:]) == czip.PlanName
	}
	if size >= czip.EndLen {
		b := make([]byte, czip.TailLen)
		if err := ioat.ReadFull(r, b, size-czip.TailLen); err != nil {
			return false, false, err
		}
		end = strings.HasPrefix(string(b), czip.TailMagic) || czip.LaterFormat(string(b)) != ""
	}
	return head, end, nil
}

// Section is a part of the archive that was already read.
type Section struct {
	b   []byte
	off int64
}

// Get returns [off, off+n), from the section or by reading.
func (s Section) Get(r io.ReaderAt, off, n int64) ([]byte, error) {
	if off >= s.off && n <= s.off+int64(len(s.b))-off {
		return s.b[off-s.off:][:n], nil
	}
	b, err := ioat.ReadBytes(r, off, n)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return b, nil
}
