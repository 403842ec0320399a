package slab

import (
	"context"
)

// Shaped is implemented by the Values of an Array that is stored in blocks of one
// shape, cut off at the end of each dimension.
type Shaped interface{ BlockShape() []int64 }

// walkTarget is the size in bytes of the boxes of an array without blocks.
const walkTarget = 256 << 10

// Walk reads an array box by box, in row-major order, and calls f with the first index,
// the lengths and the values of each box. The boxes are the blocks of an archive, or
// about 256 KiB of a classic file, so that memory is bounded and nothing is decoded
// twice. The slices are reused: f must not keep them. An error from f ends the walk and
// is returned.
func Walk[T Number](ctx context.Context, a Array, f func(start, count []int64, values []T) error) error {
	if err := checkType[T](a); err != nil {
		return err
	}
	shape := a.Shape()
	if n, err := Len(a); err != nil || n == 0 {
		return err
	}
	box, err := boxShape(a)
	if err != nil {
		return err
	}
	rank := len(shape)
	start, count := make([]int64, rank), make([]int64, rank)
	var values []T
	for {
		n := int64(1)
		for i := range count {
			count[i] = min(box[i], shape[i]-start[i])
			n *= count[i]
		}
		if int64(cap(values)) < n {
			values = make([]T, n)
		}
		if err := ReadInto(ctx, a, values[:n], Sel{Start: start, Count: count}); err != nil {
			return err
		}
		if err := f(start, count, values[:n]); err != nil {
			return err
		}
		i := rank - 1
		for ; i >= 0; i-- {
			if start[i] += box[i]; start[i] < shape[i] {
				break
			}
			start[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// boxShape returns the shape of the boxes of a walk.
func boxShape(a Array) ([]int64, error) {
	shape := a.Shape()
	if s, ok := a.Values().(Shaped); ok {
		box := s.BlockShape()
		return box, checkBlock(shape, box)
	}
	box := make([]int64, len(shape))
	room := max(1, walkTarget/a.Type().Size())
	for i := len(box) - 1; i >= 0; i-- {
		box[i] = max(1, min(shape[i], room))
		room /= box[i]
	}
	return box, nil
}
