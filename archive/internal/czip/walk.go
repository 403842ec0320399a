package czip

import (
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Walker hops from one local header to the next; see docs/FORMAT.md, "Salvage". It
// reads headers and, on request, single entries, but never the blocks.
type Walker struct {
	R    io.ReaderAt
	Size int64
	buf  []byte
}

// hopProbe is the length of the first read of a hop. Most headers fit.
const hopProbe = 128

// At parses the local header at archive offset off.
func (w *Walker) At(off int64) (ZipEntry, error) {
	need := hopProbe
	w.buf = w.buf[:0]
	for {
		n := int(min(int64(need), w.Size-off))
		if n <= len(w.buf) {
			return ZipEntry{}, fault.Corruptf("local header at byte %d: cut off by the end at byte %d", off, w.Size)
		}
		have := len(w.buf)
		if cap(w.buf) < n {
			w.buf = append(make([]byte, 0, max(n, LocalProbe)), w.buf...)
		}
		w.buf = w.buf[:n]
		if err := ioat.ReadFull(w.R, w.buf[have:], off+int64(have)); err != nil {
			return ZipEntry{}, fmt.Errorf("archive: %w", err)
		}
		e, more, err := ParseLocal(w.buf, off)
		if err != nil {
			return e, err
		}
		if more == 0 {
			if e.End() > w.Size {
				return e, fault.Corruptf("%q at byte %d: expected its end at byte %d or before, the end of the archive, found byte %d", e.Name, off, w.Size, e.End())
			}
			return e, nil
		}
		need = more
	}
}

// Expect parses the local header at off and checks its name.
func (w *Walker) Expect(off int64, name string) (ZipEntry, error) {
	e, err := w.At(off)
	if err == nil && e.Name != name {
		err = fault.Corruptf("entry at byte %d: expected %q, found %q", off, name, e.Name)
	}
	return e, err
}
