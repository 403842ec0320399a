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
	Off    int64 // of the next record
	r      io.ReaderAt
	end    int64
	window int64  // bytes read at once
	buf    []byte // bytes from bufOff on
	bufOff int64
	lost   bool // no further record can be found
}

// directoryWindow is enough for the longest record, whose name has 65535 bytes.
const directoryWindow = 256 << 10

// NewDirectory returns a reader of the directory from off to end.
func NewDirectory(r io.ReaderAt, off, end int64) *Directory {
	return &Directory{Off: off, r: r, end: end, window: directoryWindow}
}

// From returns the rest of the directory from off on, up to the longest length of a
// record.
func (d *Directory) From(off int64) []byte {
	if in := off - d.bufOff; in >= 0 && in <= int64(len(d.buf)) && (int64(len(d.buf))-in >= 70_000 || d.bufOff+int64(len(d.buf)) == d.end) {
		return d.buf[in:]
	}
	n := min(d.window, d.end-off)
	if n <= 0 {
		return nil
	}
	if d.buf == nil {
		d.buf = make([]byte, min(d.window, d.end-d.Off))
	}
	d.buf, d.bufOff = d.buf[:n], off
	if ioat.ReadFull(d.r, d.buf, off) != nil {
		d.buf, d.lost = nil, true
	}
	return d.buf
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
