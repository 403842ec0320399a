package fsck

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// walker walks through an archive and reads single entries of metadata.
type walker struct{ czip.Walker }

// payload reads the stored bytes of an entry.
func (w *walker) payload(e *czip.ZipEntry) ([]byte, error) {
	return blocks.Section{}.Get(w.R, e.End()-e.Stored, e.Stored)
}

// content reads and inflates a metadata entry.
func (w *walker) content(ctx context.Context, e *czip.ZipEntry) ([]byte, error) {
	p, err := w.payload(e)
	if err != nil {
		return nil, err
	}
	return format.Inflate(ctx, e, p, format.MetaLimit(w.Size, 0))
}

// front walks the entries before the first block and parses the plan.
func (w *walker) front(ctx context.Context) (*format.Resolved, []czip.ZipEntry, error) {
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

// foreign reports whether a name is reserved for later versions: `.cdfz/`, then a letter,
// then up to 63 letters, digits, dots, hyphens and underscores. Names of this version are
// not reserved.
func foreign(name string) bool {
	s, ok := strings.CutPrefix(name, ".cdfz/")
	if !ok || s == "" || len(s) > 64 || name == czip.ReadmeName || name == czip.PlanName || name == czip.ManifestName || name == czip.IndexName {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', i > 0 && (c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'):
		default:
			return false
		}
	}
	return true
}
