package refs

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"github.com/cdfz-format/cdfz/filters"
)

// table is the content of a file of references: chunks that are ranges of archives, or chunks that
// are values, and never both, since an array has one kind.
//
// The file is Parquet with the columns that kerchunk writes, in one row group: path, offset,
// size and raw. A chunk that is a range has no raw, and a chunk that is values has no path. A
// library for Parquet would make up a quarter of the program, and four columns need only a small
// part of the format: https://parquet.apache.org/docs/file-format/ and parquet.thrift in
// apache/parquet-format.
type table struct {
	urls         []string // the archives, in the order of their first chunks
	file         []run    // of chunks in one archive
	offset, size []int64
	raw          [][]byte
}

// run is a number of consecutive rows with the same value.
type run struct{ n, value int }

// place adds a chunk that is a range of the archive at a URL or path.
func (t *table) place(url string, off, n int64) {
	if k := len(t.urls); k == 0 || t.urls[k-1] != url {
		t.urls, t.file = append(t.urls, url), append(t.file, run{value: k})
	}
	t.file[len(t.file)-1].n++
	t.offset, t.size = append(t.offset, off), append(t.size, n)
}

// Numbers of parquet.thrift.
const (
	typeInt64     = 2
	typeByteArray = 6

	repetitionRequired = 0
	repetitionOptional = 1

	convertedUTF8 = 0

	encodingPlain         = 0
	encodingRLE           = 3
	encodingRLEDictionary = 8

	codecZstd = 6

	pageData       = 0
	pageDictionary = 2
)

// magic begins and ends a file.
const magic = "PAR1"

func (t *table) rows() int { return max(len(t.offset), len(t.raw)) }

func (t *table) reset() {
	clear(t.raw)
	*t = table{offset: t.offset[:0], size: t.size[:0], raw: t.raw[:0]}
}

// parquet returns the file.
func (t *table) parquet() ([]byte, error) {
	coder, err := filters.NewCoder(filters.Chain{{ID: filters.Zstd, Params: []uint32{3}}})
	if err != nil {
		return nil, err
	}
	w := &tableWriter{b: []byte(magic), coder: coder, rows: t.rows()}
	n := len(t.offset)
	var numbers [2][]byte
	for i, list := range [][]int64{t.offset, t.size} {
		for k := range w.rows {
			v := int64(0)
			if k < n {
				v = list[k]
			}
			numbers[i] = binary.LittleEndian.AppendUint64(numbers[i], uint64(v))
		}
	}
	var raw []byte
	for _, b := range t.raw {
		raw = appendBytes(raw, b)
	}
	if n > 0 {
		var dictionary []byte
		for _, url := range t.urls {
			dictionary = appendBytes(dictionary, []byte(url))
		}
		w.column("path", typeByteArray, 0, dictionary, len(t.urls), append(w.levels(true), indices(t.file, len(t.urls))...))
	} else {
		w.column("path", typeByteArray, w.rows, nil, 0, w.levels(false))
	}
	w.column("offset", typeInt64, 0, nil, 0, numbers[0])
	w.column("size", typeInt64, 0, nil, 0, numbers[1])
	w.column("raw", typeByteArray, n, nil, 0, append(w.levels(n == 0), raw...))
	if w.err != nil {
		return nil, w.err
	}
	footer := w.footer()
	w.b = append(w.b, footer...)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(footer)))
	return append(w.b, magic...), nil
}

// appendBytes appends a value of type BYTE_ARRAY.
func appendBytes(dst, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// tableWriter writes the columns of a file.
type tableWriter struct {
	b       []byte
	coder   *filters.Coder
	rows    int
	columns []column
	err     error
}

// column is a written column.
type column struct {
	name             string
	typ              int
	nulls            int // rows without a value
	dictionary, data int // where its pages begin. dictionary is 0 if there is none
	size, stored     int // bytes of its pages before and after compression, with their headers
}

// run returns a run of one bit for all rows, in the RLE encoding.
func (w *tableWriter) run(bit byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(w.rows)<<1), bit)
}

// levels returns the definition levels of an optional column, in which all rows have a value or
// no row has one.
func (w *tableWriter) levels(have bool) []byte {
	bit := byte(0)
	if have {
		bit = 1
	}
	return appendBytes(nil, w.run(bit))
}

