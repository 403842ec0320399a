package contexts

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// fit chooses weights: those with which classes of neighbours come closest to that of an element.
func (e *Encoder[T]) fit() {
	const most = 2 + mostTaps + 1
	e.collect()
	n := 2 + len(e.taps) + 1 // the last one is the constant
	own := e.fitted[n]
	var a [most][most]float64
	var right [most]float64
	for i := range n {
		right[i] = float64(kernels.Dot(e.fitted[i], own))
		for k := range i + 1 {
			a[i][k] = float64(kernels.Dot(e.fitted[i], e.fitted[k]))
			a[k][i] = a[i][k]
		}
	}
	for i := range n {
		if i < n-1 {
			a[i][i] += float64((a[i][i] + 1) * 1e-3)
		}
		a[i][i] += 1e-9
	}
	const enough = 1e-5 // weights are rounded to 1/16
	// Each weight in turn is set to its best value, given the others. Conversions keep products from being fused.
	var w [most]float64
	for range 100 {
		moved := 0.0
		for i := range n {
			t := right[i]
			for k := range n {
				if k != i {
					t -= float64(a[i][k] * w[k])
				}
			}
			last := w[i]
			w[i] = t / a[i][i]
			if i < n-1 {
				w[i] = max(0, w[i])
			}
			moved = max(moved, math.Abs(w[i]-last))
		}
		if moved < enough {
			break
		}
	}
	whole := func(v float64) uint8 { return uint8(min(float64(v*16)+0.5, 255)) }
	m := &e.model.weights
	m.w, m.ww = whole(w[0]), whole(w[1])
	for i := range e.taps {
		m.taps[i] = whole(w[2+i])
	}
}

// collect sets fitted to the classes of the neighbours of a sample of elements, in the order of their weights, to 1 for
// each element, and to the classes of the elements.
func (e *Encoder[T]) collect() {
	step := max(1, len(e.r)/e.sampled()) | 1
	for i := range e.fitted {
		e.fitted[i] = entropy.Grow(e.fitted[i], len(e.r)/step+1)
	}
	e.begin()
	n, last, row := 0, 2+len(e.taps), -1
	var places [mostTaps]int // of neighbours of the first element of the row
	// Where the elements of the sample are in their rows changes from row to row.
	for p := step / 2; p < len(e.r); p += step {
		for p >= e.base+e.shape.N() {
			e.following()
			row = -1
		}
		if g := (p - e.base) / e.shape.row; g != row {
			row = g
			for i, t := range e.taps {
				places[i] = e.place(before(g, t.rows)) + t.col*stripes
			}
		}
		q, j := e.find((p - e.base) % e.shape.row)
		in := j*stripes + q
		at := e.place(row) + in
		mark := e.marks[at]
		if j < 2 || mark&kernels.Hidden != 0 {
			continue
		}
		e.fitted[0][n], e.fitted[1][n] = e.classAt(at-stripes), e.classAt(at-2*stripes)
		for i := range e.taps {
			e.fitted[2+i][n] = e.classAt(places[i] + in)
		}
		e.fitted[last][n], e.fitted[last+1][n] = 1, int16(mark&127)
		n++
	}
	for i := range e.fitted {
		e.fitted[i] = e.fitted[i][:n]
	}
}

// classAt returns the class whose magnitude is at a place.
func (e *Encoder[T]) classAt(place int) int16 {
	return int16(max(math.Float32bits(e.mags[place])>>22, 254) - 254)
}
