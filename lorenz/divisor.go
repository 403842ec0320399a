package lorenz

import (
	"math"
	"slices"
)

// maxDivisor is the largest divisor of mapRatio. Part of the format.
const maxDivisor = 1 << 53

// divisor finds the divisor of a sample, 0 if there is none.
func divisor(s *shape, v []float64) float64 {
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
	limit := float64(1 << 22)
	most := 7
	if s.size == 8 {
		limit, most = 1<<51, 15
	}
	fits := func(d float64) bool {
		miss := 0
		for _, x := range sample[:k] {
			n := math.RoundToEven(x * d)
			if !(math.Abs(n) <= limit) || !same(s.round(n/d), x) {
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
		if d := denominator(s, x, largest); d > 1 {
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
func denominator(s *shape, x float64, most uint64) uint64 {
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
		if same(s.round(p1/q1), x) {
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
