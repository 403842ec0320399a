package references

import (
	"math"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Finder chooses references. It keeps buffers between calls.
type Finder[T entropy.Lane] struct {
	Codes []uint32 // the result of Find
	Diffs []T

	y       []T
	signs   bool
	strides []int
	last    recents
	head    [nKeys][]int32
	prev    [nKeys][]int32
	shift   [nKeys]uint
	hash    int // bits of a hash
}

// Numbers are looked up by their upper bits, of two lengths.
const (
	nKeys   = 2
	maxHash = 14 // bits
)

// Estimated bits, in tenths: of the code of another distance than those used last, and of a difference. To
// both, their bit length is added.
const (
	otherBits = 40
	diffBits  = 30
	equalBits = 5 // of a difference of 0, the least
	signBits  = 5 // of a complement
)

// recentBits are the estimated bits of the codes of recent distances, in tenths.
var recentBits = [recent]int{7, 25, 35}

// ref is a choice for a number.
type ref[T entropy.Lane] struct {
	code uint32
	dist int
	diff T
	bits int // estimated, in tenths
}

// Find chooses the references of numbers. With signs, they may refer to complements.
// strides are likely distances, depth is how many places are tried for each key.
func (f *Finder[T]) Find(y []T, signs bool, strides []int, depth int) {
	f.reset(y, signs, strides)
	f.Codes, f.Diffs = entropy.Grow(f.Codes, len(y)), entropy.Grow(f.Diffs, len(y))
	for i := range y {
		r := f.best(i, depth)
		f.enter(i)
		f.Codes[i], f.Diffs[i] = r.code, r.diff
	}
}

// Estimate returns the bits for each number of a number of runs of y of a length. They refer to
// numbers of the same run, or with far to all numbers before. It does not visit all runs if the
// first ones take far more than limit.
func (f *Finder[T]) Estimate(y []T, signs, far bool, strides []int, runs, length int, limit float64) float64 {
	if len(y) <= runs*length {
		runs, length = 1, len(y)
	}
	sum, n, entered := 0, 0, 0
	most := 1.25
	if far {
		most = 2 // the first ones have few numbers before them
		f.reset(y, signs, strides)
	}
	for k := range runs {
		lo := (2*k+1)*len(y)/(2*runs) - length/2
		hi := lo + length
		if !far {
			f.reset(y[lo:hi], signs, strides)
			lo, hi = 0, length
		}
		for ; far && entered < lo; entered++ {
			f.enter(entered)
		}
		for i := lo; i < hi; i++ {
			sum += f.best(i, 1).bits
			f.enter(i)
		}
		entered = hi
		if n += length; float64(sum) > 10*most*limit*float64(n) {
			break
		}
	}
	return float64(sum) / float64(10*n)
}

func (f *Finder[T]) reset(y []T, signs bool, strides []int) {
	f.y, f.signs, f.strides, f.last = y, signs, strides, newRecents()
	// With signs, numbers are floats: sign, exponent and 16 or 6 bits of the mantissa, or
	// 15 and 9 bits of it.
	switch {
	case entropy.LaneBits[T]() == 64:
		f.shift = [nKeys]uint{36, 46}
	case signs:
		f.shift = [nKeys]uint{8, 14}
	default:
		f.shift = [nKeys]uint{0, 4}
	}
	f.hash = min(bits.Len(uint(len(y)))+1, maxHash)
	for k := range f.head {
		f.head[k] = entropy.Grow(f.head[k], 1<<f.hash)
		for h := range f.head[k] {
			f.head[k][h] = -1
		}
		f.prev[k] = entropy.Grow(f.prev[k], len(y))
	}
}

// slot returns the place of a number in a table. Numbers and their complements share it.
func (f *Finder[T]) slot(v T, key int) uint64 {
	if f.signs && v>>(entropy.LaneBits[T]()-1) == 0 {
		v = ^v
	}
	return uint64(v>>f.shift[key]) * 0x9E3779B97F4A7C15 >> (64 - f.hash)
}

// enter adds a number to the tables.
func (f *Finder[T]) enter(i int) {
	for k := range f.head {
		h := f.slot(f.y[i], k)
		f.prev[k][i], f.head[k][h] = f.head[k][h], int32(i)
	}
}

// best returns the best reference for number i, and uses it.
func (f *Finder[T]) best(i, depth int) ref[T] {
	r := ref[T]{bits: math.MaxInt}
	for code, d := range f.last {
		f.try(&r, i, d, uint32(code), recentBits[code])
	}
	// other tries another distance. It returns false if neither this one nor a longer one can be better.
	other := func(d int) bool {
		cost := 10*bits.Len(uint(d)) + otherBits
		if cost+equalBits >= r.bits {
			return false
		}
		f.try(&r, i, d, uint32(d)+recent, cost)
		return true
	}
	for d := 1; d <= 4 && other(d); d++ {
	}
	for _, d := range f.strides {
		other(d)
	}
	for k := range f.head {
		p := f.head[k][f.slot(f.y[i], k)]
		for n := 0; n < depth && p >= 0 && other(i-int(p)); n++ {
			p = f.prev[k][p]
		}
	}
	code := r.code
	if f.signs {
		code >>= 1
	}
	f.last.use(code, r.dist)
	return r
}

// try makes r the reference at a distance if that takes fewer bits.
func (f *Finder[T]) try(r *ref[T], i, dist int, code uint32, cost int) {
	from := T(0)
	if dist > i {
		if dist > i+1 {
			return
		}
	} else {
		from = f.y[i-dist]
	}
	diff := f.y[i] - from
	if b := cost + bitsOf(diff); b < r.bits {
		*r = ref[T]{code, dist, diff, b}
		if f.signs {
			r.code <<= 1
		}
	}
	if !f.signs {
		return
	}
	diff = f.y[i] - ^from
	if b := cost + signBits + bitsOf(diff); b < r.bits {
		*r = ref[T]{code<<1 | 1, dist, diff, b}
	}
}

// bitsOf estimates the bits of a difference, in tenths.
func bitsOf[T entropy.Lane](v T) int {
	if v == 0 {
		return equalBits
	}
	neg := -(v >> (entropy.LaneBits[T]() - 1))
	return 10*bits.Len64(uint64(v^neg)) + diffBits
}
