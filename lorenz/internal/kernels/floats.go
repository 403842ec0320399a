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

// Restore returns the bits of the float whose deviation from a prediction is r. The prediction
// is clamped.
func Restore(r uint32, p float32) uint32 {
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
		y[i] = Restore(y[i], p[i])
	}
}

// Rows is the most rows of Follow and Extend.
const Rows = 8

// Follow replaces the integers of rows by the bits of floats. Each prediction is the value
// before in the row, or 0, plus an element of sums, which has as many rows. Rows
// that are as long as the first one are faster.
func Follow(rows [][]uint32, sums [][]float32) {
	k := followFast(rows, sums)
	for alike(rows) {
		followFour((*[4][]uint32)(rows), (*[4][]float32)(sums), k)
		rows, sums = rows[4:], sums[4:]
	}
	for i, y := range rows {
		follow(y, sums[i], k)
	}
}

// Extend replaces the integers of rows by the bits of floats. Each prediction is the value
// before plus the step to it from the one before that. Values before the row are 0. Rows that
// are as long as the first one are faster.
func Extend(rows [][]uint32) {
	k := extendFast(rows)
	for alike(rows) {
		extendFour((*[4][]uint32)(rows), k)
		rows = rows[4:]
	}
	for _, y := range rows {
		extend(y, k)
	}
}

// Wave replaces the integers of Rows rows, which follow each other from element at on, by the bits of floats. There is a
// row before the first one. Each prediction is W + (N - NW), or with past, the distance of the plane before,
// W + ((N - NW) + ((P - PW) - (PN - PNW))). It does nothing and reports false if it cannot do more than one row at once.
//
// Each row is an element behind the one before it, so that it has what it needs of that.
func Wave(y []uint32, at, row, past int) bool {
	const first = Rows // of the first row, elements before those that are done at once, less 1
	n := (row - first - 1) &^ 7
	if !haveFast || n <= 0 {
		return false
	}
	for k := range Rows {
		wave(y, at+k*row, row, past, 0, first+1-k)
	}
	waveFast(y, at+first+1, row, past, n)
	for k := range Rows {
		wave(y, at+k*row, row, past, first+1-k+n, row)
	}
	return true
}

// wave does elements from..to of one row.
func wave(y []uint32, at, row, past, from, to int) {
	value := func(i int) float32 { return math.Float32frombits(y[at+i]) }
	var w, nw, pw, pnw float32
	if from > 0 {
		w, nw = value(from-1), value(from-1-row)
		if past > 0 {
			pw, pnw = value(from-1-past), value(from-1-past-row)
		}
	}
	for i := from; i < to; i++ {
		n := value(i - row)
		p := n - nw
		nw = n
		if past > 0 {
			v, vn := value(i-past), value(i-past-row)
			p += float32(float32(v-pw) - float32(vn-pnw))
			pw, pnw = v, vn
		}
		y[at+i] = Restore(y[at+i], w+p)
		w = value(i)
	}
}

// alike reports whether the first four rows are equally long.
func alike(rows [][]uint32) bool {
	return len(rows) >= 4 && len(rows[1]) == len(rows[0]) && len(rows[2]) == len(rows[0]) && len(rows[3]) == len(rows[0])
}

// before returns the value before element k of a row, 0 at the start.
func before(y []uint32, k int) float32 {
	if k < 1 {
		return 0
	}
	return math.Float32frombits(y[k-1])
}

// follow follows a row from element k on. Each value waits for the one before, so
// the cases in which Restore has more to do are left to branches, which the CPU predicts.
func follow(y []uint32, sums []float32, k int) {
	w := before(y, k)
	y, sums = y[k:], sums[k:]
	for i, s := range sums[:len(y)] {
		b := math.Float32bits(w + s)
		v := plus(b, y[i])
		if b<<1 > largestBits<<1 || int32(v^b) < 0 {
			v = Restore(y[i], w+s)
		}
		y[i] = v
		w = math.Float32frombits(v)
	}
}

// extend extends a row from element k on, as follow does.
func extend(y []uint32, k int) {
	w, ww := before(y, k), before(y, k-1)
	for i, r := range y[k:] {
		p := w + float32(w-ww)
		b := math.Float32bits(p)
		v := plus(b, r)
		if b<<1 > largestBits<<1 || int32(v^b) < 0 {
			v = Restore(r, p)
		}
		y[k+i] = v
		w, ww = math.Float32frombits(v), w
	}
}

// followFour follows four rows of the same length from element k on.
func followFour(rows *[4][]uint32, sums *[4][]float32, k int) {
	w0, w1, w2, w3 := before(rows[0], k), before(rows[1], k), before(rows[2], k), before(rows[3], k)
	n := len(rows[0])
	y0, y1, y2, y3 := rows[0][k:n], rows[1][k:n], rows[2][k:n], rows[3][k:n]
	n -= k
	s0, s1, s2, s3 := sums[0][k:][:n], sums[1][k:][:n], sums[2][k:][:n], sums[3][k:][:n]
	for i := range n {
		v0 := Restore(y0[i], w0+s0[i])
		v1 := Restore(y1[i], w1+s1[i])
		v2 := Restore(y2[i], w2+s2[i])
		v3 := Restore(y3[i], w3+s3[i])
		y0[i], y1[i], y2[i], y3[i] = v0, v1, v2, v3
		w0, w1, w2, w3 = math.Float32frombits(v0), math.Float32frombits(v1), math.Float32frombits(v2), math.Float32frombits(v3)
	}
}

// extendFour extends four rows of the same length from element k on.
func extendFour(rows *[4][]uint32, k int) {
	var w, ww [4]float32
	for i, y := range rows {
		w[i], ww[i] = before(y, k), before(y, k-1)
	}
	n := len(rows[0])
	y0, y1, y2, y3 := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
	w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
	p0, p1, p2, p3 := ww[0], ww[1], ww[2], ww[3]
	for i := k; i < n; i++ {
		v0 := Restore(y0[i], w0+float32(w0-p0))
		v1 := Restore(y1[i], w1+float32(w1-p1))
		v2 := Restore(y2[i], w2+float32(w2-p2))
		v3 := Restore(y3[i], w3+float32(w3-p3))
		y0[i], y1[i], y2[i], y3[i] = v0, v1, v2, v3
		p0, p1, p2, p3 = w0, w1, w2, w3
		w0, w1, w2, w3 = math.Float32frombits(v0), math.Float32frombits(v1), math.Float32frombits(v2), math.Float32frombits(v3)
	}
}
