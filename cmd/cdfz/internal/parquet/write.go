package parquet

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// maxBound is the longest text in statistics, in bytes. Those of longer ones are omitted.
const maxBound = 1 << 10

// Writer writes a file. The bytes depend on the columns, the rows and the calls of Flush alone. It is for one
// goroutine.
type Writer struct {
	// Creator is the program that writes the file, as text.
	Creator string
	// Key and Meta are a pair of the metadata. There is none if Key is empty.
	Key, Meta string
	// Sorted are the columns by which rows are in order, by number.
	Sorted []int

	w       io.Writer
	off     int64
	columns []columnWriter
	rows    int // of the current row group
	groups  []group
	most    int64 // MaxFooter; less in tests
}

// group is a written row group.
type group struct {
	rows   int64
	chunks []chunk
}

// NewWriter begins a file of these columns.
func NewWriter(w io.Writer, columns []Column) *Writer {
	p := &Writer{w: w, columns: make([]columnWriter, len(columns)), most: MaxFooter}
	for i := range columns {
		p.columns[i].Column = &columns[i]
		p.columns[i].reset()
	}
	return p
}

// Rows returns the number of rows that Add has added since the last Flush.
func (p *Writer) Rows() int { return p.rows }

// Size returns the number of bytes written.
func (p *Writer) Size() int64 { return p.off }

// Texts returns how many bytes of texts are held for the next Flush. Those of a dictionary count once.
func (p *Writer) Texts() int {
	n := 0
	for i := range p.columns {
		n += p.columns[i].texts
	}
	return n
}

// Add adds a row, which has a list of values for each column: one value for Required, at most one for Optional.
// Rows are held until Flush.
func (p *Writer) Add(row [][]Value) {
	for i := range p.columns {
		p.columns[i].add(row[i])
	}
	p.rows++
}

// Flush writes the rows as a row group.
func (p *Writer) Flush() error {
	if p.rows == 0 {
		return nil
	}
	if p.off == 0 {
		if err := p.write([]byte(magic)); err != nil {
			return err
		}
	}
	g := group{rows: int64(p.rows)}
	for i := range p.columns {
		c, err := p.column(&p.columns[i])
		if err != nil {
			return err
		}
		g.chunks = append(g.chunks, c)
		p.columns[i].reset()
	}
	p.groups = append(p.groups, g)
	p.rows = 0
	return nil
}

// Close writes what remains and the metadata. It fails if a reader would refuse these: the bounds of many row
// groups may be long. It does not close the writer below.
func (p *Writer) Close() error {
	if err := p.Flush(); err != nil {
		return err
	}
	if p.off == 0 {
		if err := p.write([]byte(magic)); err != nil {
			return err
		}
	}
	footer := p.footer()
	if n := int64(len(footer)); n > p.most {
		return fmt.Errorf("parquet: expected at most %d bytes of metadata, found %d", p.most, n)
	}
	n := len(footer)
	return p.write(append(binary.LittleEndian.AppendUint32(footer, uint32(n)), magic...))
}

func (p *Writer) write(b []byte) error {
	n, err := p.w.Write(b)
	p.off += int64(n)
	return err
}

// column writes a column of a row group: at most a page for the dictionary and one for the values, since groups are
// small.
func (p *Writer) column(c *columnWriter) (chunk, error) {
	out := chunk{values: int64(c.entries), nulls: int64(c.entries - c.values)}
	if c.bounded() {
		out.least, out.greatest = c.bound(c.least, true), c.bound(c.greatest, false)
	}
	encoding := int64(encodingPlain)
	if c.Dictionary && len(c.index) > 0 {
		encoding = encodingRLEDictionary
		out.dictionary = p.off
		err := p.page(&out, pageDictionary, c.plain, func(t *thrift) {
			t.begin(7) // DictionaryPageHeader
			t.i32(1, int64(len(c.index)))
			t.i32(2, encodingPlain)
			t.end()
		})
		if err != nil {
			return out, err
		}
	}
	out.data = p.off
	return out, p.page(&out, pageData, c.page(), func(t *thrift) {
		t.begin(5) // DataPageHeader
		t.i32(1, int64(c.entries))
		t.i32(2, encoding)
		t.i32(3, encodingRLE) // definition levels
		t.i32(4, encodingRLE) // repetition levels
		t.end()
	})
}

// page writes a page. kind writes the part of its header that differs.
func (p *Writer) page(c *chunk, typ int64, data []byte, kind func(*thrift)) error {
	stored := encoder().EncodeAll(data, nil)
	var t thrift
	t.push() // PageHeader
	t.i32(1, typ)
	t.i32(2, int64(len(data)))
	t.i32(3, int64(len(stored)))
	t.i32(4, int64(int32(crc32.ChecksumIEEE(stored))))
	kind(&t)
	t.end()
	c.size += int64(len(t.b) + len(data))
	c.stored += int64(len(t.b) + len(stored))
	return p.write(append(t.b, stored...))
}

