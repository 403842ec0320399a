package dap

import (
	"context"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// piece is the number of values that are read at once.
const piece = 32 << 10

// each reads a selection in row-major order, in pieces. f must not keep the slice.
func each[T cdf3.Number](ctx context.Context, a slab.Array, sel slab.Sel, f func([]T) error) error {
	var values []T
	return boxes(sel.Count, func(off, count []int64, n int64) error {
		if values == nil {
			values = make([]T, min(piece, n))
		}
		if int64(len(values)) < n {
			values = make([]T, n)
		}
		at := make([]int64, len(off))
		for i := range at {
			at[i] = sel.Start[i] + off[i]*sel.Stride[i]
		}
		if err := slab.ReadInto(ctx, a, values[:n], slab.Sel{Start: at, Count: count, Stride: sel.Stride}); err != nil {
			return err
		}
		return f(values[:n])
	})
}

// boxes cuts an array into boxes of up to piece elements, which follow each other in
// row-major order. f gets the first index, the lengths and the number of elements of each.
func boxes(shape []int64, f func(off, count []int64, n int64) error) error {
	off, box := make([]int64, len(shape)), make([]int64, len(shape))
	for _, n := range shape {
		if n == 0 {
			return nil
		}
	}
	room := int64(piece)
	for i := len(shape) - 1; i >= 0; i-- {
		box[i] = max(1, min(shape[i], room))
		if box[i] < shape[i] {
			room = 1
		} else {
			room /= box[i]
		}
	}
	count := make([]int64, len(shape))
	for {
		n := int64(1)
		for i := range count {
			count[i] = min(box[i], shape[i]-off[i])
			n *= count[i]
		}
		if err := f(off, count, n); err != nil {
			return err
		}
		i := len(shape) - 1
		for ; i >= 0; i-- {
			if off[i] += box[i]; off[i] < shape[i] {
				break
			}
			off[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// full returns a selection with the last dimension of text.
func (r *Request) full(a *array) slab.Sel {
	v := &r.d.vars[a.v]
	if v.v.Type != cdf3.Char || len(v.v.Shape) == 0 {
		return a.sel
	}
	add := func(list []int64, n int64) []int64 { return append(list[:len(list):len(list)], n) }
	return slab.Sel{Start: add(a.sel.Start, 0), Count: add(a.sel.Count, v.text), Stride: add(a.sel.Stride, 1)}
}

// count returns the number of elements of an array, or more than maxCount if it is more.
func (a *array) count() int64 {
	n := int64(1)
	for _, c := range a.sel.Count {
		if c == 0 {
			return 0
		}
	}
	for _, c := range a.sel.Count {
		if n *= c; n > maxCount {
			return n
		}
	}
	return n
}
