// Package divisors finds the common divisor of quotients: docs/LORENZ.md, section 4, ratio.
package divisors

import (
	"math"
	"slices"
)

// Find returns a number d for which the values in a sample of v are integers divided by d. It
// returns 0 if it finds no such number. The quotients were rounded to float32 if single is set,
// and to float64 otherwise.
func Find(v []float64, single bool) float64 {
	var sample [64]float64
	k := 0
	for i := range sample {
		x := v[(2*i+1)*len(v)/(2*len(sample))]
		if x != 0 && x-x == 0 {
			sample[k] = x
			k++
		}
	}
	if k < 8 {
		return 0
	}
	limit, most := float64(1<<51), 15
	if single {
		limit, most = 1<<22, 7
	}
	fits := func(d float64) bool {
		miss := 0
		for _, x := range sample[:k] {
			n := math.RoundToEven(x * d)
			if !(math.Abs(n) <= limit) || !Same(Round(n/d, single), x) {
				if miss++; miss > 1+k/32 {
					return false
				}
			}
		}
		return true
	}
	d := 1.0
	for range most {
		d *= 10
		if fits(d) {
			return d
		}
	}
	// The common multiples of the denominators of two values. Several fractions round
	// to the same float, so denominators are only certain for small values.
	const largest = 1 << 20
	var small []float64
	for i := range 512 {
		if x := math.Abs(v[(2*i+1)*len(v)/1024]); x > 0 && x-x == 0 {
			small = append(small, x)
		}
	}
	slices.Sort(small)
	var q []uint64
	for _, x := range slices.Compact(small) {
		if d := denominator(x, largest, single); d > 1 {
			q = append(q, d)
		}
		if len(q) == 24 {
			break
		}
	}
	n := len(q)
	best := uint64(largest + 1)
	for i := range n {
		for j := range i + 1 {
			l := q[i] / gcd(q[i], q[j]) * q[j]
			if l > 1 && l < best && fits(float64(l)) {
				best = l
			}
		}
	}
	if best <= largest {
		return float64(best)
	}
	return 0
}

// denominator returns the smallest denominator of a fraction that rounds to x,
// found by its continued fraction, or 0.
func denominator(x float64, most uint64, single bool) uint64 {
	x = math.Abs(x)
	p0, q0, p1, q1 := 0.0, 1.0, 1.0, 0.0
	f := x
	for range 40 {
		a := math.Floor(f)
		p0, p1 = p1, float64(a*p1)+p0
		q0, q1 = q1, float64(a*q1)+q0
		if q1 > float64(most) {
			return 0
		}
		if Same(Round(p1/q1, single), x) {
			return uint64(q1)
		}
		f -= a
		if f <= 0 {
			return 0
		}
		f = 1 / f
	}
	return 0
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Round rounds v to float32 if single.
func Round(v float64, single bool) float64 {
	if single {
		return float64(float32(v))
	}
	return v
}

// Same reports whether two values have the same bits and are not NaN, whose bits
// a conversion may change.
func Same(a, b float64) bool { return a == a && math.Float64bits(a) == math.Float64bits(b) }
