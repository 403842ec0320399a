package formats

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// batchLen is the number of bytes of records held in memory. Tests change it.
var batchLen int64 = 16 << 20

// subset is a classic netCDF file of selections, with their attributes, the dimensions
// cut to the selected parts, and the coordinate variables of these dimensions.
type subset struct {
	h       *cdf3.Header
	vars    []*Values // as in h
	columns []column
}

// newSubset makes the header. All selections must cut a dimension in the same way.
func newSubset(src slab.Source, values []*Values, o *Options) (*subset, error) {
	h := src.Header()
	s := &subset{h: &cdf3.Header{Version: h.Version, Attrs: withHistory(h.Attrs, o.History)}}
	cuts := map[int]*Values{} // one selection for each dimension in use
	ranges := map[int]axis{}
	taken := map[string]bool{}
	for _, x := range values {
		if taken[x.v.Name] {
			return nil, combineError(fmt.Sprintf("variable %s is selected twice, and names in a netCDF file are unique", quoted(x.v.Name)))
		}
		taken[x.v.Name] = true
		for _, i := range x.kept() {
			a := x.axes[i]
			old, ok := ranges[a.dim]
			if ok && old != a {
				return nil, combineError(fmt.Sprintf("dimension %s is cut in different ways by %s and %s, and names in a netCDF file are unique",
					quoted(h.Dims[a.dim].Name), cuts[a.dim].text, x.text))
			}
			ranges[a.dim], cuts[a.dim] = a, x
		}
	}
	dims := make([]int, 0, len(ranges))
	for d := range ranges {
		dims = append(dims, d)
	}
	slices.Sort(dims)
	for _, d := range dims {
		if num, ok := coordVar(h, d); ok && !taken[h.Vars[num].Name] {
			taken[h.Vars[num].Name] = true
			x, err := newValues(src, h.Vars[num].Name, num, []axis{ranges[d]}, o)
			if err != nil {
				return nil, err
			}
			s.vars = append(s.vars, x)
		}
	}
	s.vars = append(s.vars, values...)
	slices.SortStableFunc(s.vars, func(a, b *Values) int { return a.num - b.num })
	// CDF-1 and CDF-2 lack the unsigned types that _Unsigned asks for.
	if slices.ContainsFunc(s.vars, func(x *Values) bool { return x.Type() != x.v.Type && x.Type() > cdf3.Double }) {
		s.h.Version = cdf3.Data64
	}
	number, err := s.addDims(h, dims, ranges)
	if err != nil {
		return nil, err
	}
	for _, x := range s.vars {
		v := cdf3.Var{Name: x.v.Name, Type: x.Type(), Attrs: x.attrs()}
		for _, i := range x.kept() {
			v.DimIDs = append(v.DimIDs, number[x.axes[i].dim])
		}
		s.h.Vars = append(s.h.Vars, v)
		s.columns = append(s.columns, x.column(nil, 1))
	}
	return s, s.h.LayoutRead()
}

// withHistory appends a line to the history attribute, or adds the attribute. A history
// that is not text is left unchanged.
func withHistory(attrs []cdf3.Attr, line string) []cdf3.Attr {
	if line == "" {
		return attrs
	}
	out := slices.Clone(attrs)
	for i := range out {
		a := &out[i]
		if a.Name != "history" {
			continue
		}
		if a.Type == cdf3.Char {
			b := slices.Clone(a.Values)
			for len(b) > 0 && (b[len(b)-1] == 0 || b[len(b)-1] == '\n') {
				b = b[:len(b)-1]
			}
			if len(b) > 0 {
				b = append(b, '\n')
			}
			a.Values = append(b, line...)
			a.Len = int64(len(a.Values))
		}
		return out
	}
	return append(out, cdf3.Attr{Name: "history", Type: cdf3.Char, Len: int64(len(line)), Values: []byte(line)})
}

// addDims adds the dimensions and returns their new numbers.
func (s *subset) addDims(src *cdf3.Header, dims []int, ranges map[int]axis) (map[int]int, error) {
	number := map[int]int{}
	unlimited := false
	for _, d := range dims {
		dim := cdf3.Dim{Name: src.Dims[d].Name, Len: ranges[d].count}
		switch {
		case src.Dims[d].Len == 0 && !unlimited:
			// The format has one record dimension. Others become fixed.
			unlimited = true
			s.h.NumRecsField, dim.Len = uint64(dim.Len), 0
			if s.h.Version != cdf3.Data64 && s.h.NumRecsField >= math.MaxUint32 {
				return nil, fmt.Errorf("a %s file cannot have %d records", s.h.Version, s.h.NumRecsField)
			}
		case dim.Len == 0:
			return nil, fmt.Errorf("nothing is selected in dimension %s, and netCDF has no fixed dimension of length 0", quoted(dim.Name))
		}
		number[d] = len(s.h.Dims)
		s.h.Dims = append(s.h.Dims, dim)
	}
	return number, nil
}

