package main

import (
	"context"
	"encoding/binary"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// pieceLen is how many bytes of values are in memory at once, about: for each
// variable of a table one piece. A variable for tests.
var pieceLen int64 = 8 << 20

// selected is a selection of a variable.
type selected struct {
	arg  string
	v    *cdf3.Var
	num  int // of the variable
	axes []axis
	arr  slab.Array
	size int64     // bytes of a value as stored
	un   *unpacker // nil: values as stored
}

// newSelected applies a VAR argument to a file.
func newSelected(f *archive.File, p *picked, unpack bool) (*selected, error) {
	h := f.Header()
	num, err := findVar(h, p.name)
	if err != nil {
		return nil, err
	}
	v := &h.Vars[num]
	axes, err := p.resolve(h, v)
	if err != nil {
		return nil, err
	}
	return selectAxes(f, p.arg, num, axes, unpack)
}

func selectAxes(f *archive.File, arg string, num int, axes []axis, unpack bool) (*selected, error) {
	v := &f.Header().Vars[num]
	s := &selected{arg: arg, v: v, num: num, axes: axes, arr: f.Array(num), size: v.Type.Size()}
	var err error
	if unpack {
		s.un, err = newUnpacker(v)
	}
	return s, err
}

// kept is the numbers of the axes that are dimensions of the result.
func (s *selected) kept() []int {
	out := make([]int, 0, len(s.axes))
	for i := range s.axes {
		if s.axes[i].keep {
			out = append(out, i)
		}
	}
	return out
}

// shape of the result, and the number of its values.
func (s *selected) shape() (shape []int64, n int64) {
	shape, n = []int64{}, 1
	for _, i := range s.kept() {
		shape = append(shape, s.axes[i].count)
		n *= s.axes[i].count
	}
	return shape, n
}

// outType is the type of the values that are written.
func (s *selected) outType() cdf3.Type {
	if s.un != nil {
		return cdf3.Double
	}
	return s.v.Type
}

// box is a part of a result: in each of some axes a range of positions.
type box struct {
	start, count []int64
	n            int64 // positions
}

// eachBox cuts a result into boxes of at most most positions, which follow each
// other in row-major order. The box is reused.
func eachBox(count []int64, most int64, f func(*box) error) error {
	b := &box{start: make([]int64, len(count)), count: make([]int64, len(count))}
	for _, n := range count {
		if n == 0 {
			return nil
		}
	}
	// Behind dimension cut whole, before it one by one.
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

// part is the selection of the values in a box of some axes; the others are whole.
func (s *selected) part(axes []int, b *box) slab.Sel {
	n := len(s.axes)
	mem := make([]int64, 3*n)
	p := slab.Sel{Start: mem[:n:n], Count: mem[n : 2*n : 2*n], Stride: mem[2*n:]}
	for i := range s.axes {
		a := &s.axes[i]
		p.Start[i], p.Count[i], p.Stride[i] = a.start, a.count, a.delta
	}
	if b != nil {
		for k, i := range axes {
			p.Start[i] += b.start[k] * p.Stride[i]
			p.Count[i] = b.count[k]
		}
	}
	return p
}

// Types whose size is all that matters to slab: the bytes of any type.
type (
	word1 uint8
	word2 uint16
	word4 uint32
	word8 uint64
)

// scratchBytes is memory that reads use again and again.
type scratchBytes struct {
	w1  []word1
	w2  []word2
	w4  []word4
	w8  []word8
	b   []byte // as stored
	out []byte // unpacked
}

func resize[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}

// read reads n values as they are written to files: big-endian, as stored or
// unpacked. What it returns is good until the next read with the same scratch.
func (s *selected) read(ctx context.Context, p slab.Sel, n int64, m *scratchBytes) ([]byte, error) {
	var err error
	m.b = resize(m.b, n*s.size)
	switch s.size {
	case 1:
		m.w1 = resize(m.w1, n)
		if err = slab.ReadInto(ctx, s.arr, m.w1, p); err == nil {
			for i, w := range m.w1 {
				m.b[i] = byte(w)
			}
		}
	case 2:
		m.w2 = resize(m.w2, n)
		if err = slab.ReadInto(ctx, s.arr, m.w2, p); err == nil {
			for i, w := range m.w2 {
				binary.BigEndian.PutUint16(m.b[2*i:], uint16(w))
			}
		}
	case 4:
		m.w4 = resize(m.w4, n)
		if err = slab.ReadInto(ctx, s.arr, m.w4, p); err == nil {
			for i, w := range m.w4 {
				binary.BigEndian.PutUint32(m.b[4*i:], uint32(w))
			}
		}
	default:
		m.w8 = resize(m.w8, n)
		if err = slab.ReadInto(ctx, s.arr, m.w8, p); err == nil {
			for i, w := range m.w8 {
				binary.BigEndian.PutUint64(m.b[8*i:], uint64(w))
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if s.un != nil {
		m.out = resize(m.out, 8*n)
		s.un.unpack(m.out, m.b)
		return m.out, nil
	}
	return m.b, nil
}

// pieces reads all values, in row-major order, and gives them to f piece by
// piece as read returns them.
func (s *selected) pieces(ctx context.Context, m *scratchBytes, f func([]byte) error) error {
	axes := s.kept()
	shape, _ := s.shape()
	return eachBox(shape, max(1, pieceLen/s.outType().Size()), func(b *box) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := s.read(ctx, s.part(axes, b), b.n, m)
		if err != nil {
			return err
		}
		return f(data)
	})
}
