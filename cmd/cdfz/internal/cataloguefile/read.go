package cataloguefile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/parquet"
	"github.com/cdfz-format/cdfz/internal/jsonlines"
)

// ErrNotCatalogue reports a file that is no catalogue.
var ErrNotCatalogue = errors.New("not a catalogue of cdfz")

// notCatalogue is an error of the class ErrNotCatalogue.
type notCatalogue struct{ found string }

func (e *notCatalogue) Error() string {
	return "catalogue: expected a catalogue of cdfz, found " + e.found
}
func (e *notCatalogue) Is(target error) bool {
	return target == ErrNotCatalogue || target == jsonlines.ErrKind
}

// damaged is an error of the class [archive.ErrCorrupt].
type damaged struct{ error }

func (e damaged) Error() string        { return "catalogue: damaged: " + e.error.Error() }
func (e damaged) Is(target error) bool { return target == archive.ErrCorrupt }

func damage(f string, args ...any) error { return damaged{fmt.Errorf(f, args...)} }

// classed makes errors of package parquet those of this one.
func classed(err error) error {
	var other *parquet.NotParquetError
	switch {
	case errors.As(err, &other):
		return &notCatalogue{other.Found}
	case errors.Is(err, parquet.ErrDamaged):
		return damaged{err}
	}
	return fmt.Errorf("catalogue: %w", err)
}

// Reader reads the rows of a catalogue in order. It is for one goroutine.
type Reader struct {
	file    *parquet.File
	columns []parquet.Column
	rows    *parquet.Rows
	last    Row     // that Next returned
	points  *Points // of the last row that has some: all variables of a file may have the same
	failed  error
}

// Open opens a catalogue of size bytes. Rows are read later. A Reader holds little more than the metadata and a page
// of each column, at most a small multiple of 32 MiB.
//
// The error is ErrNotCatalogue for another file, [archive.ErrCorrupt] for a damaged one, or that of r.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	f, err := parquet.Open(r, size)
	if err != nil {
		return nil, classed(err)
	}
	columns := schema()
	v, ok := f.Meta(formatKey)
	switch n := columnsOf[v]; {
	case !ok:
		return nil, &notCatalogue{"another Parquet file"}
	case n > 0:
		columns = columns[:n]
	case v != formatVersion:
		return nil, fmt.Errorf("catalogue: expected a format from 1 to %s, found %.20q: a catalogue of a later version of cdfz", formatVersion, v)
	}
	if !f.Has(columns) {
		return nil, &notCatalogue{"a Parquet file with other columns"}
	}
	rows, err := f.Rows(columns)
	if err != nil {
		return nil, classed(err)
	}
	return &Reader{file: f, columns: columns, rows: rows}, nil
}

// NumRows returns the number of rows.
func (c *Reader) NumRows() int64 { return c.file.NumRows() }

// Next returns the next row, and io.EOF after the last. Other errors are those of Open.
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

func (c *Reader) next(r *Row) error {
	row, err := c.rows.Next()
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	if err != nil {
		return classed(err)
	}
	for i := range row { // a catalogue of format 1 has fewer
		if values := row[i]; len(values) > maxDims {
			return damage("expected at most %d dimensions, found %d", maxDims, len(values))
		} else if len(values) > 0 || columns[i].Repetition == parquet.List {
			columns[i].take(r, values)
		}
	}
	if text := r.text(); text > maxRow {
		return damage("expected a row of at most %d bytes, found %d", maxRow, text)
	}
	if err := r.check(); err != nil || r.Points == nil {
		return err
	}
	if c.points == nil || c.points.text != r.Points.text {
		if c.points, err = parsePoints(r.Points.text); err != nil {
			return fmt.Errorf("%.200s: %w", r.Path, err)
		}
	}
	r.Points = c.points
	return nil
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
