package fsck

import (
	"context"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
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
func (w *Walker) At(off int64) (czip.ZipEntry, error) {
	need := hopProbe
	w.buf = w.buf[:0]
	for {
		n := int(min(int64(need), w.Size-off))
		if n <= len(w.buf) {
			return czip.ZipEntry{}, fault.Corruptf("local header at byte %d: cut off by the end at byte %d", off, w.Size)
		}
		have := len(w.buf)
		if cap(w.buf) < n {
			w.buf = append(make([]byte, 0, max(n, czip.LocalProbe)), w.buf...)
		}
		w.buf = w.buf[:n]
		if err := ioat.ReadFull(w.R, w.buf[have:], off+int64(have)); err != nil {
			return czip.ZipEntry{}, fmt.Errorf("archive: %w", err)
		}
		e, more, err := czip.ParseLocal(w.buf, off)
		if err != nil {
			return e, err
		}
		if more == 0 {
			if e.End() > w.Size {
				return e, fault.Corruptf("%q at byte %d ends at byte %d, the archive at %d", e.Name, off, e.End(), w.Size)
			}
			return e, nil
		}
		need = more
	}
}

// payload reads the stored bytes of an entry.
func (w *Walker) payload(e *czip.ZipEntry) ([]byte, error) {
	return blocks.Section{}.Get(w.R, e.End()-e.Stored, e.Stored)
}

// content reads and inflates a metadata entry.
func (w *Walker) content(ctx context.Context, e *czip.ZipEntry) ([]byte, error) {
	p, err := w.payload(e)
	if err != nil {
		return nil, err
	}
	return format.Inflate(ctx, e, p, format.MetaLimit(w.Size, 0))
}

// front walks the entries before the first block and parses the plan.
func (w *Walker) front(ctx context.Context) (*format.Resolved, []czip.ZipEntry, error) {
	var entries []czip.ZipEntry
	var l *format.Resolved
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return l, entries, err
		}
		e, err := w.At(off)
		if err != nil {
			return l, entries, err
		}
		switch n := len(entries); {
		case n == 0 && e.Name != czip.ReadmeName, n == 1 && e.Name != czip.PlanName:
			return l, entries, fault.Corruptf("entry %d at byte %d: found %q", n, off, e.Name)
		case n == 1:
			plan, err := w.content(ctx, &e)
			if err != nil {
				return l, entries, err
			}
			if l, err = format.ParsePlan(ctx, plan); err != nil {
				return nil, entries, err
			}
		case n > 1 && e.Name == czip.RestPrefix+"0":
			return l, entries, nil
		}
		entries = append(entries, e)
		off = e.End()
	}
}

// expect parses the local header at off and checks its name.
func (w *Walker) expect(off int64, name string) (czip.ZipEntry, error) {
	e, err := w.At(off)
	if err == nil && e.Name != name {
		err = fault.Corruptf("entry at byte %d: expected %q, found %q", off, name, e.Name)
	}
	return e, err
}

// comparer is a writer that compares its input with part of a file.
type comparer struct {
	r         io.ReaderAt
	off, size int64
	buf       []byte
	differ    []span64 // where, merged
}

// span64 is a range of archive bytes.
type span64 struct{ off, end int64 }

func (c *comparer) Write(p []byte) (int, error) {
	n := max(0, min(int64(len(p)), c.size-c.off))
	if int64(cap(c.buf)) < n {
		c.buf = make([]byte, n)
	}
	b := c.buf[:n]
	if err := ioat.ReadFull(c.r, b, c.off); err != nil {
		return 0, fmt.Errorf("archive: %w", err)
	}
	for i := range b {
		if b[i] != p[i] {
			c.mark(c.off+int64(i), c.off+int64(i)+1)
		}
	}
	if n < int64(len(p)) {
		c.mark(c.off+n, c.off+int64(len(p)))
	}
	c.off += int64(len(p))
	return len(p), nil
}

// maxDiffer bounds the list. Further differences extend its last range.
const maxDiffer = 1000

func (c *comparer) mark(off, end int64) {
	if k := len(c.differ); k > 0 && (off-c.differ[k-1].end < 16 || k >= maxDiffer) {
		c.differ[k-1].end = end
		return
	}
	c.differ = append(c.differ, span64{off, end})
}
