package formats

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/slab"
)

// rowsAtOnce bounds the table rows held in memory. Tests change it.
var rowsAtOnce int64 = 1 << 18

// table is a CSV file with a row for each position and columns for the coordinates and
// for the values of one or more selections with the same axes.
type table struct {
	vars   []*tableVar
	shape  []int64
	coords []*coord
}

// tableVar is a column of values.
type tableVar struct {
	*Values
	layout
	column
}

// csvStyle returns the style of values in tables.
func csvStyle(o *Options) *style {
	st := &style{notFinite: appendCSVFloat, quote: func(dst, s []byte) []byte { return append(dst, s...) }}
	if o.Escape {
		st.quote = appendEscaped
	}
	return st
}

// newTable makes a table. Its errors name the selections that do not fit together.
func newTable(src slab.Source, values []*Values, o *Options) (*table, error) {
	t := &table{}
	st := csvStyle(o)
	for _, x := range values {
		l, err := x.layout()
		if err != nil {
			return nil, err
		}
		v := &tableVar{x, l, x.column(st, l.n)}
		if t.vars = append(t.vars, v); len(t.vars) == 1 {
			t.shape = l.shape(x)
			continue
		}
		if !sameAxes(t.vars[0], v) {
			return nil, combineError(fmt.Sprintf("%s and %s differ in dimensions or ranges, which columns of a table must share", values[0].text, x.text))
		}
	}
	h := src.Header()
	first := t.vars[0]
	for i, a := range first.Values.axes {
		at := slices.Index(first.layout.axes, i)
		if at < 0 && !t.sameCell(h.Dims[a.dim].Name) {
			continue
		}
		c := &coord{name: h.Dims[a.dim].Name, axis: a, at: at, have: -1}
		t.coords = append(t.coords, c)
		num, ok := coordVar(h, a.dim)
		if !ok {
			continue
		}
		var err error
		if c.of, err = newValues(src, c.name, num, []axis{a}, o); err != nil {
			return nil, err
		}
		c.column = c.of.column(st, 1) // one character per value of text
		c.skip = slices.ContainsFunc(values, func(x *Values) bool { return x.num == num })
	}
	return t, nil
}

// sameCell reports whether all selections have taken the same single value of a dimension.
// Then it is a column.
func (t *table) sameCell(dim string) bool {
	index := int64(-1)
	for _, v := range t.vars {
		i := slices.IndexFunc(v.cells, func(c Cell) bool { return c.Dim == dim })
		if i < 0 || index >= 0 && v.cells[i].Index != index {
			return false
		}
		index = v.cells[i].Index
	}
	return true
}

// sameCells reports whether two selections have taken the same single values.
func sameCells(a, b *Values) bool {
	return slices.EqualFunc(a.cells, b.cells, func(c, d Cell) bool { return c.Dim == d.Dim && c.Index == d.Index })
}

func sameAxes(a, b *tableVar) bool {
	return slices.EqualFunc(a.layout.axes, b.layout.axes, func(i, j int) bool { return a.Values.axes[i] == b.Values.axes[j] })
}

// reads returns the coordinates that the table reads.
func (t *table) reads() (out []*Values) {
	for _, c := range t.coords {
		if c.of != nil && !c.skip {
			out = append(out, c.of)
		}
	}
	return out
}

