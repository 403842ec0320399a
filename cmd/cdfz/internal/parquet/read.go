package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// File is a file whose metadata have been read. It is for one goroutine.
type File struct {
	w ioat.Window
	*footer
}

// Open reads the metadata of a file of size bytes. The error is a *NotParquetError for another file, ErrDamaged
// for a damaged one, or that of r.
func Open(r io.ReaderAt, size int64) (*File, error) {
	f := &File{w: ioat.Window{R: r, Size: size}}
	const ends = int64(len(magic) + 4)
	if size < ends+int64(len(magic)) {
		return nil, &NotParquetError{fmt.Sprintf("a file of %d bytes", size)}
	}
	head, err := f.read(0, int64(len(magic)))
	if err != nil {
		return nil, err
	}
	if string(head) != magic {
		return nil, &NotParquetError{fmt.Sprintf("a file that begins with % x", head)}
	}
	end, err := f.read(size-ends, ends)
	if err != nil {
		return nil, err
	}
	if string(end[4:]) != magic {
		return nil, damage("expected %s at the end, found % x: the file is cut off", magic, end[4:])
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if most := min(size-ends-int64(len(magic)), MaxFooter); n > most {
		return nil, damage("expected at most %d bytes of metadata, found %d", most, n)
	}
	meta, err := f.read(size-ends-n, n)
	if err != nil {
		return nil, err
	}
	if f.footer, err = readFooter(meta); err != nil {
		return nil, err
	}
	f.w = ioat.Window{R: r, Size: size} // without the metadata
	return f, nil
}

// read returns bytes of the file, valid until the next call. Those of the last read are free.
func (f *File) read(off, n int64) ([]byte, error) {
	b, err := f.w.From(off, n)
	if err != nil {
		return nil, err
	}
	return b[:n], nil
}

// Meta returns the value of a key in the metadata.
func (f *File) Meta(key string) (value string, ok bool) {
	value, ok = f.meta[key]
	return value, ok
}

// NumRows returns the number of rows.
func (f *File) NumRows() int64 { return f.rows }

// Has reports whether the file has just these columns, with these names, types and repetitions.
func (f *File) Has(columns []Column) bool {
	var want []element
	for i := range columns {
		want = columns[i].schema(want)
	}
	if len(f.schema) != 1+len(want) || f.schema[0].children != int64(len(columns)) {
		return false
	}
	for i := range want {
		a, b := &f.schema[1+i], &want[i]
		if a.name != b.name || a.typ != b.typ || a.repetition != b.repetition || max(a.children, 0) != max(b.children, 0) {
			return false
		}
	}
	return true
}

// check checks the claims of the metadata about row groups.
func (f *File) check(columns []Column) error {
	rows := int64(0)
	for i := range f.groups {
		g := &f.groups[i]
		if g.rows < 0 || g.rows > maxValues {
			return damage("row group %d: expected at most %d rows, found %d", i, maxValues, g.rows)
		}
		if len(g.chunks) != len(columns) {
			return damage("row group %d: expected %d columns, found %d", i, len(columns), len(g.chunks))
		}
		rows += g.rows
		for k := range g.chunks {
			c := &g.chunks[k]
			if c.values < 0 || c.values > maxChunk {
				return damage("row group %d, column %d: expected at most %d values, found %d", i, k, maxChunk, c.values)
			}
			if c.values < g.rows || c.values > g.rows && columns[k].Repetition != List {
				return damage("row group %d, column %d: expected %d values, found %d", i, k, g.rows, c.values)
			}
			if c.typ != columns[k].Kind.physical() {
				return damage("row group %d, column %d: expected type %d, found %d", i, k, columns[k].Kind.physical(), c.typ)
			}
			if c.codec != codecZstd && c.codec != codecUncompressed {
				return damage("row group %d, column %d: expected pages compressed with zstd, found codec %d", i, k, c.codec)
			}
			start := c.start()
			if start < int64(len(magic)) || c.stored < 0 || start > f.w.Size-8 || c.stored > f.w.Size-8-start {
				return damage("row group %d, column %d: expected bytes of the file, found %d at byte %d", i, k, c.stored, start)
			}
		}
	}
	if rows != f.rows {
		return damage("expected %d rows, found %d in the row groups", f.rows, rows)
	}
	return nil
}

// Rows reads rows in order. It is for one goroutine.
type Rows struct {
	f       *File
	group   int   // the next one
	left    int64 // rows of the current one
	columns []columnReader
	row     [][]Value
}

// Rows begins to read the rows of a file that Has these columns. Some pages of each column are held, those of one
// row group.
func (f *File) Rows(columns []Column) (*Rows, error) {
	if err := f.check(columns); err != nil {
		return nil, err
	}
	r := &Rows{f: f, columns: make([]columnReader, len(columns)), row: make([][]Value, len(columns))}
	for i := range columns {
		r.columns[i] = columnReader{Column: &columns[i], f: f}
	}
	return r, nil
}

// Only lets Next read only some columns, by their number. The others have no values. It must be called before Next.
func (r *Rows) Only(columns ...int) {
	for i := range r.columns {
		r.columns[i].omitted = !slices.Contains(columns, i)
	}
}

// Next returns the next row as Writer.Add takes it, valid until the next call but for its texts, and io.EOF after the
// last. Other errors are those of Open.
func (r *Rows) Next() ([][]Value, error) {
	for r.left == 0 {
		if r.group == len(r.f.groups) {
			return nil, io.EOF
		}
		g := &r.f.groups[r.group]
		r.group++
		r.left = g.rows
		for i := range r.columns {
			r.columns[i].begin(&g.chunks[i])
		}
	}
	r.left--
	for i := range r.columns {
		c := &r.columns[i]
		if c.omitted {
			continue
		}
		var err error
		r.row[i], err = c.cell(r.row[i][:0])
		if err == nil && r.left == 0 {
			err = c.done()
		}
		if err != nil {
			return nil, fmt.Errorf("row group %d, column %s: %w", r.group-1, c.Name, err)
		}
	}
	return r.row, nil
}
