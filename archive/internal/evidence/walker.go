package evidence

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Walker walks through an archive and reads single entries of metadata. It is not safe for
// concurrent use.
type Walker struct {
	czip.Walker
	sum []byte // buffer of Checksum
}

// NewWalker returns a walker of an archive of size bytes.
func NewWalker(r io.ReaderAt, size int64) Walker {
	return Walker{Walker: czip.Walker{R: r, Size: size}}
}

// Payload reads the stored bytes of an entry.
func (w *Walker) Payload(e *czip.ZipEntry) ([]byte, error) {
	return opening.Section{}.Get(w.R, e.End()-e.Stored, e.Stored)
}

// Content reads and inflates a metadata entry.
func (w *Walker) Content(ctx context.Context, e *czip.ZipEntry) ([]byte, error) {
	p, err := w.Payload(e)
	if err != nil {
		return nil, err
	}
	return czip.Inflate(ctx, e, p, czip.MetaLimit(w.Size, 0))
}

// Front walks the entries before the first block and parses the plan.
func (w *Walker) Front(ctx context.Context) (*plan.Resolved, []czip.ZipEntry, error) {
	var entries []czip.ZipEntry
	var l *plan.Resolved
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return l, entries, err
		}
		e, err := w.At(off)
		if err != nil {
			return l, entries, err
		}
		switch n := len(entries); {
		case n == 0 && e.Name != czip.PlanName:
			return l, entries, fault.Corruptf("entry %d at byte %d: unexpected name %q", n, off, e.Name)
		case n == 0:
			text, err := w.Content(ctx, &e)
			if err != nil {
				return l, entries, err
			}
			if l, err = plan.ParsePlan(ctx, text); err != nil {
				return nil, entries, err
			}
		case e.Name == czip.RestPrefix+"0":
			return l, entries, nil
		}
		entries = append(entries, e)
		off = e.End()
	}
}

// Checksum returns the CRC-32 of archive bytes.
func (w *Walker) Checksum(ctx context.Context, off, n int64) (uint32, error) {
	if w.sum == nil {
		w.sum = make([]byte, 1<<20)
	}
	crc := uint32(0)
	for end := off + n; off < end; off += int64(len(w.sum)) {
		b := w.sum[:min(int64(len(w.sum)), end-off)]
		if err := ioat.ReadFull(w.R, b, off); err != nil {
			return 0, fmt.Errorf("archive: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
	}
	return crc, nil
}

// Copies returns the entries that second copies have at off, and whether they are there.
// It suffices that one of their local headers is intact.
func (w *Walker) Copies(entry czip.ZipEntry, row blockidx.Row, off int64) ([]czip.ZipEntry, bool) {
	header := czip.ZipEntry{Crc: row.CRC, Stored: row.Len, Size: row.Len, Mask: row.Mask}
	both := plan.CopyEntries(entry, header, off)
	for _, e := range both {
		if _, err := w.Expect(e.Off, e.Name); err == nil {
			return both, both[1].End() <= w.Size
		}
	}
	return nil, false
}

// Later returns the parity or the entry of a later version at off, if there is one. tail is nil if it is
// unknown where the manifest is.
func (w *Walker) Later(off int64, tail *czip.Tail) (czip.ZipEntry, bool) {
	if tail != nil && off >= tail.ManOff {
		return czip.ZipEntry{}, false // a damaged manifest may have the name of such an entry
	}
	e, err := w.At(off)
	return e, err == nil && (Foreign(e.Name) || e.Name == czip.ParityName)
}

// Comparer is a writer that compares its input with the bytes of a file.
type Comparer struct {
	R      io.ReaderAt
	Off    int64       // of the next byte
	Size   int64       // of the file
	Differ []ioat.Span // bytes that differ, merged

	buf []byte
}

func (c *Comparer) Write(p []byte) (int, error) {
	n := max(0, min(int64(len(p)), c.Size-c.Off))
	if int64(cap(c.buf)) < n {
		c.buf = make([]byte, n)
	}
	b := c.buf[:n]
	if err := ioat.ReadFull(c.R, b, c.Off); err != nil {
		return 0, fmt.Errorf("archive: %w", err)
	}
	for i := range b {
		if b[i] != p[i] {
			c.mark(c.Off+int64(i), c.Off+int64(i)+1)
		}
	}
	if n < int64(len(p)) {
		c.mark(c.Off+n, c.Off+int64(len(p)))
	}
	c.Off += int64(len(p))
	return len(p), nil
}

// maxDiffer bounds the list. Further differences extend its last range.
const maxDiffer = 1000

func (c *Comparer) mark(off, end int64) {
	if k := len(c.Differ); k > 0 && (off-c.Differ[k-1].End() < 16 || k >= maxDiffer) {
		c.Differ[k-1].Len = end - c.Differ[k-1].Off
		return
	}
	c.Differ = append(c.Differ, ioat.Span{Off: off, Len: end - off})
}

// MaxForeign bounds the entries of later versions before the first block, and after the
// last one.
const MaxForeign = 1 << 16

// Foreign reports whether a name is reserved for later versions: `.cdfz/`, then a letter,
// then up to 63 letters, digits, dots, hyphens and underscores. Names of this version are
// not reserved.
func Foreign(name string) bool {
	s, ok := strings.CutPrefix(name, ".cdfz/")
	if !ok || s == "" || len(s) > 64 || name == czip.PlanName || name == czip.ParityName || name == czip.ManifestName || name == czip.IndexName {
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