// attrs returns the attributes to write, without those that are wrong after unpacking.
func (x *Values) attrs() []cdf3.Attr {
	if !x.o.Unpack || x.packing.Plain() && x.packing.Stored == x.v.Type {
		return x.v.Attrs
	}
	out := []cdf3.Attr{}
	for _, a := range x.v.Attrs {
		if !cf.IsPackingAttr(a.Name) {
			out = append(out, a)
		}
	}
	fill := cdf3.Attr{Name: "_FillValue", Type: x.Type(), Len: 1}
	switch {
	case !x.packing.HasMissing():
		return out
	case x.Type() == cdf3.Float:
		fill.Values = binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(cf.NaN())))
	default:
		fill.Values = binary.BigEndian.AppendUint64(nil, math.Float64bits(cf.NaN()))
	}
	return append(out, fill)
}

func pad4(n int64) int64 { return (n + 3) &^ 3 }

func (s *subset) write(ctx context.Context, w io.Writer) error {
	b, err := s.h.Append(nil)
	if err != nil {
		return err
	}
	if err := writePadded(w, b); err != nil {
		return err
	}
	for i, x := range s.vars {
		if v := &s.h.Vars[i]; !v.Record {
			if err := x.pieces(ctx, s.columns[i], func(b []byte) error { _, err := w.Write(b); return err }); err != nil {
				return err
			}
			if _, err := w.Write(make([]byte, pad4(v.Len)-v.Len)); err != nil {
				return err
			}
		}
	}
	if s.h.RecSize == 0 {
		return nil
	}
	for at := int64(0); at < s.h.NumRecs; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(s.h.NumRecs-at, batchLen/s.h.RecSize)
		if n <= 1 {
			n = 1
			err = s.writeRecord(ctx, w, at)
		} else {
			err = s.writeBatch(ctx, w, at, n)
		}
		if err != nil {
			return err
		}
		at += n
	}
	return nil
}

func writePadded(w io.Writer, b []byte) error {
	_, err := w.Write(append(b, make([]byte, pad4(int64(len(b)))-int64(len(b)))...))
	return err
}

// recordBox returns n records of variable i, starting with record at.
func (s *subset) recordBox(i int, at, n int64) (*Values, *box) {
	shape := s.vars[i].Shape()
	b := &box{start: make([]int64, len(shape)), count: shape, n: n}
	b.start[0], b.count[0] = at, n
	for _, k := range shape[1:] {
		b.n *= k
	}
	return s.vars[i], b
}

// writeBatch writes n records, reading each variable once.
func (s *subset) writeBatch(ctx context.Context, w io.Writer, at, n int64) error {
	out := make([]byte, n*s.h.RecSize)
	off := int64(0)
	for i, c := range s.columns {
		v := &s.h.Vars[i]
		if !v.Record {
			continue
		}
		x, b := s.recordBox(i, at, n)
		if err := c.read(ctx, x.part(x.kept(), b), b.n); err != nil {
			return err
		}
		data := c.bytes()
		for r := range n {
			copy(out[r*s.h.RecSize+off:], data[r*v.RecLen:][:v.RecLen])
		}
		off += pad4(v.RecLen)
	}
	_, err := w.Write(out)
	return err
}

// writeRecord writes one record, which may be large.
func (s *subset) writeRecord(ctx context.Context, w io.Writer, at int64) error {
	written := int64(0)
	for i, c := range s.columns {
		v := &s.h.Vars[i]
		if !v.Record {
			continue
		}
		x, b := s.recordBox(i, at, 1)
		one := *x
		one.axes = slices.Clone(x.axes)
		for k, j := range x.kept() {
			a := &one.axes[j]
			a.start, a.count = a.start+b.start[k]*a.delta, b.count[k]
		}
		if err := one.pieces(ctx, c, func(b []byte) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
		// The only record variable of a file is not padded.
		end := min(written+pad4(v.RecLen), s.h.RecSize)
		if _, err := w.Write(make([]byte, end-written-v.RecLen)); err != nil {
			return err
		}
		written = end
	}
	if written != s.h.RecSize {
		return errors.New("internal error: a record of the wrong length")
	}
	return nil
}
