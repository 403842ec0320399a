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
	for _, r := range m.Runs {
		for i := int(r.Start); i < int(r.End); i++ {
			v[i] = predictAt(v, l, f, i)
		}
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
