package catalogue

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/cdfz-format/cdfz/archive"
)

// Bounds of a row group. Readers hold one in memory, and most look at one at a time.
const (
	groupRows = 1 << 15
	groupText = 16 << 20 // bytes of texts, before equal ones are merged
	groupDims = 1 << 19  // dimensions
)

// writer writes sorted rows. The bytes depend on the rows alone.
type writer struct {
	w          *parquet.GenericWriter[Row]
	values     parquet.Row // the current row; its memory is used again
	rows, text int
	dims       int
}

func newWriter(w io.Writer) *writer {
	return &writer{w: parquet.NewGenericWriter[Row](w,
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1),
		parquet.PageBufferSize(1<<20),
		parquet.DefaultEncoding(&parquet.Plain),
		parquet.CreatedBy("cdfz", archive.Version, ""),
		parquet.KeyValueMetadata(formatKey, formatVersion),
		// DuckDB and others skip row groups by their least and greatest path.
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("path"), parquet.Ascending("number"))),
	)}
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
	return n
}

// texts returns the texts of a row, except the names of dimensions.
func (r *Row) texts() []string {
	return []string{
		r.Path, r.PathBytes, r.Image, r.SHA256, r.Variable, r.Type, r.Record, r.Units, r.StandardName, r.LongName, r.Attributes,
		r.FileAttributes, r.Calendar, r.TimeStart, r.TimeEnd, r.Filters,
	}
}

// add writes a row.
func (w *writer) add(r *Row) error {
	w.rows++
	w.text += r.text()
	w.dims += len(r.Dimensions)
	if w.rows > groupRows || w.text > groupText || w.dims > groupDims {
		if err := w.w.Flush(); err != nil {
			return err
		}
		w.rows, w.text, w.dims = 1, r.text(), len(r.Dimensions)
	}
	// Not Write, which panics on nil pointers to numbers in parquet-go 0.32.
	w.values = schema.Deconstruct(w.values[:0], r)
	_, err := w.w.WriteRows([]parquet.Row{w.values})
	return err
}

// close writes what remains, and the metadata.
func (w *writer) close() error { return w.w.Close() }
