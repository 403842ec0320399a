package lorenz

import "math"

// floatResiduals sets r to the residuals of elements at and following, given
// the bits of all elements.
func floatResiduals[T lane](r, u []T, l layout, f floatPredictor, at int) {
	switch u := any(u).(type) {
	case []uint32:
		r := any(r).([]uint32)
		for i := range r {
			p := predictAt32(u, l, f, at+i)
			r[i] = ordered32(u[at+i]) - ordered32(math.Float32bits(p))
		}
	case []uint64:
		r := any(r).([]uint64)
		for i := range r {
			p := predictAt64(u, l, f, at+i)
			r[i] = ordered64(u[at+i]) - ordered64(math.Float64bits(p))
		}
	}
}

// fillFloats sets the masked elements to their predictions.
func fillFloats[T lane](u []T, l layout, f floatPredictor, m *mask) {
	for _, r := range m.runs {
		for i := int(r.start); i < int(r.end); i++ {
			switch u := any(u).(type) {
			case []uint32:
				u[i] = math.Float32bits(predictAt32(u, l, f, i))
			case []uint64:
				u[i] = math.Float64bits(predictAt64(u, l, f, i))
			}
		}
	}
}

// neighbours returns which neighbours of element i exist.
func (f floatPredictor) neighbours(l layout, i int) (west, west2, north, plane bool) {
	cell := i % l.plane % l.cell
	column := cell % f.row
	return column > 0, column > 1, cell >= f.row, f.deep() && i >= f.plane
}

func predictAt32(u []uint32, l layout, f floatPredictor, i int) float32 {
	west, west2, north, plane := f.neighbours(l, i)
	at := func(ok bool, back int) float32 {
		if !ok {
			return 0
		}
		return math.Float32frombits(u[i-back])
	}
	w, n, nw := at(west, 1), at(north, f.row), at(north && west, f.row+1)
	p, pw := at(plane, f.plane), at(plane && west, f.plane+1)
	pn, pnw := at(plane && north, f.plane+f.row), at(plane && north && west, f.plane+f.row+1)
	switch f.kind {
	case floatWN:
		return clamp32(w + float32(n-nw))
	case floatWP:
		return clamp32(w + float32(p-pw))
	case floatNP:
		return clamp32(n + float32(p-pn))
	case floatWW:
		return clamp32(w + float32(w-at(west2, 2)))
	}
	return clamp32(w + float32(float32(n-nw)+float32(float32(p-pw)-float32(pn-pnw))))
}

func predictAt64(u []uint64, l layout, f floatPredictor, i int) float64 {
	west, west2, north, plane := f.neighbours(l, i)
	at := func(ok bool, back int) float64 {
		if !ok {
			return 0
		}
		return math.Float64frombits(u[i-back])
	}
	w, n, nw := at(west, 1), at(north, f.row), at(north && west, f.row+1)
	p, pw := at(plane, f.plane), at(plane && west, f.plane+1)
	pn, pnw := at(plane && north, f.plane+f.row), at(plane && north && west, f.plane+f.row+1)
	switch f.kind {
	case floatWN:
		return clamp64(w + float64(n-nw))
	case floatWP:
		return clamp64(w + float64(p-pw))
	case floatNP:
		return clamp64(n + float64(p-pn))
	case floatWW:
		return clamp64(w + float64(w-at(west2, 2)))
	}
	return clamp64(w + float64(float64(n-nw)+float64(float64(p-pw)-float64(pn-pnw))))
}