// indices returns indices of a dictionary of n values: their width in bits, and runs in the RLE
// encoding, with values in whole bytes.
func indices(runs []run, n int) []byte {
	width := max(1, bits.Len(uint(n-1)))
	b := []byte{byte(width)}
	for _, r := range runs {
		b = binary.AppendUvarint(b, uint64(r.n)<<1)
		for at := 0; at < width; at += 8 {
			b = append(b, byte(r.value>>at))
		}
	}
	return b
}

// column writes a column, with a dictionary of so many values unless that is nil.
func (w *tableWriter) column(name string, typ, nulls int, dictionary []byte, values int, data []byte) {
	c := column{name: name, typ: typ, nulls: nulls}
	encoding := int64(encodingPlain)
	if dictionary != nil {
		c.dictionary = len(w.b)
		w.page(&c, pageDictionary, dictionary, func(t *thrift) {
			t.begin(7) // DictionaryPageHeader
			t.i32(1, int64(values))
			t.i32(2, encodingPlain)
			t.end()
		})
		encoding = encodingRLEDictionary
	}
	c.data = len(w.b)
	w.page(&c, pageData, data, func(t *thrift) {
		t.begin(5) // DataPageHeader
		t.i32(1, int64(w.rows))
		t.i32(2, encoding)
		t.i32(3, encodingRLE) // definition levels
		t.i32(4, encodingRLE) // repetition levels, which the file does not have
		t.end()
	})
	w.columns = append(w.columns, c)
}

// page writes a page. kind writes the part of its header that differs.
func (w *tableWriter) page(c *column, typ int64, data []byte, kind func(*thrift)) {
	stored, _, err := w.coder.Encode(nil, data)
	if err != nil {
		w.err = err
		return
	}
	var t thrift
	t.push() // PageHeader
	t.i32(1, typ)
	t.i32(2, int64(len(data)))
	t.i32(3, int64(len(stored)))
	t.i32(4, int64(int32(crc32.ChecksumIEEE(stored))))
	kind(&t)
	t.end()
	w.b = append(append(w.b, t.b...), stored...)
	c.size += len(t.b) + len(data)
	c.stored += len(t.b) + len(stored)
}

// footer returns the FileMetaData.
func (w *tableWriter) footer() []byte {
	var t thrift
	t.push()
	t.i32(1, 2) // version
	t.list(2, thriftStruct, 1+len(w.columns))
	t.push() // SchemaElement
	t.text(4, "schema")
	t.i32(5, int64(len(w.columns)))
	t.end()
	for i := range w.columns {
		w.columns[i].schema(&t)
	}
	t.i64(3, int64(w.rows))
	t.list(4, thriftStruct, 1)
	t.push() // RowGroup
	t.list(1, thriftStruct, len(w.columns))
	size, stored := 0, 0
	for i := range w.columns {
		c := &w.columns[i]
		c.chunk(&t, w.rows)
		size += c.size
		stored += c.stored
	}
	t.i64(2, int64(size))
	t.i64(3, int64(w.rows))
	t.i64(5, int64(len(magic))) // where its pages begin
	t.i64(6, int64(stored))
	t.end()
	t.text(6, "cdfz")
	t.end()
	return t.b
}

// schema writes the SchemaElement of a column.
func (c *column) schema(t *thrift) {
	t.push()
	t.i32(1, int64(c.typ))
	if c.typ == typeInt64 {
		t.i32(3, repetitionRequired)
	} else {
		t.i32(3, repetitionOptional)
	}
	t.text(4, c.name)
	if c.name == "path" {
		t.i32(6, convertedUTF8)
		t.begin(10) // LogicalType
		t.begin(1)  // StringType
		t.end()
		t.end()
	}
	t.end()
}

// chunk writes the ColumnChunk of a column.
func (c *column) chunk(t *thrift, rows int) {
	t.push()
	t.i64(2, 0) // file_offset, which nothing reads any more
	t.begin(3)  // ColumnMetaData
	t.i32(1, int64(c.typ))
	encodings := []int64{encodingPlain, encodingRLE}
	if c.dictionary > 0 {
		encodings = append(encodings, encodingRLEDictionary)
	}
	t.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		t.zigzag(e)
	}
	t.list(3, thriftBinary, 1)
	t.bytes(c.name)
	t.i32(4, codecZstd)
	t.i64(5, int64(rows))
	t.i64(6, int64(c.size))
	t.i64(7, int64(c.stored))
	t.i64(9, int64(c.data))
	if c.dictionary > 0 {
		t.i64(11, int64(c.dictionary))
	}
	t.begin(12)              // Statistics
	t.i64(3, int64(c.nulls)) // without it, fastparquet takes offsets for floats
	t.end()
	t.end()
	t.end()
}
