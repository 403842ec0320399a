package joined

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// conversion converts times of a member to the units of the first member.
type conversion struct {
	from, to *cf.Units
	missing  []float64 // values that stay as they are
	texts    [2]string // the units as they are written: those of the member, and of the first
	problem  Problem   // without text
}

// compareTimes compares the units and the calendar of variable i with those of variable n of the first member, if
// both are times. Units are the same if they mean the same, or can be converted, which p notes.
func (t *template) compareTimes(p *problems, n int, h *cdf3.Header, i int) (same, sameCalendar bool) {
	to, err := cf.UnitsOf(t.first, n)
	if err != nil {
		return false, false
	}
	from, err := cf.UnitsOf(h, i)
	switch {
	case err != nil || from.Calendar != to.Calendar:
		return false, false
	case from.Equal(to):
		return true, true
	case !t.convert || !t.joins[n]:
		return false, true
	}
	p.converts = true
	return true, true
}

// conversions returns how the times of a member are converted, by the number of the variable in the first
// member. The error has those that cannot be, as a *Problem.
func (t *template) conversions(location string, h *cdf3.Header, vars []int) (map[int]*conversion, error) {
	p := &problems{member: location}
	convs := map[int]*conversion{}
	for n, i := range vars {
		if i < 0 || !t.joins[n] {
			continue
		}
		to, err := cf.UnitsOf(t.first, n)
		if err != nil {
			continue
		}
		from, err := cf.UnitsOf(h, i)
		if err != nil || from.Equal(to) {
			continue
		}
		v := &h.Vars[i]
		c := &conversion{from: from, to: to, missing: missingIn(v), texts: [2]string{unitsText(h, i), unitsText(t.first, n)}, problem: Problem{member: location, variable: v.Name}}
		if packing, err := cf.NewPacking(v); err != nil || packing.Scaled || packing.Stored != v.Type {
			p.add(v.Name, "expected times that are not packed, to convert them from %q to %q", c.texts[0], c.texts[1])
		}
		convs[n] = c
	}
	return convs, p.err()
}

// unitsText returns the units of a variable as they are written. Bounds inherit them.
func unitsText(h *cdf3.Header, i int) string {
	if a := h.Vars[i].Attr("units"); a != nil {
		return a.Text()
	}
	return "those of its variable"
}

// array returns an array with the converted values.
func (c *conversion) array(a slab.Array) slab.Array { return convertedArray{a, c} }

// convertedArray is an array of a member whose values are converted when they are read.
type convertedArray struct {
	slab.Array
	c *conversion
}

// Values hides the blocks of the member.
func (a convertedArray) Values() io.ReaderAt {
	return ioat.Func(context.Background(), a.read)
}

// read reads converted bytes.
func (a convertedArray) read(ctx context.Context, p []byte, off int64) (int, error) {
	typ := a.Type()
	size := typ.Size()
	total := size
	for _, n := range a.Shape() {
		total *= n
	}
	end := min(off+int64(len(p)), total)
	if off >= end {
		return 0, io.EOF
	}
	from, to := off/size*size, (end+size-1)/size*size
	b, err := ioat.ReadBytes(ioat.Bind(ctx, a.Array.Values()), from, to-from)
	if err != nil {
		return 0, err
	}
	for at := int64(0); at < int64(len(b)); at += size {
		if err := a.c.convert(typ, b[at:at+size]); err != nil {
			return 0, err
		}
	}
	n := copy(p, b[off-from:end-from])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// convert converts a value in place. The error is a *Problem for a value whose conversion is not exact.
func (c *conversion) convert(t cdf3.Type, b []byte) error {
	x := number(t, b)
	if x != x || cf.Contains(c.missing, x) {
		return nil
	}
	y, exact := c.from.Convert(x, c.to)
	if t == cdf3.Int64 || t == cdf3.UInt64 { // float64 cannot hold all of their values
		exact = exact && math.Abs(x) < 1<<53 && math.Abs(y) < 1<<53
	}
	if exact {
		put(t, b, y)
		exact = number(t, b) == y
	}
	if !exact {
		p := c.problem
		p.text = fmt.Sprintf("%v %s is no exact number of type %s in the units of the first file, %s", x, c.texts[0], t, c.texts[1])
		return &p
	}
	return nil
}

// number decodes a value.
func number(t cdf3.Type, b []byte) float64 {
	a := cdf3.Attr{Type: t, Len: 1, Values: b}
	return a.Float64s()[0]
}

// put encodes a value. One that the type does not have becomes another one.
func put(t cdf3.Type, b []byte, x float64) {
	switch t {
	case cdf3.Float:
		binary.BigEndian.PutUint32(b, math.Float32bits(float32(x)))
	case cdf3.Double:
		binary.BigEndian.PutUint64(b, math.Float64bits(x))
	default:
		n := uint64(int64(max(min(x, 1<<53), -1<<53)))
		for i := range b {
			b[i] = byte(n >> (8 * (len(b) - 1 - i)))
		}
	}
}

// checkConversions checks that all values of a member can be converted.
func checkConversions(ctx context.Context, f *archive.File, vars []int, convs map[int]*conversion) error {
	for n, c := range convs {
		a := c.array(f.Array(vars[n]))
		values := ioat.Bind(ctx, a.Values())
		total := f.Header().Vars[vars[n]].Len
		var buf []byte
		for off := int64(0); off < total; off += int64(len(buf)) {
			buf = make([]byte, min(walkLen, total-off))
			if err := ioat.ReadFull(values, buf, off); err != nil {
				return fmt.Errorf("variable %q: %w", f.Header().Vars[vars[n]].Name, err)
			}
		}
	}
	return nil
}
