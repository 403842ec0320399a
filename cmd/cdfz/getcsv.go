package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// rowsAtOnce bounds the rows of a table that are in memory at once. A variable for
// tests.
var rowsAtOnce int64 = 1 << 18

// table is a CSV file: a row for each position, in columns the coordinates and
// the values of one or several selections, which have the same axes.
type table struct {
	vars   []*tableVar
	shape  []int64
	coords []*coord
}

type tableVar struct {
	*selected
	text *textOf
	m    scratchBytes
	data []byte // not yet written
}

// coord is the column of a dimension: its coordinate variable, or the index.
type coord struct {
	name string
	axis axis
	of   *selected // nil: the index
	text *textOf
	skip bool // it would be a column of the table again

	m           scratchBytes
	start, have int64 // positions whose texts are in buf
	buf         []byte
	ends        []int
}

// newTable makes a table; an error says which selections do not fit together.
func newTable(f *archive.File, sel []*selected, unpack bool) (*table, error) {
	t := &table{}
	for _, s := range sel {
		text, err := s.textOf(appendCSVString, appendCSVFloat)
		if err != nil {
			return nil, err
		}
		v := &tableVar{selected: s, text: text}
		if t.vars = append(t.vars, v); len(t.vars) == 1 {
			t.shape = text.positions(s)
			continue
		}
		if !sameAxes(t.vars[0], v) {
			return nil, hinted(fmt.Errorf("%s and %s are not of the same dimensions and ranges, as the columns of a table must be", sel[0].arg, s.arg),
				"-o DIR/ writes a file of each")
		}
	}
	h := f.Header()
	first := t.vars[0]
	for _, i := range first.text.axes {
		a := first.axes[i]
		c := &coord{name: h.Dims[a.dim].Name, axis: a, have: -1}
		t.coords = append(t.coords, c)
		num, ok := coordVar(h, a.dim)
		if !ok {
			continue
		}
		var err error
		if c.of, err = selectAxes(f, c.name, num, []axis{a}, unpack); err != nil {
			return nil, err
		}
		one := *c.of
		if one.v.Type == cdf3.Char {
			one.axes = []axis{{dim: a.dim, count: 1, delta: 1}} // a character each, no string
		}
		if c.text, err = one.textOf(appendCSVString, appendCSVFloat); err != nil {
			return nil, err
		}
		c.skip = slices.ContainsFunc(sel, func(s *selected) bool { return s.num == num })
	}
	return t, nil
}

// coordVar is the coordinate variable of a dimension.
func coordVar(h *cdf3.Header, dim int) (int, bool) {
	for i := range h.Vars {
		v := &h.Vars[i]
		if v.Name == h.Dims[dim].Name && len(v.DimIDs) == 1 && v.DimIDs[0] == dim {
			return i, true
		}
	}
	return 0, false
}

func sameAxes(a, b *tableVar) bool {
	return slices.EqualFunc(a.text.axes, b.text.axes, func(i, j int) bool { return a.axes[i] == b.axes[j] })
}

// needs adds the selections that writing the table reads.
func (t *table) needs() (out []*selected) {
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
		most = min(most, max(1, pieceLen/v.size/max(1, v.text.n)))
	}
	line := t.header()
	if _, err := w.Write(line); err != nil {
		return err
	}
	return eachBox(t.shape, most, func(b *box) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return t.rows(ctx, w, b)
	})
}

func (t *table) header() []byte {
	var line []byte
	for _, c := range t.coords {
		if !c.skip {
			line = append(appendCSVString(line, []byte(c.name)), ',')
		}
	}
	for i, v := range t.vars {
		name := v.v.Name
		// A variable that occurs again is called by what was asked for.
		for j, o := range t.vars {
			if i != j && o.v.Name == name {
				name = v.arg
				break
			}
		}
		line = append(appendCSVString(line, []byte(name)), ',')
	}
	line[len(line)-1] = '\n'
	return line
}

// rows writes a box of the table.
func (t *table) rows(ctx context.Context, w io.Writer, b *box) error {
	for k, c := range t.coords {
		if c.skip {
			continue
		}
		if err := c.load(ctx, b.start[k], b.count[k]); err != nil {
			return err
		}
	}
	for _, v := range t.vars {
		var err error
		if v.data, err = v.read(ctx, v.part(v.text.axes, b), b.n*v.text.n, &v.m); err != nil {
			return err
		}
	}
	at := make([]int64, len(b.count))
	var out []byte
	for range b.n {
		begin := len(out)
		for k, c := range t.coords {
			if !c.skip {
				out = append(append(out, c.at(at[k])...), ',')
			}
		}
		for _, v := range t.vars {
			out = append(v.text.append(out, v.data), ',')
			v.data = v.data[v.text.step:]
		}
		if len(out) == begin+1 {
			out = append(out[:begin], `"",`...) // a line of nothing would be no row
		}
		out[len(out)-1] = '\n'
		if len(out) >= 1<<16 {
			if _, err := w.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < b.count[k] {
				break
			}
			at[k] = 0
		}
	}
	_, err := w.Write(out)
	return err
}

// load makes the texts of some positions.
func (c *coord) load(ctx context.Context, start, n int64) error {
	if c.of == nil || c.have == n && c.start == start {
		c.start = start
		return nil
	}
	p := c.of.part([]int{0}, &box{start: []int64{start}, count: []int64{n}})
	data, err := c.of.read(ctx, p, n, &c.m)
	if err != nil {
		return err
	}
	c.buf, c.ends = c.buf[:0], resize(c.ends, n)
	for i := range n {
		c.buf = c.text.append(c.buf, data[i*c.text.step:])
		c.ends[i] = len(c.buf)
	}
	c.start, c.have = start, n
	return nil
}

// at is the text of a position of the box.
func (c *coord) at(i int64) []byte {
	if c.of == nil {
		c.buf = appendInt(c.buf[:0], c.axis.start+(c.start+i)*c.axis.delta)
		return c.buf
	}
	begin := 0
	if i > 0 {
		begin = c.ends[i-1]
	}
	return c.buf[begin:c.ends[i]]
}
