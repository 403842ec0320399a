package kernels

import (
	"math"
	"math/bits"
)

// Float is the type of the values of a float predictor.
type Float interface{ float32 | float64 }

// Largest is the largest prediction, and -Largest the smallest. Part of the format.
const Largest = 1e37

// largestBits are the bits of Largest as a float.
const largestBits = 0x7CF0BDC2

// Clamp replaces predictions that are too large or NaN by +0.
func Clamp[F Float](p F) F {
	if p <= Largest && p >= -Largest {
		return p
	}
	return 0
}

// Ordered maps the bits of a float to an integer of the same order.
func Ordered[T uint32 | uint64](u T) T {
	top := bits.Len64(uint64(^T(0))) - 1
	return u ^ (-(u >> top) | 1<<top)
}

// Unordered is the inverse of Ordered.
func Unordered[T uint32 | uint64](y T) T {
	top := bits.Len64(uint64(^T(0))) - 1
	return y ^ (-(^y >> top) | 1<<top)
}

// restore returns the bits of the float whose deviation from a prediction is r. The prediction
// is clamped.
func restore(r uint32, p float32) uint32 {
	b := math.Float32bits(p)
	if b<<1 > largestBits<<1 {
		b = 0
	}
	v := plus(b, r)
	if int32(v^b) < 0 {
		v ^= 1<<31 - 1
	}
	return v
}

// plus adds r to the ordered integer of a float, given and returned as bits, if the sign
// stays: that integer is the bits ^ 1<<31 if these are positive, and ^bits if not.
func plus(b, r uint32) uint32 {
	s := uint32(int32(b) >> 31)
	return b + (r ^ s - s)
}

// Steps sets dst to the differences between adjacent elements of a, which has one more.
func Steps[F Float](dst, a []F) {
	n := len(dst)
	a = a[:n+1]
	k := 0
	if d, ok := any(dst).([]float32); ok {
		k = stepsFast(d, any(a).([]float32))
	}
	dst = dst[k:]
	w := a[k]
	for i, x := range a[k+1:][:len(dst)] {
		dst[i] = x - w
		w = x
	}
}

// Corners sets dst to the steps of a plus the steps of b less those of c. These have one
// more element than dst.
func Corners[F Float](dst, a, b, c []F) {
	n := len(dst)
	a, b, c = a[:n+1], b[:n+1], c[:n+1]
	k := 0
	if d, ok := any(dst).([]float32); ok {
		k = cornersFast(d, any(a).([]float32), any(b).([]float32), any(c).([]float32))
	}
	for i := k; i < n; i++ {
		dst[i] = F(a[i+1]-a[i]) + F(F(b[i+1]-b[i])-F(c[i+1]-c[i]))
	}
}

// Across sets dst to a + (b - c).
func Across[F Float](dst, a, b, c []F) {
	n := len(dst)
	a, b, c = a[:n], b[:n], c[:n]
	k := 0
	if d, ok := any(dst).([]float32); ok {
		k = acrossFast(d, any(a).([]float32), any(b).([]float32), any(c).([]float32))
	}
	for i := k; i < n; i++ {
		dst[i] = a[i] + F(b[i]-c[i])
	}
}

// Deviations sets r to the ordered integers of the floats whose bits are in x, less those
// of the predictions p, which it clamps.
func Deviations(r, x []uint32, p []float32) {
	n := len(r)
	x, p = x[:n], p[:n]
	for i := deviationsFast(r, x, p); i < n; i++ {
		r[i] = Ordered(x[i]) - Ordered(math.Float32bits(Clamp(p[i])))
	}
}

// Deviate is the inverse of Deviations: it replaces integers by the bits of floats.
func Deviate(y []uint32, p []float32) {
	n := len(y)
	p = p[:n]
	for i := deviateFast(y, p); i < n; i++ {
		y[i] = restore(y[i], p[i])
	}
}

// Rows is the most rows of Follow.
const Rows = 8

// Follow replaces the integers of rows by the bits of floats. Each prediction is the value
// before in the row, or 0, plus an element of sums, which has as many rows. Rows
// that are as long as the first one are faster.
func Follow(rows [][]uint32, sums [][]float32) {
	k := followFast(rows, sums)
	for len(rows) >= 4 && k == 0 && len(rows[1]) == len(rows[0]) && len(rows[2]) == len(rows[0]) && len(rows[3]) == len(rows[0]) {
		four(rows, sums)
		rows, sums = rows[4:], sums[4:]
	}
	for i, y := range rows {
		w := float32(0)
		if k > 0 {
			w = math.Float32frombits(y[k-1])
		}
		follow(y[k:], sums[i][k:], w)
	}
}

// follow follows a row, given the value before it. Each value waits for the one before, so
// the cases in which restore has more to do are left to branches, which the CPU predicts.
func follow(y []uint32, sums []float32, w float32) {
	for i, s := range sums[:len(y)] {
		b := math.Float32bits(w + s)
		v := plus(b, y[i])
		if b<<1 > largestBits<<1 || int32(v^b) < 0 {
			v = restore(y[i], w+s)
		}
		y[i] = v
		w = math.Float32frombits(v)
	}
}

// Extend replaces the integers of a row by the bits of floats. Each prediction is the value
// before plus the step to it from the one before that. Values before the row are 0.
func Extend(y []uint32) {
	var w, ww float32
	for i, r := range y {
		p := w + float32(w-ww)
		b := math.Float32bits(p)
		v := plus(b, r)
		if b<<1 > largestBits<<1 || int32(v^b) < 0 {
			v = restore(r, p)
		}
		y[i] = v
		w, ww = math.Float32frombits(v), w
	}
}

// four follows four rows of the same length.
func four(rows [][]uint32, sums [][]float32) {
	n := len(rows[0])
	y0, y1, y2, y3 := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
	s0, s1, s2, s3 := sums[0][:n], sums[1][:n], sums[2][:n], sums[3][:n]
	var w0, w1, w2, w3 float32
	for i := range n {
		v0 := restore(y0[i], w0+s0[i])
		v1 := restore(y1[i], w1+s1[i])
		v2 := restore(y2[i], w2+s2[i])
		v3 := restore(y3[i], w3+s3[i])
		y0[i], y1[i], y2[i], y3[i] = v0, v1, v2, v3
		w0, w1, w2, w3 = math.Float32frombits(v0), math.Float32frombits(v1), math.Float32frombits(v2), math.Float32frombits(v3)
	}
}
