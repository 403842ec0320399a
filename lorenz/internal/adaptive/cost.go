package adaptive

import (
	"math"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Encoder encodes blocks.
type Encoder[T entropy.Lane] struct{ Model[T] }

// Cost estimates the bits of residuals.
func (e *Encoder[T]) Cost(r []T, spans []Span, near Neighbours) float64 {
	e.load(r, spans, near)
	const nearest = 12
	var count [nearest][32]int
	var totals [nearest]int
	rest := 0
	for _, s := range spans {
		for at := s.Start; at < s.End; at++ {
			x := signed(r[at])
			b := bits.Len64(uint64(max(x, -x)))
			start := (e.expect(at+e.pad) + 8) >> 4
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

// load sets the sizes that the model has when all is coded.
func (m *Model[T]) load(r []T, spans []Span, near Neighbours) {
	m.begin(len(r), near)
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

// signed returns a lane as a signed number.
func signed[T entropy.Lane](v T) int64 {
	shift := 64 - entropy.LaneBits[T]()
	return int64(uint64(v)<<shift) >> shift
}
