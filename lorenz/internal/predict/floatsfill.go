package predict

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
)

// FillFloats sets the masked elements to their predictions.
func FillFloats[T entropy.Lane](u []T, l Layout, f Float, m *masks.Mask) {
	if entropy.LaneBits[T]() == 32 {
		fillPredicted(floatsOf[float32](u), l, f, m)
	} else {
		fillPredicted(floatsOf[float64](u), l, f, m)
	}
}

func fillPredicted[F kernels.Float](v []F, l Layout, f Float, m *masks.Mask) {
	const few = 4 // elements that are faster one by one
	for _, r := range m.Runs {
		for i, end := int(r.Start), int(r.End); i < end; {
			in := i % l.Plane
			cell := in % l.Cell
			col := cell % f.Row
			n := min(end-i, f.Row-col, l.Cell-cell, l.Plane-in) // in one row
			if n < few || f.Kind == WW {
				for j := i; j < i+n; j++ {
					v[j] = predictAt(v, l, f, j)
				}
			} else {
				fillRow(v, f, i, n, col, cell >= f.Row, f.Deep() && i >= f.Plane)
			}
			i += n
		}
	}
}

// fillRow sets n elements from element i on, in column col, to their predictions, except for WW.
func fillRow[F kernels.Float](v []F, f Float, i, n, col int, north, plane bool) {
	var w F
	if col > 0 {
		w = v[i-1]
	}
	var buf [256]F
	for n > 0 {
		a := buf[:min(n, len(buf))]
		addends(f, a, v, i, col, north, plane)
		to := v[i:][:len(a)]
		for j, x := range a {
			if f.Kind != NP {
				x += w
			}
			w = kernels.Clamp(x)
			to[j] = w
		}
		n, i, col = n-len(a), i+len(a), col+len(a)
	}
}

// predictAt returns the prediction of an element.
func predictAt[F kernels.Float](v []F, l Layout, f Float, i int) F {
	cell := i % l.Plane % l.Cell
	column := cell % f.Row
	west, north, plane := column > 0, cell >= f.Row, f.Deep() && i >= f.Plane
	at := func(ok bool, back int) F {
		if !ok {
			return 0
		}
		return v[i-back]
	}
	w, n, nw := at(west, 1), at(north, f.Row), at(north && west, f.Row+1)
	p, pw := at(plane, f.Plane), at(plane && west, f.Plane+1)
	pn, pnw := at(plane && north, f.Plane+f.Row), at(plane && north && west, f.Plane+f.Row+1)
	switch f.Kind {
	case WN:
		return kernels.Clamp(w + F(n-nw))
	case WP:
		return kernels.Clamp(w + F(p-pw))
	case NP:
		return kernels.Clamp(n + F(p-pn))
	case WW:
		return kernels.Clamp(w + F(w-at(column > 1, 2)))
	}
	return kernels.Clamp(w + F(F(n-nw)+F(F(p-pw)-F(pn-pnw))))
}
