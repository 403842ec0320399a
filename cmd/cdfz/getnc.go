package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// batchLen is how many bytes of records are in memory at once. A variable for tests.
var batchLen int64 = 16 << 20

// subset is a classic netCDF file of selections: their attributes, the
// dimensions cut to what is selected, and the coordinate variables of these.
type subset struct {
	h    *cdf3.Header
	vars []*selected // as in h
	m    scratchBytes
}

// newSubset makes the header. A dimension can be cut in one way only.
func newSubset(f *archive.File, sel []*selected, unpack bool) (*subset, error) {
	src := f.Header()
	s := &subset{h: &cdf3.Header{Version: src.Version, Attrs: src.Attrs}}
	cuts := map[int]*selected{} // for each dimension that is used one selection
	ranges := map[int]axis{}
	taken := map[string]bool{}
	for _, x := range sel {
		if taken[x.v.Name] {
			return nil, hinted(fmt.Errorf("variable %s is selected twice: a netCDF file has one of a name", quoted(x.v.Name)), "-o DIR/ writes a file of each")
		}
		taken[x.v.Name] = true
		for _, i := range x.kept() {
			a := x.axes[i]
			old, ok := ranges[a.dim]
			if ok && old != a {
				return nil, hinted(fmt.Errorf("dimension %s is cut in different ways by %s and %s: a netCDF file has one of a name",
					quoted(src.Dims[a.dim].Name), cuts[a.dim].arg, x.arg), "-o DIR/ writes a file of each")
			}
			ranges[a.dim], cuts[a.dim] = a, x
		}
	}
	dims := make([]int, 0, len(ranges))
	for d := range ranges {
		dims = append(dims, d)
	}
	slices.Sort(dims)
	// In the order of the source, coordinate variables first.
	for _, d := range dims {
		if num, ok := coordVar(src, d); ok && !taken[src.Vars[num].Name] {
			taken[src.Vars[num].Name] = true
			x, err := selectAxes(f, src.Vars[num].Name, num, []axis{ranges[d]}, unpack)
			if err != nil {
				return nil, err
			}
			s.vars = append(s.vars, x)
		}
	}
	s.vars = append(s.vars, sel...)
	slices.SortStableFunc(s.vars, func(a, b *selected) int { return a.num - b.num })
	number, err := s.addDims(src, dims, ranges)
	if err != nil {
		return nil, err
	}
	for _, x := range s.vars {
		v := cdf3.Var{Name: x.v.Name, Type: x.outType(), Attrs: x.outAttrs()}
		for _, i := range x.kept() {
			v.DimIDs = append(v.DimIDs, number[x.axes[i].dim])
		}
		s.h.Vars = append(s.h.Vars, v)
	}
	return s, s.h.Layout()
}

// addDims adds the dimensions; it returns their new numbers.
func (s *subset) addDims(src *cdf3.Header, dims []int, ranges map[int]axis) (map[int]int, error) {
	number := map[int]int{}
	unlimited := false
	for _, d := range dims {
		dim := cdf3.Dim{Name: src.Dims[d].Name, Len: ranges[d].count}
		switch {
		case src.Dims[d].Len == 0 && !unlimited:
			// One is all that the format knows; more become fixed.
			unlimited = true
			s.h.NumRecsField, dim.Len = uint64(dim.Len), 0
			if s.h.Version != cdf3.Data64 && s.h.NumRecsField >= math.MaxUint32 {
				return nil, fmt.Errorf("%d records are more than a %s file can have", s.h.NumRecsField, s.h.Version)
			}
		case dim.Len == 0:
			return nil, fmt.Errorf("nothing is selected in dimension %s: a netCDF file has no dimension of length 0", quoted(dim.Name))
		}
		number[d] = len(s.h.Dims)
		s.h.Dims = append(s.h.Dims, dim)
	}
	return number, nil
}

// outAttrs are the attributes of what is written: unpacking uses some up.
func (s *selected) outAttrs() []cdf3.Attr {
	if s.un == nil {
		return s.v.Attrs
	}
	out := []cdf3.Attr{}
	for _, a := range s.v.Attrs {
		if !slices.Contains(packing, a.Name) {
			out = append(out, a)
		}
	}
	nan := binary.BigEndian.AppendUint64(nil, quietNaN)
	return append(out, cdf3.Attr{Name: "_FillValue", Type: cdf3.Double, Len: 1, Values: nan})
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
			if err := x.pieces(ctx, &s.m, func(b []byte) error { _, err := w.Write(b); return err }); err != nil {
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

// recordBox is records of a variable.
func (s *subset) recordBox(i int, at, n int64) (*selected, *box) {
	shape, _ := s.vars[i].shape()
	b := &box{start: make([]int64, len(shape)), count: shape, n: n}
	b.start[0], b.count[0] = at, n
	for _, k := range shape[1:] {
		b.n *= k
	}
	return s.vars[i], b
}

// writeBatch writes n records, each variable read at once.
func (s *subset) writeBatch(ctx context.Context, w io.Writer, at, n int64) error {
	out := make([]byte, n*s.h.RecSize)
	off := int64(0)
	for i := range s.vars {
		v := &s.h.Vars[i]
		if !v.Record {
			continue
		}
		x, b := s.recordBox(i, at, n)
		data, err := x.read(ctx, x.part(x.kept(), b), b.n, &s.m)
		if err != nil {
			return err
		}
		for r := range n {
			copy(out[r*s.h.RecSize+off:], data[r*v.RecLen:][:v.RecLen])
		}
		off += pad4(v.RecLen)
	}
	_, err := w.Write(out)
	return err
}

// writeRecord writes one record that may be large.
func (s *subset) writeRecord(ctx context.Context, w io.Writer, at int64) error {
	written := int64(0)
	for i := range s.vars {
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
		if err := one.pieces(ctx, &s.m, func(b []byte) error { _, err := w.Write(b); return err }); err != nil {
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
