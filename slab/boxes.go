package slab

import (
	"context"
	"iter"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Shaped is implemented by the Values of an Array that is stored in blocks of one
// shape, cut off at the end of each dimension.
type Shaped interface{ BlockShape() []int64 }

// walkTarget is the size in bytes of the boxes of an array without blocks.
const walkTarget = 256 << 10

// Walk reads an array box by box, in row-major order, and calls f with the first index,
// the lengths and the values of each box. The boxes are the blocks of an archive, or
// about 256 KiB of a classic file, so that memory is bounded and nothing is decoded
// twice. A box need not hold whole rows, and the last one in each dimension may be shorter. T
// must be the array's own type, as for Read. The slices are reused: f must not keep them. An
// error from f ends the walk and is returned.
func Walk[T cdf3.Number](ctx context.Context, a Array, f func(start, count []int64, values []T) error) error {
	boxes, err := boxesOf[T](a)
	if err != nil {
		return err
	}
	var values []T
	for start, count := range boxes {
		if values, err = readBox(ctx, a, values, start, count); err == nil {
			err = f(start, count, values)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WalkParallel is Walk on up to workers goroutines, or GOMAXPROCS for 0, which read and call f for
// different boxes at the same time, in no order. Results that the calls share need a lock. An
// error ends the walk, and the first one is returned after all calls have.
func WalkParallel[T cdf3.Number](ctx context.Context, a Array, workers int, f func(start, count []int64, values []T) error) error {
	boxes, err := boxesOf[T](a)
	if err != nil {
		return err
	}
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	type box struct{ start, count []int64 }
	queue := make(chan box)
	group, running := errgroup.WithContext(ctx)
	for range workers {
		group.Go(func() error {
			var values []T
			for b := range queue {
				var err error
				if values, err = readBox(running, a, values, b.start, b.count); err == nil {
					err = f(b.start, b.count, values)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	func() {
		defer close(queue)
		for start, count := range boxes {
			select {
			case queue <- box{slices.Clone(start), slices.Clone(count)}:
			case <-running.Done():
				return
			}
		}
	}()
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// readBox reads the values of a box, into values if they fit.
func readBox[T cdf3.Number](ctx context.Context, a Array, values []T, start, count []int64) ([]T, error) {
	if err := ctx.Err(); err != nil { // some readers do not look at it
		return nil, err
	}
	n := int64(1)
	for _, c := range count {
		n *= c
	}
	values = slices.Grow(values[:0], int(n))[:n]
	return values, ReadInto(ctx, a, values, Sel{Start: start, Count: count})
}

// boxesOf returns the boxes of an array: the first index and the lengths of each, in slices that are
// reused.
func boxesOf[T cdf3.Number](a Array) (iter.Seq2[[]int64, []int64], error) {
	if err := checkType[T](a); err != nil {
		return nil, err
	}
	shape := a.Shape()
	total, err := Len(a)
	if err != nil {
		return nil, err
	}
	var box []int64
	if total > 0 {
		if box, err = boxShape(a); err != nil {
			return nil, err
		}
	}
	return func(yield func(start, count []int64) bool) {
		start, count := make([]int64, len(shape)), make([]int64, len(shape))
		for more := total > 0; more; more = next(start, box, shape) {
			for i := range count {
				count[i] = min(box[i], shape[i]-start[i])
			}
			if !yield(start, count) {
				return
			}
		}
	}, nil
}

// next moves start to the next box. It returns false after the last one.
func next(start, box, shape []int64) bool {
	for i := len(start) - 1; i >= 0; i-- {
		if start[i] += box[i]; start[i] < shape[i] {
			return true
		}
		start[i] = 0
	}
	return false
}

// boxShape returns the shape of the boxes of a walk.
func boxShape(a Array) ([]int64, error) {
	shape := a.Shape()
	if s, ok := a.Values().(Shaped); ok {
		box := s.BlockShape()
		return box, inSlab(a, checkBlock(shape, box))
	}
	box := make([]int64, len(shape))
	room := max(1, walkTarget/a.Type().Size())
	for i := len(box) - 1; i >= 0; i-- {
		box[i] = max(1, min(shape[i], room))
		room /= box[i]
	}
	return box, nil
}
