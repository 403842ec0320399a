package kernels

import "slices"

// MaxBack is the most distances of a Back.
const MaxBack = 15

// Back holds the distances to the neighbours from which numbers are predicted: those that are
// added, and then those that are subtracted. The zero value has none.
type Back struct {
	dist        [MaxBack]int
	plus, minus int
	least, most int
}

// Set sets the distances, at least 1 each and at most MaxBack of them.
func (b *Back) Set(plus, minus []int) {
	b.plus = copy(b.dist[:], plus)
	b.minus = copy(b.dist[b.plus:], minus)
	if all := b.dist[:b.plus+b.minus]; len(all) > 0 {
		b.least, b.most = slices.Min(all), slices.Max(all)
	} else {
		b.least, b.most = leastBack, 0
	}
}

// Predict sets the numbers from place i to the end of y, in ascending order, to the predictions
// from their neighbours, to which c, c + step, c + 2 × step and so on are added. All neighbours
// exist.
func Predict[T uint32 | uint64](y []T, i int, b *Back, c, step T) {
	if i >= len(y) {
		return
	}
	if narrow, ok := any(y).([]uint32); ok && haveFast && b.least >= leastBack && b.most <= i {
		predictFast(narrow, i, b, uint32(c), uint32(step))
		return
	}
	for ; i < len(y); i++ {
		y[i] = c + predicted(y, i, b)
		c += step
	}
}

// Deviation returns a number less its prediction from its neighbours, which all exist.
func Deviation[T uint32 | uint64](y []T, i int, b *Back) T { return y[i] - predicted(y, i, b) }

func predicted[T uint32 | uint64](y []T, i int, b *Back) (v T) {
	for _, d := range b.dist[:b.plus] {
		v += y[i-d]
	}
	for _, d := range b.dist[b.plus:][:b.minus] {
		v -= y[i-d]
	}
	return v
}

// leastBack is the least distance for which there is assembly.
const leastBack = 8