// columnWriter holds a column of a row group.
type columnWriter struct {
	*Column
	entries, values int      // entries of levels, and those with a value
	defs, reps      []uint32 // levels, where the column has them
	plain           []byte   // values, or those of the dictionary
	bits            []uint32 // values of Bool
	index           map[string]uint32
	indices         []uint32
	texts           int
	least, greatest Value
	noOrder         bool // there was a NaN
}

func (c *columnWriter) reset() {
	index := c.index
	clear(index)
	if index == nil && c.Dictionary {
		index = map[string]uint32{}
	}
	*c = columnWriter{Column: c.Column, defs: c.defs[:0], reps: c.reps[:0], plain: c.plain[:0], bits: c.bits[:0], indices: c.indices[:0], index: index}
}

// add adds the values of a row.
func (c *columnWriter) add(values []Value) {
	if c.Repetition != List && len(values) > 1 || c.Repetition == Required && len(values) != 1 {
		panic(fmt.Sprintf("internal error: %d values in column %s", len(values), c.Name))
	}
	c.entries += max(1, len(values))
	if c.Repetition != Required && len(values) == 0 {
		c.defs = append(c.defs, 0)
	}
	if c.Repetition == List && len(values) == 0 {
		c.reps = append(c.reps, 0)
	}
	for i, v := range values {
		if c.Repetition != Required {
			c.defs = append(c.defs, 1)
		}
		if c.Repetition == List {
			c.reps = append(c.reps, uint32(min(i, 1)))
		}
		c.value(v)
	}
}

// value adds a value.
func (c *columnWriter) value(v Value) {
	if c.Kind == Double && math.IsNaN(v.Double) {
		c.noOrder = true
	}
	if c.values == 0 || c.Kind.compare(v, c.least) < 0 {
		c.least = v
	}
	if c.values == 0 || c.Kind.compare(v, c.greatest) > 0 {
		c.greatest = v
	}
	c.values++
	switch {
	case c.Kind == Bool:
		c.bits = append(c.bits, uint32(v.Int))
	case c.Dictionary:
		at, ok := c.index[v.Text]
		if !ok {
			at = uint32(len(c.index))
			c.index[v.Text] = at
			c.plain = c.Kind.appendPlain(c.plain, v)
			c.texts += len(v.Text)
		}
		c.indices = append(c.indices, at)
	default:
		c.plain = c.Kind.appendPlain(c.plain, v)
		c.texts += len(v.Text)
	}
}

// page returns the data page: the levels, and the values or their indices.
func (c *columnWriter) page() []byte {
	var b []byte
	if c.Repetition == List {
		b = appendText(b, appendRuns(nil, c.reps, 1))
	}
	if c.Repetition != Required {
		b = appendText(b, appendRuns(nil, c.defs, 1))
	}
	switch {
	case c.Kind == Bool:
		packed := make([]byte, (len(c.bits)+7)/8)
		for i, v := range c.bits {
			packed[i/8] |= byte(v&1) << (i % 8)
		}
		return append(b, packed...)
	case c.Dictionary && len(c.index) > 0:
		width := indexWidth(len(c.index))
		return appendRuns(append(b, byte(width)), c.indices, width)
	case c.Dictionary: // no values
		return b
	}
	return append(b, c.plain...)
}

// bounded reports whether the column has a least and a greatest value that belong into the statistics.
func (c *columnWriter) bounded() bool {
	return !c.Unbounded && !c.noOrder && c.values > 0 && max(len(c.least.Text), len(c.greatest.Text)) <= maxBound
}

// bound returns a value for the statistics. Of the two zeros of floating point numbers, the least is the negative one.
func (c *columnWriter) bound(v Value, least bool) []byte {
	if c.Kind == Double && v.Double == 0 {
		if v.Double = 0; least {
			v.Double = math.Copysign(0, -1)
		}
	}
	b := c.Kind.appendPlain(nil, v)
	if c.Kind.isText() {
		return append([]byte{}, v.Text...) // without its length
	}
	return b
}

// compare orders values.
func (k Kind) compare(a, b Value) int {
	switch {
	case k == Double:
		return cmp.Compare(a.Double, b.Double)
	case k.isText():
		return cmp.Compare(a.Text, b.Text)
	}
	return cmp.Compare(a.Int, b.Int)
}

// appendPlain appends a value in the encoding PLAIN. Values of Bool, which are bits there, take a byte, as in
// statistics.
func (k Kind) appendPlain(b []byte, v Value) []byte {
	switch k {
	case Bool:
		return append(b, byte(v.Int))
	case Int32:
		return binary.LittleEndian.AppendUint32(b, uint32(v.Int))
	case Int64, Micros:
		return binary.LittleEndian.AppendUint64(b, uint64(v.Int))
	case Double:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Double))
	}
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(v.Text))), v.Text...)
}

// appendText appends bytes after their length.
func appendText(dst, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
}
