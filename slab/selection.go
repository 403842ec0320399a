package slab

import (
	"fmt"
	"math"
)

// Sel selects a hyperslab: the indices Start[i] + k*Stride[i] for 0 <= k < Count[i] in
// each dimension i. A nil Start means 0, a nil Count all remaining indices, and a nil
// Stride 1. A stride may be negative but not 0. The selected values are in row-major
// order of k.
type Sel struct{ Start, Count, Stride []int64 }

// maxRank is the highest rank that is read without allocations.
const maxRank = 8

// dim is one dimension of a checked selection.
type dim struct{ len, start, count, stride int64 }

// resolve checks a selection against a shape and completes it. It returns the
// dimensions, in buf if they fit, and the number of selected elements.
func (s *Sel) resolve(shape []int64, buf []dim) ([]dim, int64, error) {
	for _, p := range [...][]int64{s.Start, s.Count, s.Stride} {
		if p != nil && len(p) != len(shape) {
			return nil, 0, fmt.Errorf("start, count or stride of %d dimensions for an array of %d: %w", len(p), len(shape), ErrRank)
		}
	}
	total := int64(1)
	dims := buf[:0]
	for i, n := range shape {
		if n < 0 {
			return nil, 0, fmt.Errorf("dimension %d has length %d: %w", i, n, ErrBounds)
		}
		d := dim{len: n, stride: 1}
		if s.Start != nil {
			d.start = s.Start[i]
		}
		if s.Stride != nil {
			d.stride = s.Stride[i]
		}
		if d.stride == 0 || d.stride == math.MinInt64 {
			return nil, 0, fmt.Errorf("stride %d in dimension %d: %w", d.stride, i, ErrStride)
		}
		if s.Count != nil {
			d.count = s.Count[i]
		} else {
			d.count = d.rest()
		}
		if err := d.check(); err != nil {
			return nil, 0, fmt.Errorf("dimension %d: %w", i, err)
		}
		if d.count > 0 && total > math.MaxInt64/8/d.count {
			return nil, 0, fmt.Errorf("more elements than can be counted: %w", ErrBounds)
		}
		total *= d.count
		dims = append(dims, d)
	}
	return dims, total, nil
}

// rest returns the number of indices from start on.
func (d *dim) rest() int64 {
	switch {
	case d.start < 0 || d.start >= d.len:
		return 0
	case d.stride > 0:
		return (d.len-1-d.start)/d.stride + 1
	}
	return d.start/-d.stride + 1
}

// check compares the indices with the length. An empty count may start at the end,
// as in netCDF.
func (d *dim) check() error {
	if d.start < 0 || d.start > d.len || d.count < 0 {
		return fmt.Errorf("start %d, count %d of %d: %w", d.start, d.count, d.len, ErrBounds)
	}
	if d.count > d.rest() {
		return fmt.Errorf("start %d, count %d, stride %d of %d: %w", d.start, d.count, d.stride, d.len, ErrBounds)
	}
	return nil
}

// within returns the positions [lo, hi) of the selection whose indices lie in
// [from, to).
func (d *dim) within(from, to int64) (lo, hi int64) {
	if d.stride > 0 {
		lo, hi = ceilDiv(from-d.start, d.stride), ceilDiv(to-d.start, d.stride)
	} else {
		lo, hi = ceilDiv(d.start-to+1, -d.stride), ceilDiv(d.start-from+1, -d.stride)
	}
	lo, hi = min(max(lo, 0), d.count), min(max(hi, 0), d.count)
	return lo, max(lo, hi)
}

// ceilDiv returns a/b rounded up, for b > 0.
func ceilDiv(a, b int64) int64 {
	if a <= 0 {
		return -(-a / b)
	}
	return (a-1)/b + 1
}

// Len returns the number of elements that s selects from an array of this shape.
func (s Sel) Len(shape []int64) (int64, error) {
	var buf [maxRank]dim
	_, n, err := s.resolve(shape, buf[:])
	return n, inSlab(nil, err)
}

// Grid calls yield for each block that holds selected elements, in row-major order,
// until it returns false. Blocks of the given shape tile the array and are cut off at
// its ends. yield gets the index of the block in the grid, in a slice that is reused,
// and the smallest range [lo, hi) of its elements, counted in row-major order, that
// holds the selected ones.
func (s Sel) Grid(shape, block []int64, yield func(grid []int64, lo, hi int64) bool) error {
	var buf [maxRank]dim
	dims, n, err := s.resolve(shape, buf[:])
	if err == nil {
		err = checkBlock(shape, block)
	}
	if err != nil || n == 0 {
		return inSlab(nil, err)
	}
	grid := make([]int64, len(dims))
	var walk func(i int, first, last int64) bool
	walk = func(i int, first, last int64) bool {
		if i == len(dims) {
			return yield(grid, first, last+1)
		}
		d := &dims[i]
		a, b := d.ends(0, d.count)
		for g := a / block[i]; g <= b/block[i]; g++ {
			from := g * block[i]
			to := from + min(block[i], d.len-from)
			lo, hi := d.within(from, to)
			if lo == hi {
				// A stride may step over any number of whole blocks.
				next, _ := d.ends(d.within(to, d.len))
				g = next/block[i] - 1
				continue
			}
			x, y := d.ends(lo, hi)
			grid[i] = g
			if !walk(i+1, first*(to-from)+x-from, last*(to-from)+y-from) {
				return false
			}
		}
		return true
	}
	walk(0, 0, 0)
	return nil
}

// ends returns the least and the greatest index of the positions [lo, hi), which must
// not be empty.
func (d *dim) ends(lo, hi int64) (least, greatest int64) {
	a, b := d.start+lo*d.stride, d.start+(hi-1)*d.stride
	return min(a, b), max(a, b)
}

// checkBlock checks the shape of the blocks of an array.
func checkBlock(shape, block []int64) error {
	bad := len(block) != len(shape)
	for _, n := range block {
		bad = bad || n < 1
	}
	if bad {
		return fmt.Errorf("expected a block of %d dimensions of at least 1, found %v: %w", len(shape), block, ErrRank)
	}
	return nil
}
