package kernels

// Row is the state of decoding a row in the mode contexts (docs/LORENZ.md, section 17). Arrays of 16 have an element for
// each stripe. Marks are classes, with [SignShift] signs.
type Row struct {
	States [16]uint32
	M1, M2 [16]float32 // magnitudes of W and WW
	West   [16]uint32  // 5 times the sign of W

	W, WW  [8]float32    // the weight of W, and that of WW, each in all elements
	Bounds [15][16]int16 // expectations as in [Bound], each in all elements; after the last one the greatest number
	Signs  [32]uint32    // for the signs 9 N + 3 B + NW: 5 bits for each W and class 1, and 16 bits above for others
	Slots  *uint32       // 2048 for each context: the magnitude | slots of its class - 1 << 11 | slots of the class before this one
	Words  *byte
	Left   int // bytes of words that are left

	// The first element of the row and of others, with 16 elements for each step.
	Sums   *float32 // of neighbours in earlier rows
	Mags   *float32
	Marks  *uint16
	North  *uint16 // marks
	Below  *uint16 // marks
	Active *uint16 // 0xffff for coded elements, 0 for masked ones; nil if none is masked
	Tail   *uint16 // the same of one step more, if Active is nil; nil for none

	N     int // steps, at least 1, without Tail
	Count int // of Bounds
}

// SignShift is where the sign of a mark is.
const SignShift = 14

// Bound returns the element of Bounds for a boundary.
func Bound(b int) int16 { return int16(b + 2032 - 1) }

// Steps decodes the steps of a row, as many as it can, which may be none, and returns how many. It reads up to 32 bytes
// of words. In a Tail, elements that are not coded are set to anything.
func (s *Row) Steps() int { return rowFast(s) }

// MostTaps is the most slices of [Neighbours].
const MostTaps = 10

// Neighbours sets dst to the sum of the elements of up to MostTaps slices, each times its factor, which must be exact.
// Elements after those of dst, up to a multiple of 8, must be there and may be set or read.
func Neighbours(dst []float32, from [][]float32, factors []float32) {
	if neighboursFast(dst, from, factors) {
		return
	}
	clear(dst)
	for k, factor := range factors {
		for i, v := range from[k][:len(dst)] {
			dst[i] += factor * v
		}
	}
}

// Ramp sets n elements to first and the numbers after it. Elements after them, up to a multiple of 8, must be there and may be set.
func Ramp(dst []uint32, first uint32, n int) {
	if rampFast(dst, first, n) {
		return
	}
	for i := range dst[:n] {
		dst[i] = first + uint32(i)
	}
}

// Edges copies the columns next to each stripe beside it: two before its first element and two after its last one. at is
// the first element of the first stripe. The first stripes, longer of them, have seg + 1 elements, others seg, at least 2.
func Edges(mags []float32, marks []uint16, at, seg, longer int) {
	if edgesFast(mags, marks, at, seg, longer) {
		return
	}
	move := func(to, from, n int) {
		copy(mags[to:to+n], mags[from:from+n])
		copy(marks[to:to+n], marks[from:from+n])
	}
	for k := 1; k <= 2; k++ {
		// Of the stripe before, the last elements; of the first one, its first.
		to, from := at-k*16, at+(seg-k)*16
		move(to, at, 1)
		move(to+1, from+16, longer)
		move(to+1+longer, from+longer, 15-longer)
	}
	for k := range 2 {
		// Of the stripe after, the first elements; of the last one, its last.
		from, end := at+k*16, at+(seg+k)*16
		move(end+longer, from+longer+1, 15-longer)
		move(end+16, from+1, longer)
		move(end+15, at+seg*16-1, 1)
	}
}

// Active sets dst to 0 for the elements of 16 stripes whose bit is set in masked, and to 0xffff for others. starts are the bits
// of the first elements, of which each stripe has n. It does none if it cannot.
func Active(dst []uint16, masked []uint64, starts *[16]int, n int) bool {
	return activeFast(dst, masked, starts, n)
}

// Stripes writes the marks of steps to dst, those of each stripe one after the other. starts are where the 16 stripes
// begin. All have at least n steps. It does none if it cannot.
func Stripes(dst []uint16, starts *[16]int, marks []uint16, n int) bool {
	return stripesFast(dst, starts, marks, n)
}

// LowBits32 makes residuals of marks, low bits from bit pos on and t trailing zeros, as many as it can, and returns
// how many, and the bit after theirs. most is the most low bits of a residual, at most 30.
func LowBits32(dst []uint32, marks []uint16, low []byte, pos, t, most int) (done, end int) {
	return lowBits32Fast(dst, marks, low, pos, t, most)
}

// LowBits64 is LowBits32 for residuals of 64 bits, of which any may have up to 62 low bits.
func LowBits64(dst []uint64, marks []uint16, low []byte, pos, t, most int) (done, end int) {
	return lowBits64Fast(dst, marks, low, pos, t, most)
}
