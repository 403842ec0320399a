package cataloguefile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/cdfz-format/cdfz/archive"
)

// ErrNotCatalogue reports a file that is no catalogue.
var ErrNotCatalogue = errors.New("not a catalogue of cdfz")

// notCatalogue is an error of the class ErrNotCatalogue.
type notCatalogue struct{ found string }

func (e *notCatalogue) Error() string {
	return "catalogue: expected a catalogue of cdfz, found " + e.found
}
func (e *notCatalogue) Is(target error) bool { return target == ErrNotCatalogue }

// damaged is an error of the class [archive.ErrCorrupt].
type damaged struct{ text string }

func (e *damaged) Error() string        { return "catalogue: damaged: " + e.text }
func (e *damaged) Is(target error) bool { return target == archive.ErrCorrupt }

func damage(f string, args ...any) error { return &damaged{fmt.Sprintf(f, args...)} }

// schema is that of all catalogues of this format.
var schema = parquet.SchemaOf(Row{})

// Reader reads the rows of a catalogue in order. It is for one goroutine.
type Reader struct {
	r      io.ReaderAt
	file   *parquet.File
	pages  *pageChecker
	group  int          // the next one
	rows   parquet.Rows // of the current group, nil for none
	buf    []parquet.Row
	at, n  int   // in buf
	done   int64 // rows of the current group that were returned
	last   Row   // that Next returned
	failed error
}

// Open opens a catalogue of size bytes. Rows are read later, a row group at a time. A Reader holds little
// more than the metadata and some pages, at most a small multiple of 32 MiB.
//
// The error is ErrNotCatalogue for another file, [archive.ErrCorrupt] for a damaged one, or that of r.
func Open(r io.ReaderAt, size int64) (c *Reader, err error) {
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	w := &watched{r: r}
	defer caught(w, &err)
	f, err := parquet.OpenFile(w, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<18))
	if err != nil {
		return nil, damage("%v", err)
	}
	switch v, ok := f.Lookup(formatKey); {
	case !ok:
		return nil, &notCatalogue{"another Parquet file"}
	case v != formatVersion:
		return nil, fmt.Errorf("catalogue: expected format %s, found %.20q: a catalogue of a later version of cdfz", formatVersion, v)
	}
	if !parquet.EqualNodes(f.Schema(), schema) {
		return nil, &notCatalogue{"a Parquet file with other columns"}
	}
	if err := checkMeta(f.Metadata(), size); err != nil {
		return nil, err
	}
	p, err := newPageChecker(w)
	if err != nil {
		return nil, err
	}
	return &Reader{r: w, file: f, pages: p, buf: make([]parquet.Row, 64)}, nil
}

// watched keeps the first error of a source, to tell it from damage.
type watched struct {
	r   io.ReaderAt
	err error
}

// ReadAt implements io.ReaderAt.
func (w *watched) ReadAt(p []byte, off int64) (int, error) {
	n, err := w.r.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) && w.err == nil {
		w.err = err
	}
	return n, err
}

// caught makes errors of the file from what parquet-go does with bad bytes that the checks let pass. An
// error of the source counts more.
func caught(w *watched, err *error) {
	if p := recover(); p != nil {
		*err = damage("%v", p)
	}
	if w.err != nil && *err != nil {
		*err = fmt.Errorf("catalogue: %w", w.err)
	}
}

// NumRows returns the number of rows.
func (c *Reader) NumRows() int64 { return c.file.NumRows() }

// Close frees what the Reader holds. It does not close the source.
func (c *Reader) Close() {
	c.pages.dec.Close()
	if c.rows != nil {
		c.rows.Close()
	}
}

// Next returns the next row, valid until the next call, and io.EOF after the last. Errors are those of Open.
func (c *Reader) Next() (*Row, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	r := new(Row)
	err := c.next(r)
	if err == nil && c.last.Path != "" && c.last.compare(r) >= 0 {
		err = damage("the rows are not in order at %.200q", r.Path)
	}
	if err != nil {
		c.failed = err
		return nil, err
	}
	c.last = *r
	return r, nil
}

func (c *Reader) next(r *Row) (err error) {
	defer caught(c.r.(*watched), &err)
	for c.at == c.n {
		if err := c.fill(); err != nil {
			return err
		}
	}
	row := c.buf[c.at]
	c.at++
	if text := rowText(row); text > maxRow || len(row) > len(schema.Columns())+2*maxDims {
		return damage("expected a row of at most %d bytes and %d dimensions, found %d bytes in %d values", maxRow, maxDims, text, len(row))
	}
	if err := schema.Reconstruct(r, row); err != nil {
		return damage("%v", err)
	}
	return r.check()
}

// rowText returns the length of the texts of a row in bytes.
func rowText(row parquet.Row) int {
	n := 0
	for _, v := range row {
		if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
			n += len(v.ByteArray())
		}
	}
	return n
}

// fill reads further rows into the buffer.
func (c *Reader) fill() error {
	groups := c.file.RowGroups()
	if c.rows == nil {
		if c.group == len(groups) {
			return io.EOF
		}
		if err := c.pages.group(&c.file.Metadata().RowGroups[c.group]); err != nil {
			return fmt.Errorf("row group %d: %w", c.group, err)
		}
		c.rows, c.done = groups[c.group].Rows(), 0
	}
	n, err := c.rows.ReadRows(c.buf)
	c.at, c.n = 0, n
	c.done += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return damage("row group %d: %v", c.group, err)
	}
	if n > 0 {
		return nil
	}
	if want := groups[c.group].NumRows(); c.done != want {
		return damage("row group %d: expected %d rows, found %d", c.group, want, c.done)
	}
	err = c.rows.Close()
	c.rows = nil
	c.group++
	return err
}

// check checks the values of a row that others rely on.
func (r *Row) check() error {
	for _, s := range append(r.Dimensions, r.texts()[2:]...) {
		if !utf8.ValidString(s) {
			return damage("expected UTF-8, found %.40q", s)
		}
	}
	switch {
	case r.Path == "" || !utf8.ValidString(r.Path) || strings.IndexByte(r.Name(), 0) >= 0:
		return damage("expected the path of a file, found %.200q", r.Name())
	case r.PathBytes != "" && validUTF8(r.PathBytes) != r.Path:
		return damage("expected the bytes of the path %.200q, found %.200q", r.Path, r.PathBytes)
	case r.Number < 0 || r.ImageSize < 0 || r.ArchiveSize < 0:
		return damage("%.200s: a negative size or number", r.Path)
	case len(r.Dimensions) != len(r.Shape):
		return damage("%.200s: expected %d lengths of dimensions, found %d", r.Path, len(r.Dimensions), len(r.Shape))
	case (r.LatMin == nil) != (r.LatMax == nil) || (r.LonMin == nil) != (r.LonMax == nil):
		return damage("%.200s: expected both ends of the box, found one", r.Path)
	}
	return nil
}
