package cdl

import (
	"fmt"
	"io"
	"strconv"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// readLen is the number of bytes of values read at once.
const readLen = 1 << 20

// data writes the data section. Variables without values are left out.
func (d *dumper) data(chosen []bool) error {
	if len(d.h.Vars) > 0 {
		d.text("data:\n")
	}
	for i := range d.h.Vars {
		v := &d.h.Vars[i]
		if chosen != nil && !chosen[i] || d.o.Coords && !d.coordinate(v) {
			continue
		}
		a := d.src.Array(i)
		n, err := slab.Len(a)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		r := newRows(d, i)
		err = d.each(a.Values(), n, r)
		switch {
		case d.err != nil:
			return d.err
		case err != nil:
			d.flush() // the values so far
			return fmt.Errorf("cdl: variable %s: %w", strconv.Quote(v.Name), err)
		}
	}
	return nil
}

// coordinate reports whether a variable has one dimension and the name of some
// dimension.
func (d *dumper) coordinate(v *cdf3.Var) bool {
	_, ok := d.names.dims[cString(v.Name)]
	return ok && len(v.DimIDs) == 1
}

// each reads n bytes of values and passes them to r.
func (d *dumper) each(values io.ReaderAt, n int64, r *rows) error {
	if d.in == nil {
		d.in = make([]byte, readLen)
	}
	for off := int64(0); off < n && d.err == nil; {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		b := d.in[:min(readLen, n-off)]
		if got, err := values.ReadAt(b, off); got < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if r.value == nil {
			r.chars(b)
		} else {
			r.numbers(b)
		}
		off += int64(len(b))
	}
	return nil
}

// rows writes the values of a variable one after the other. A row is a run along the
// last dimension.
type rows struct {
	*dumper
	v     *cdf3.Var
	value appender // nil for text
	size  int
	len   int64   // of a row
	i     int64   // in the row
	row   []int64 // indices of the row
	left  int64   // rows after this one
	nuls  int64   // NULs before this character, which may be the end of the row
}

func newRows(d *dumper, i int) *rows {
	v := &d.h.Vars[i]
	r := &rows{dumper: d, v: v, value: d.values(i), size: int(v.Type.Size()), len: 1}
	d.text("\n ")
	d.name(v.Name)
	if len(v.Shape) <= 1 {
		d.text(" = ")
		d.col = len(cString(v.Name)) + 4
	} else {
		d.text(" =\n  ")
		d.col = 2
	}
	if n := len(v.Shape); n > 0 {
		r.len = v.Shape[n-1]
		r.row = make([]int64, n-1)
	}
	r.left = 1
	for k := range r.row {
		r.left *= v.Shape[k]
	}
	r.left--
	return r
}

// numbers writes values that are not text.
func (r *rows) numbers(b []byte) {
	for ; len(b) > 0; b = b[r.size:] {
		if r.i == 0 {
			r.begin()
		}
		start := len(r.buf)
		r.buf = r.value(r.buf, b[:r.size])
		switch {
		case r.i == r.len-1:
			if !r.o.Full {
				r.wrap(start)
			}
			r.end()
			continue
		case r.o.Full:
			r.buf = append(r.buf, ", "...)
			r.annotate()
		default:
			r.buf = append(r.buf, ", "...)
			r.wrap(start)
		}
		r.i++
		if len(r.buf) >= flushLen {
			r.flush()
		}
	}
}

// chars writes text. A row is a string without its trailing NULs.
func (r *rows) chars(b []byte) {
	for _, c := range b {
		if r.i == 0 {
			r.begin()
			r.buf = append(r.buf, '"')
			r.nuls = 0
		}
		if c == 0 {
			r.nuls++
		} else {
			for ; r.nuls > 0; r.nuls-- {
				r.buf = appendOctal(r.buf, 0)
				r.spill()
			}
			r.buf = appendDataByte(r.buf, c)
		}
		if r.i == r.len-1 {
			r.buf = append(r.buf, '"')
			r.end()
			continue
		}
		r.i++
		if len(r.buf) >= flushLen {
			r.flush()
		}
	}
}

// wrap moves the text appended since start to a new line if the line gets too long. Up
// to two bytes are not moved, so that delimiters stay with their value.
func (d *dumper) wrap(start int) {
	const indent = "\n    "
	n := len(d.buf) - start
	if n > 2 && d.col+n > d.maxLine {
		d.buf = append(d.buf, indent...)
		copy(d.buf[start+len(indent):], d.buf[start:])
		copy(d.buf[start:], indent)
		d.col = len(indent) - 1
	}
	if n > 0 && d.buf[len(d.buf)-1] == '\n' {
		d.col = 0
		return
	}
	d.col += n
}

// begin writes the text before a row.
func (r *rows) begin() {
	if r.o.Brief && len(r.row) > 0 {
		r.brief()
	}
}

// end writes the text after a row and moves on to the next row.
func (r *rows) end() {
	last := r.left == 0
	switch {
	case r.o.Full:
		if last {
			r.buf = append(r.buf, ';')
		} else {
			r.buf = append(r.buf, ',')
		}
		r.annotate()
	case last:
		r.buf = append(r.buf, " ;\n"...)
		r.col = 0
	default:
		r.buf = append(r.buf, ",\n  "...)
		r.col = 2
	}
	r.spill()
	r.i = 0
	r.left--
	for k := len(r.row) - 1; k >= 0; k-- {
		if r.row[k]++; r.row[k] < r.v.Shape[k] {
			break
		}
		r.row[k] = 0
	}
}
