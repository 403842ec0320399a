package formats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// pieceLen is roughly the number of bytes of values held in memory for each column of a
// table. Tests change it.
var pieceLen int64 = 8 << 20

// Values are the selected values of a variable.
type Values struct {
	src     slab.Source
	text    string
	v       *cdf3.Var
	num     int // of the variable
	axes    []axis
	array   slab.Array
	packing *cf.Packing
	units   *cf.Units // set if times are written as text
	o       *Options
	cells   []Cell
	cuts    []string
}

// Apply resolves a selection in a file. For selections by value it reads the coordinate
// variables. Errors of the selection wrap ErrSelection, and are a *NameError if the file lacks the
// variable. All others are those of reading: damage, or errors of the source or of ctx.
func (s *Selection) Apply(ctx context.Context, src slab.Source, o *Options) (*Values, error) {
	x, err := s.apply(ctx, src, o)
	if err != nil && !errors.As(err, new(readError)) {
		return nil, selectionError{err}
	}
	return x, err
}

func (s *Selection) apply(ctx context.Context, src slab.Source, o *Options) (*Values, error) {
	h := src.Header()
	num, err := findVar(h, s.Var)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	r, err := s.resolve(ctx, src, &h.Vars[num], o.Nearest)
	if err != nil {
		return nil, err
	}
	x, err := newValues(src, s.Text, num, r.axes, o)
	if err != nil {
		return nil, err
	}
	x.cells, x.cuts = r.cells, r.cuts
	return x, nil
}

func newValues(src slab.Source, text string, num int, axes []axis, o *Options) (*Values, error) {
	h := src.Header()
	x := &Values{src: src, text: text, v: &h.Vars[num], num: num, axes: axes, array: src.Array(num), o: o}
	var err error
	if x.packing, err = cf.NewPacking(x.v); err != nil && o.Unpack {
		return nil, err
	}
	if o.Time {
		// Variables that are not times are written as numbers.
		x.units, _ = cf.UnitsOf(h, num)
	}
	return x, nil
}

// Text returns the selection as it was written.
func (x *Values) Text() string { return x.text }

// Cells returns the coordinates of single values that were selected, in the order of
// dimensions.
func (x *Values) Cells() []Cell { return x.cells }

// Notes describes where the selection differs from the requested one: values that are those of
// the nearest cell, ranges that are longer than the axis, and times that
// cannot be read.
func (x *Values) Notes() (notes []string) {
	var near []string
	for i := range x.cells {
		if c := &x.cells[i]; !c.Same {
			near = append(near, c.String())
		}
	}
	if near != nil {
		notes = append(notes, "takes the nearest cell, "+strings.Join(near, ", "))
	}
	notes = append(notes, x.cuts...)
	if !x.o.Time {
		return notes
	}
	h, nums := x.src.Header(), []int{x.num}
	for _, d := range x.v.DimIDs {
		if num, ok := coordVar(h, d); ok && !slices.Contains(nums, num) {
			nums = append(nums, num)
		}
	}
	for _, num := range nums {
		if _, err := cf.UnitsOf(h, num); err != nil && !errors.Is(err, cf.ErrNotTime) {
			notes = append(notes, fmt.Sprintf("has the times of %s as numbers: %v", quoted(h.Vars[num].Name), err))
		}
	}
	return notes
}

// Name returns the name of the variable.
func (x *Values) Name() string { return x.v.Name }

// Var returns the number of the variable in the header.
func (x *Values) Var() int { return x.num }

// StoredType returns the type of the variable.
func (x *Values) StoredType() cdf3.Type { return x.v.Type }

// Type returns the type of the written values. For times as text, it is the type of the
// numbers they replace.
func (x *Values) Type() cdf3.Type {
	if x.o.Unpack {
		return x.packing.Type
	}
	return x.v.Type
}

// Shape returns the length of each dimension of the result. Dimensions with a single
// selected index are left out.
func (x *Values) Shape() []int64 {
	shape := []int64{}
	for _, i := range x.kept() {
		shape = append(shape, x.axes[i].count)
	}
	return shape
}

// Len returns the number of values.
func (x *Values) Len() int64 {
	n := int64(1)
	for _, k := range x.Shape() {
		n *= k
	}
	return n
}

// Slab returns the selection in terms of package slab.
func (x *Values) Slab() slab.Sel { return x.part(nil, nil) }

// kept returns the numbers of the axes that are dimensions of the result.
func (x *Values) kept() []int {
	out := make([]int, 0, len(x.axes))
	for i := range x.axes {
		if x.axes[i].keep {
			out = append(out, i)
		}
	}
	return out
}

// part returns the selection of a box of some axes, with all other axes whole.
func (x *Values) part(axes []int, b *box) slab.Sel {
	n := len(x.axes)
	mem := make([]int64, 3*n)
	s := slab.Sel{Start: mem[:n:n], Count: mem[n : 2*n : 2*n], Stride: mem[2*n:]}
	for i := range x.axes {
		a := &x.axes[i]
		s.Start[i], s.Count[i], s.Stride[i] = a.start, a.count, a.delta
	}
	if b != nil {
		for k, i := range axes {
			s.Start[i] += b.start[k] * s.Stride[i]
			s.Count[i] = b.count[k]
		}
	}
	return s
}

// pieces reads all values in row-major order and passes them to f piece by piece, as
// big-endian bytes.
func (x *Values) pieces(ctx context.Context, c column, f func([]byte) error) error {
	axes := x.kept()
	return eachBox(x.Shape(), max(1, pieceLen/x.Type().Size()), func(b *box) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.read(ctx, x.part(axes, b), b.n); err != nil {
			return err
		}
		return f(c.bytes())
	})
}

// box is a part of a result: a range of positions along each axis.
type box struct {
	start, count []int64
	n            int64 // positions
}

// eachBox cuts a result into consecutive boxes of at most most positions, in row-major
// order. The box is reused.
func eachBox(count []int64, most int64, f func(*box) error) error {
	b := &box{start: make([]int64, len(count)), count: make([]int64, len(count))}
	for _, n := range count {
		if n == 0 {
			return nil
		}
	}
	// Dimensions after cut are whole, those before it are stepped through one by one.
	cut, inner := len(count)-1, int64(1)
	for ; cut > 0 && inner <= most/count[cut]; cut-- {
		inner *= count[cut]
	}
	copy(b.count, count)
	for i := range cut {
		b.count[i] = 1
	}
	if cut < 0 {
		b.n = 1
		return f(b)
	}
	per := max(1, most/inner)
	for {
		for at := int64(0); at < count[cut]; at += per {
			b.start[cut], b.count[cut] = at, min(per, count[cut]-at)
			b.n = b.count[cut] * inner
			if err := f(b); err != nil {
				return err
			}
		}
		i := cut - 1
		for ; i >= 0; i-- {
			if b.start[i]++; b.start[i] < count[i] {
				break
			}
			b.start[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}
