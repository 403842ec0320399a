package cataloguefile

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/cdfz-format/cdfz/archive"
)

// Bounds of a row group. Readers hold one in memory, and most look at one at a time.
const (
	groupRows = 1 << 15
	groupText = 16 << 20 // bytes of texts; equal ones of a column count once
	groupDims = 1 << 19  // dimensions
)

// writer writes sorted rows. The bytes depend on the rows alone.
type writer struct {
	w          *parquet.GenericWriter[Row]
	end        *tail
	mostFooter uint32      // maxFooter; less in tests
	values     parquet.Row // the current row; its memory is used again
	rows, text int
	dims       int
	// seen has the hashes of the texts of the row group. A file of 1 MB may have 20,000 variables and half a
	// megabyte of attributes: all rows have those, and the dictionary of the column has them once.
	seen map[uint64]bool
	seed maphash.Seed
}

func newWriter(w io.Writer) *writer {
	end := &tail{w: w}
	return &writer{end: end, mostFooter: maxFooter, seen: map[uint64]bool{}, seed: maphash.MakeSeed(), w: parquet.NewGenericWriter[Row](end,
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1),
		parquet.PageBufferSize(1<<20),
		parquet.DefaultEncoding(&parquet.Plain),
		parquet.CreatedBy("cdfz", archive.Version, ""),
		parquet.KeyValueMetadata(formatKey, formatVersion),
		// Each page would hold two of these texts. SkipPageBounds, for the footer, is no choice: it leaves
		// empty bounds in the index of pages, and readers would skip pages by them.
		parquet.SkipPageStatistics("attributes"), parquet.SkipPageStatistics("file_attributes"),
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
	w.count(r)
	if w.rows > groupRows || w.text > groupText || w.dims > groupDims {
		if err := w.w.Flush(); err != nil {
			return err
		}
		w.rows, w.text, w.dims = 0, 0, 0
		clear(w.seen)
		w.count(r)
	}
	// Not Write, which panics on nil pointers to numbers in parquet-go 0.32.
	w.values = schema.Deconstruct(w.values[:0], r)
	_, err := w.w.WriteRows([]parquet.Row{w.values})
	return err
}

// count adds a row to the size of the row group.
func (w *writer) count(r *Row) {
	w.rows++
	w.dims += len(r.Dimensions)
	for column, s := range r.texts() {
		w.countText(column, s)
	}
	for _, s := range r.Dimensions {
		w.countText(-1, s)
	}
}

func (w *writer) countText(column int, s string) {
	if h := maphash.Comparable(w.seed, columnText{column, s}); !w.seen[h] {
		w.seen[h] = true
		w.text += len(s)
	}
}

// columnText is a text of a column.
type columnText struct {
	column int
	text   string
}

// close writes what remains, and the metadata. It fails if a Reader would refuse these: the texts of many files are
// their least and greatest values.
func (w *writer) close() error {
	if err := w.w.Close(); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint32(w.end.last[:]); n > w.mostFooter {
		return fmt.Errorf("catalogue: expected at most %d bytes of metadata, found %d: the attributes of the files are too long for one catalogue", w.mostFooter, n)
	}
	return nil
}

// tail keeps the last 8 bytes that were written: the length of the metadata, and PAR1. It counts all.
type tail struct {
	w    io.Writer
	last [8]byte
	size int64
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	t.size += int64(n)
	both := append(t.last[:], p[max(0, n-len(t.last)):n]...)
	copy(t.last[:], both[len(both)-len(t.last):])
	return n, err
}
