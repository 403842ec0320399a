package kernels

import "math"

// The functions here are the encoder's side of the mode contexts (docs/LORENZ.md, section 17). Elements are in steps of 16,
// one of each stripe. Marks are classes, with signs and perhaps [Hidden]. All functions that report false do nothing.

// Hidden is the bit of a mark for masked elements.
const Hidden = 1 << 13

// Certain is the symbol that tells nothing: of masked elements, and of stripes that have ended.
const Certain = 16 << 7

// Classes sets the magnitudes and marks of at least n steps: element j of stripe q is that of starts[q] + j in line. It may read
// 15 elements of line after these, and set 7 steps more.
func Classes(mags []float32, marks []uint16, line []uint32, starts *[16]int, n int) bool {
	return classesFast(mags, marks, line, starts, n)
}

// Cover gives elements that are not active the magnitude of the one before them in their stripe, and the first ones those
// of before. Their marks become hidden.
func Cover(mags []float32, marks, active []uint16, before []float32) {
	if coverFast(mags, marks, active, before) {
		return
	}
	for i, a := range active {
		if a == 0 {
			if mags[i], marks[i] = before[i%16], 1<<SignShift|Hidden; i >= 16 {
				mags[i] = mags[i-16]
			}
		}
	}
}

// Expectations sets dst to the expectations of the elements of a row from the sums for other neighbours, and from W and WW
// with their weights. The magnitudes before the first step are those of the row before, north.
func Expectations(dst []uint16, sums, mags, north []float32, w, ww float32) {
	if expectationsFast(dst, sums, mags, north, w, ww) {
		return
	}
	for i := range dst {
		m1 := north[i%16]
		m2 := m1
		if i >= 16 {
			m1 = mags[i-16]
		}
		if i >= 32 {
			m2 = mags[i-32]
		}
		// Products are exact, so that it does not matter whether they are fused with sums.
		v := sums[i] + ww*m2
		v += 1
		v += w * m1
		dst[i] = uint16(math.Float32bits(v)>>19 - 2032)
	}
}

// Symbols replaces expectations by symbols: context << 7 | class. The context is the number of bounds that are below the
// expectation, of which there are count, each for all stripes, and the others are the greatest number.
func Symbols(y, marks []uint16, bounds *[15][16]int16, count int) bool {
	return symbolsFast(y, marks, bounds, count)
}

// Sides sets dst to symbols of signs: the sum of the signs of W, N, B and NW times their factors, plus 3 times the class, at
// most 2, plus the sign. north and below are marks; north begins a step before N.
func Sides(dst, marks, north, below []uint16, factors *[4][16]uint16) {
	if sidesFast(dst, marks, north, below, factors) {
		return
	}
	f := [4]uint16{factors[0][0], factors[1][0], factors[2][0], factors[3][0]}
	for i := range dst {
		w := uint16(1)
		if i >= 16 {
			w = marks[i-16] >> SignShift
		}
		sum := f[0]*w + f[1]*(north[i+16]>>SignShift) + f[2]*(below[i]>>SignShift) + f[3]*(north[i]>>SignShift)
		dst[i] = sum + 3*min(marks[i]&127, 2) + marks[i]>>SignShift
	}
}

// Dot returns the sum of the products of the elements of two slices. It must be an int32.
func Dot(a, b []int16) int32 {
	done, sum := dotFast(a, b)
	b = b[done:len(a)]
	for i, v := range a[done:] {
		sum += int32(v) * int32(b[i])
	}
	return sum
}

// LowCount returns how many low bits residuals have, of as many as it can look at.
func LowCount(r []uint32) (done, count int) { return lowCountFast(r) }

// PutLow appends the low bits of residuals above t trailing zeros, as many as it can, and returns how many. n bits in acc, fewer
// than 8, come first, and what does not fill a byte is returned. dst must have room for 4 bytes a residual, and 8.
func PutLow(dst []byte, r []uint32, t uint, acc uint64, n uint) (to []byte, done int, rest uint64, left uint) {
	return putLowFast(dst, r, t, acc, n)
}

// Code is what encodes a symbol: its slots << 48, the first of these << 32, and [Reciprocal] of the slots.
func Code(slots, first uint32) uint64 {
	return uint64(slots)<<48 | uint64(first)<<32 | uint64(Reciprocal(slots))
}

// Reciprocal returns a number whose product with one of 32 bits is, without its 32 lowest bits, the quotient by d, or 1 less.
func Reciprocal(d uint32) uint32 { return uint32(min(1<<32/uint64(d), 1<<32-1)) }

// Encode encodes steps from the last one back: symbols of 2048 slots and sides of 32, with their codes. It writes words before
// words[end], returns where they start, and may write to 16 bytes before them.
func Encode(states *[16]uint32, symbols, sides []uint16, classes, signs []uint64, words []byte, end int) (start int, ok bool) {
	return encodeFast(states, symbols, sides, classes, signs, words, end)
}
