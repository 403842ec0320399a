package adaptive

import (
	"math"

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
			i := at + e.pad
			b, _ := split(e.mag[i])
			start := (expect((*[2]uint8)(e.mag[i-2:]), (*[3]uint8)(e.mag[i-near.North-1:])) + 8) >> 4
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
		m.measure(r[s.Start:s.End], s.Start+m.pad)
		at = s.End
	}
	m.skip(&st, r, at, len(r))
}