func (t *table) write(ctx context.Context, w io.Writer) error {
	most := rowsAtOnce
	for _, v := range t.vars {
		most = min(most, max(1, pieceLen/v.v.Type.Size()/max(1, v.n)))
	}
	out := csv.NewWriter(w)
	r := &rows{t: t, w: w, csv: out}
	if err := out.Write(t.header()); err != nil {
		return err
	}
	err := eachBox(t.shape, most, func(b *box) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.write(ctx, b)
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func (t *table) header() []string {
	var names []string
	for _, c := range t.coords {
		if !c.skip {
			names = append(names, c.name)
		}
	}
	for i, v := range t.vars {
		name := v.v.Name
		// Columns of the same variable, or of different cells, are named after their selections.
		for j, o := range t.vars {
			if i != j && (o.v.Name == name || !sameCells(v.Values, o.Values)) {
				name = v.text
				break
			}
		}
		names = append(names, name)
	}
	if t.vars[0].o.Escape {
		for i, name := range names {
			names[i] = string(appendEscaped(nil, []byte(name)))
		}
	}
	return names
}

// rows writes the rows of a table.
type rows struct {
	t    *table
	w    io.Writer
	csv  *csv.Writer
	line []byte
	ends []int
	row  []string
}

// write writes a box of the table.
func (r *rows) write(ctx context.Context, b *box) error {
	t := r.t
	for _, c := range t.coords {
		start, n := int64(0), int64(1)
		if c.at >= 0 {
			start, n = b.start[c.at], b.count[c.at]
		}
		if c.skip {
			continue
		}
		if err := c.load(ctx, start, n); err != nil {
			return err
		}
	}
	for _, v := range t.vars {
		if err := v.read(ctx, v.part(v.layout.axes, b), b.n*v.n); err != nil {
			return err
		}
	}
	at := make([]int64, len(b.count))
	for i := range b.n {
		r.line, r.ends = r.line[:0], r.ends[:0]
		for _, c := range t.coords {
			if !c.skip {
				i := int64(0)
				if c.at >= 0 {
					i = at[c.at]
				}
				r.line = append(r.line, c.text(i)...)
				r.ends = append(r.ends, len(r.line))
			}
		}
		for _, v := range t.vars {
			r.line = v.appendText(r.line, i)
			r.ends = append(r.ends, len(r.line))
		}
		if err := r.flush(); err != nil {
			return err
		}
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < b.count[k] {
				break
			}
			at[k] = 0
		}
	}
	return nil
}

// flush writes a row. Its cells are parts of one string, the only allocation.
func (r *rows) flush() error {
	line := string(r.line)
	r.row = r.row[:0]
	begin := 0
	for _, end := range r.ends {
		r.row = append(r.row, line[begin:end])
		begin = end
	}
	if len(r.row) == 1 && line == "" {
		// Readers skip empty lines.
		r.csv.Flush()
		if err := r.csv.Error(); err != nil {
			return err
		}
		_, err := io.WriteString(r.w, "\"\"\n")
		return err
	}
	return r.csv.Write(r.row)
}

// coord is the column of a dimension: its coordinate variable, or the index.
type coord struct {
	name   string
	axis   axis
	at     int     // dimension of the table, or -1: the column has one value
	of     *Values // nil for the index
	column column
	skip   bool // already a column of values

	start, have int64 // positions whose texts are in buf
	buf         []byte
	ends        []int
}

// load formats the texts of some positions.
func (c *coord) load(ctx context.Context, start, n int64) error {
	if c.of == nil || c.have == n && c.start == start {
		c.start = start
		return nil
	}
	if err := c.column.read(ctx, c.of.part([]int{0}, &box{start: []int64{start}, count: []int64{n}}), n); err != nil {
		return err
	}
	c.buf, c.ends = c.buf[:0], resize(c.ends, n)
	for i := range n {
		c.buf = c.column.appendText(c.buf, i)
		c.ends[i] = len(c.buf)
	}
	c.start, c.have = start, n
	return nil
}

// text returns the text of a position of the box.
func (c *coord) text(i int64) []byte {
	if c.of == nil {
		c.buf = strconv.AppendInt(c.buf[:0], c.axis.start+(c.start+i)*c.axis.delta, 10)
		return c.buf
	}
	begin := 0
	if i > 0 {
		begin = c.ends[i-1]
	}
	return c.buf[begin:c.ends[i]]
}

// appendCSVFloat appends NaN, Inf or -Inf.
func appendCSVFloat(dst []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case x > 0:
		return append(dst, "Inf"...)
	}
	return append(dst, "-Inf"...)
}

// appendEscaped escapes characters that a terminal would not print.
func appendEscaped(dst, s []byte) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if unicode.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			dst = append(dst, s[:n]...)
		} else {
			q := strconv.QuoteToASCII(string(s[:n]))
			dst = append(dst, q[1:len(q)-1]...)
		}
		s = s[n:]
	}
	return dst
}
