package evidence

import (
	"encoding/binary"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Directory reads the records of the central directory in order. It skips a damaged
// record if the length of its name leads to the next one.
type Directory struct {
	Off  int64       // of the next record
	w    ioat.Window // to the end of the directory
	lost bool        // no further record can be found
}

const (
	// directoryWindow is the number of bytes that are read at once.
	directoryWindow = 256 << 10
	// longestRecord is enough for a record whose name has 65535 bytes.
	longestRecord = 70_000
)

// NewDirectory returns a reader of the directory from off to end.
func NewDirectory(r io.ReaderAt, off, end int64) *Directory {
	return &Directory{Off: off, w: ioat.Window{R: r, Size: end, Len: directoryWindow}}
}

// From returns the rest of the directory from off on, up to the longest length of a
// record.
func (d *Directory) From(off int64) []byte {
	n := min(longestRecord, d.w.Size-off)
	if n <= 0 {
		return nil
	}
	b, err := d.w.From(off, n)
	d.lost = d.lost || err != nil
	return b
}

// Next returns the next record if it belongs to the entry whose local header is at off.
// Otherwise it skips one record, that of the entry with the name.
func (d *Directory) Next(name string, off int64) (e czip.ZipEntry, ok bool) {
	if d == nil || d.lost {
		return e, false
	}
	var b []byte
	for {
		b = d.From(d.Off)
		var n int
		if e, n, ok = czip.ParseCentral(b); !ok {
			break
		}
		if e.Off > off {
			return czip.ZipEntry{}, false // an entry missing from the directory
		}
		d.Off += int64(n)
		if e.Off == off {
			return e, true
		}
	}
	for _, extra := range []int{0, 8, 12, 20, 28, 36} {
		n := czip.CentralFixed + len(name) + extra
		if len(b) >= n+4 && binary.LittleEndian.Uint32(b[n:]) == czip.SigCentral {
			d.Off += int64(n)
			return czip.ZipEntry{}, false
		}
	}
	d.lost = true
	return czip.ZipEntry{}, false
}
