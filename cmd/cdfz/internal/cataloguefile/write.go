package cataloguefile

import (
	"io"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/parquet"
)

// Bounds of a row group. Readers hold one in memory, and most look at one at a time.
const (
	groupRows = 1 << 15
	groupText = 16 << 20 // bytes of texts; equal ones of a column count once
	groupDims = 1 << 19  // dimensions
)

// writer writes sorted rows. The bytes depend on the rows alone.
type writer struct {
	*parquet.Writer
	values [][]parquet.Value // the current row; its memory is used again
	dims   int               // of the current row group
}

func newWriter(w io.Writer) *writer {
	p := parquet.NewWriter(w, schema())
	p.Creator = "cdfz version " + archive.Version
	p.Key, p.Meta = formatKey, formatVersion
	p.Sorted = sorted // DuckDB and others skip row groups by their least and greatest path
	return &writer{Writer: p, values: make([][]parquet.Value, len(columns))}
}

// text returns the length of the texts of a row in bytes.
func (r *Row) text() int {
	n := 0
	for _, s := range r.texts() {
		n += len(s)
	}
	for _, s := range r.Dimensions {
		n += len(s)
	}
	if r.Points != nil {
		n += len(r.Points.text)
	}
	return n
}

// texts returns the texts of a row, except the names of dimensions.
func (r *Row) texts() []string {
	return []string{
		r.Path, r.PathBytes, r.Image, r.SHA256, r.Variable, r.Type, r.Record, r.Units, r.StandardName, r.LongName, r.Attributes,
		r.FileAttributes, r.Calendar, r.TimeStart, r.TimeEnd, r.Filters, r.Volume, r.CurrentVolume,
	}
}

// add writes a row.
func (w *writer) add(r *Row) error {
	// A file of 1 MB may have 20,000 variables and half a megabyte of attributes: all rows have those, and the
	// dictionary of the column, which Texts counts, has them once.
	if w.Rows() == groupRows || w.Texts()+r.text() > groupText || w.dims+len(r.Dimensions) > groupDims {
		if err := w.Flush(); err != nil {
			return err
		}
		w.dims = 0
	}
	w.dims += len(r.Dimensions)
	for i := range columns {
		w.values[i] = columns[i].put(w.values[i][:0], r)
	}
	w.Add(w.values)
	return nil
}
