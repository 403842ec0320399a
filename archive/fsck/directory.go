package fsck

import (
	"encoding/binary"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// directory reads the records of the central directory in order. It skips a damaged
// record if the length of its name leads to the next one.
type directory struct {
	r        io.ReaderAt
	off, end int64
	window   int64  // bytes read at once
	buf      []byte // bytes from bufOff on
	bufOff   int64
	lost     bool // no further record can be found
}

// directoryWindow is enough for the longest record, whose name has 65535 bytes.
const directoryWindow = 256 << 10

// from returns the rest of the directory from off on, up to the longest length of a
// record.
func (d *directory) from(off int64) []byte {
	if in := off - d.bufOff; in >= 0 && in <= int64(len(d.buf)) && (int64(len(d.buf))-in >= 70_000 || d.bufOff+int64(len(d.buf)) == d.end) {
		return d.buf[in:]
	}
	n := min(d.window, d.end-off)
	if n <= 0 {
		return nil
	}
	if d.buf == nil {
		d.buf = make([]byte, min(d.window, d.end-d.off))
	}
	d.buf, d.bufOff = d.buf[:n], off
	if ioat.ReadFull(d.r, d.buf, off) != nil {
		d.buf, d.lost = nil, true
	}
	return d.buf
}

// next returns the next record if it belongs to the entry whose local header is at off.
// Otherwise it skips one record, that of the entry with the name.
func (d *directory) next(name string, off int64) (e czip.ZipEntry, ok bool) {
	if d == nil || d.lost {
		return e, false
	}
	var b []byte
	for {
		b = d.from(d.off)
		var n int
		if e, n, ok = czip.ParseCentral(b); !ok {
			break
		}
		if e.Off > off {
			return czip.ZipEntry{}, false // an entry missing from the directory
		}
		d.off += int64(n)
		if e.Off == off {
			return e, true
		}
	}
	for _, extra := range []int{0, 8, 12, 20, 28, 36} {
		n := czip.CentralFixed + len(name) + extra
		if len(b) >= n+4 && binary.LittleEndian.Uint32(b[n:]) == czip.SigCentral {
			d.off += int64(n)
			return czip.ZipEntry{}, false
		}
	}
	d.lost = true
	return czip.ZipEntry{}, false
}
