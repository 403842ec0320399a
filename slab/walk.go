package slab

import "context"

// Shaped is what an Array's ReaderAt may say of its blocks: the shape of all but
// the last ones of a dimension.
type Shaped interface{ BlockShape() []int64 }

// walkTarget is the size in bytes of the boxes of an array without blocks.
const walkTarget = 256 << 10

// Walk reads an array box by box, in row-major order of the boxes, and calls f with
// each: its first index, its length in each dimension, and its values. The boxes
// are the blocks of an archive, or about 256 KiB of a classic file, so that memory
// is bounded and nothing is decoded twice. The slices are reused: f must not keep
// them. An error of f ends the walk and is returned.
func Walk[T Number](ctx context.Context, a *Array, f func(start, count []int64, values []T) error) error {
	box := boxShape(a)
	rank := len(a.Shape)
	start, count := make([]int64, rank), make([]int64, rank)
	for _, n := range a.Shape {
		if n == 0 {
			return nil
		}
	}
	var values []T
	for {
		n := int64(1)
		for i := range count {
			count[i] = min(box[i], a.Shape[i]-start[i])
			n *= count[i]
		}
		if int64(cap(values)) < n {
			values = make([]T, n)
		}
		if err := ReadInto(ctx, a, values[:n], Selection{Start: start, Count: count}); err != nil {
			return err
		}
		if err := f(start, count, values[:n]); err != nil {
			return err
		}
		i := rank - 1
		for ; i >= 0; i-- {
			if start[i] += box[i]; start[i] < a.Shape[i] {
				break
			}
			start[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// boxShape is the shape of the boxes of a walk.
func boxShape(a *Array) []int64 {
	if s, ok := a.ReaderAt.(Shaped); ok {
		return s.BlockShape()
	}
	box := make([]int64, len(a.Shape))
	room := max(1, walkTarget/a.Type.Size())
	for i := len(box) - 1; i >= 0; i-- {
		box[i] = max(1, min(a.Shape[i], room))
		room /= box[i]
	}
	return box
}
