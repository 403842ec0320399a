package refs

import (
	"bytes"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/parquet"
)

// columns are those of kerchunk's files of references. A chunk that is a range has no raw, and a chunk that is
// values has no path. An array has one kind.
var columns = []parquet.Column{
	{Name: "path", Kind: parquet.Text, Repetition: parquet.Optional, Dictionary: true, Unbounded: true},
	{Name: "offset", Kind: parquet.Int64, Unbounded: true},
	{Name: "size", Kind: parquet.Int64, Unbounded: true},
	{Name: "raw", Kind: parquet.Bytes, Repetition: parquet.Optional, Unbounded: true},
}

// table is the content of a file of references, in one row group.
type table struct {
	b   bytes.Buffer
	w   *parquet.Writer
	row [4][1]parquet.Value
}

func newTable() *table {
	t := &table{}
	t.w = parquet.NewWriter(&t.b, columns)
	t.w.Creator = "cdfz"
	return t
}

// place adds a chunk that is a range of the archive at a URL or path.
func (t *table) place(url string, off, n int64) {
	t.row = [4][1]parquet.Value{{{Text: url}}, {{Int: off}}, {{Int: n}}}
	t.w.Add([][]parquet.Value{t.row[0][:], t.row[1][:], t.row[2][:], nil})
}

// value adds a chunk that is values.
func (t *table) value(b []byte) {
	t.row = [4][1]parquet.Value{{}, {}, {}, {{Text: string(b)}}}
	t.w.Add([][]parquet.Value{nil, t.row[1][:], t.row[2][:], t.row[3][:]})
}

// parquet returns the file.
func (t *table) parquet() ([]byte, error) {
	err := t.w.Close()
	return t.b.Bytes(), err
}
