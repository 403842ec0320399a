package adaptive

import (
	"math"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Encoder encodes blocks.
type Encoder[T entropy.Lane] struct{ Model[T] }

// Encode appends residuals.
// With weights 0 to 2 residuals are predicted: not at all, or with neighbours
// that count up to 2 or 16 times the expected size.
func (e *Encoder[T]) Encode(dst []byte, r []T, spans []Span, near Neighbours, weighted int) []byte {
	e.sum = weights{}
	if weighted > 0 {
		e.fit(r, spans, near, weighted)
	}
	return e.encode(dst, r, spans, near)
}

// limits are the clamps of neighbours.
var limits = [...]uint{0, 1, 4}

// Cost estimates the bits of residuals with the weights of Encode.
func (e *Encoder[T]) Cost(r []T, spans []Span, near Neighbours, weighted int) float64 {
	e.sum = weights{}
	if weighted > 0 {
		e.fit(r, spans, near, weighted)
	} else {
		e.load(r, spans, near)
	}
	const nearest = 12
	var count [nearest][32]int
	var totals [nearest]int
	rest := 0
	for _, s := range spans {
		for at := s.Start; at < s.End; at++ {
			i := at + e.pad
			v := r[at]
			if e.sum.used {
				v -= T(e.predict(i))
			}
			x := signed(v)
			b := bits.Len64(uint64(max(x, -x)))
			start := (e.expect(i) + 8) >> 4
			z := min(start, nearest-1)
			count[z][clamp(b-start+16, 0, 31)]++
			totals[z]++
			rest += b
		}
	}
	sum := float64(rest)
	for z, n := range totals {
		for _, k := range count[z] {
			if k > 0 {
				sum += float64(float64(k) * log2(float64(n)/float64(k)))
			}
		}
	}
	return sum
}

// log2 approximates the binary logarithm of x ≥ 1, the same on every machine.
func log2(x float64) float64 {
	u := math.Float64bits(x)
	return float64(int(u>>52)-1023) + float64(u&(1<<52-1))/(1<<52)
}

// sample visits runs of elements all over the spans, of about 1 in 8.
func sample(spans []Span, visit func(at int)) {
	k := 0
	for _, s := range spans {
		for at := s.Start; at < s.End; at++ {
			if k>>5&7 == 0 {
				visit(at)
			}
			k++
		}
	}
}

// load sets the sizes and values that the model has when all is coded, without
// weights.
func (m *Model[T]) load(r []T, spans []Span, near Neighbours) {
	m.begin(len(r), near)
	m.vals = entropy.Grow(m.vals, len(r)+m.pad)
	clear(m.vals[:m.pad])
	copy(m.vals[m.pad:], r)
	var st state
	at := 0
	for _, s := range spans {
		m.skip(&st, r, at, s.Start)
		for at = s.Start; at < s.End; at++ {
			x := signed(r[at])
			v := uint64(max(x, -x))
			m.mag[at+m.pad] = 0
			if v > 0 {
				m.mag[at+m.pad] = magnitude(v, bits.Len64(v))
			}
		}
	}
	m.skip(&st, r, at, len(r))
}

// fit chooses weights by least squares, on residuals relative to their expected
// size. Its floating-point operations are rounded one by one, so that every
// machine chooses the same.
func (e *Encoder[T]) fit(r []T, spans []Span, near Neighbours, weighted int) {
	e.load(r, spans, near)
	e.sum = weights{used: true, limit: limits[weighted]}
	var a [nTaps][nTaps]float64
	var y, f [nTaps]float64
	var x [nTaps]int64
	sample(spans, func(at int) {
		lim := e.taps(&x, at+e.pad)
		scale := 1 / float64(lim)
		v := float64(min(max(signed(r[at]), -lim), lim)) * scale
		for i, u := range x {
			f[i] = float64(u) * scale
			y[i] += float64(f[i] * v)
			row := &a[i]
			for j := range i + 1 {
				row[j] += float64(f[i] * f[j])
			}
		}
	})
	trace := 0.0
	for i := range a {
		trace += a[i][i]
	}
	for i := range a {
		a[i][i] += float64(trace*(1e-3/nTaps)) + 1e-9
	}
	solve(&a, &y)
	for i, w := range y {
		e.sum.w[i] = int32(min(max(math.RoundToEven(w*(1<<weightBits)), -1<<15), 1<<15-1))
	}
}

// solve solves a·x = y by Cholesky's decomposition. a is symmetric, with its
// lower half stored. The solution replaces y.
func solve(a *[nTaps][nTaps]float64, y *[nTaps]float64) {
	for i := range a {
		for j := range i + 1 {
			x := a[i][j]
			for k := range j {
				x -= float64(a[i][k] * a[j][k])
			}
			if i == j {
				a[i][i] = math.Sqrt(max(x, 1e-12))
			} else {
				a[i][j] = x / a[j][j]
			}
		}
	}
	for i := range y {
		for k := range i {
			y[i] -= float64(a[i][k] * y[k])
		}
		y[i] /= a[i][i]
	}
	for i := nTaps - 1; i >= 0; i-- {
		for k := i + 1; k < nTaps; k++ {
			y[i] -= float64(a[k][i] * y[k])
		}
		y[i] /= a[i][i]
	}
}
