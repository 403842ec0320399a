package lorenz

import "math"

// A float predictor works on the values, not on their integers. All its
// operations are rounded to the type of the element, one by one, and it only
// adds and subtracts, so it is the same on every CPU. Values outside of the row,
// cell or block are +0.
//
// With W, N and P for the neighbours in the row, the row before and the plane
// before, the predictions are:
const (
	floatWN  = 1 // W + (N - NW)
	floatWP  = 2 // W + (P - PW)
	floatNP  = 3 // N + (P - PN)
	floatWNP = 4 // W + ((N - NW) + ((P - PW) - (PN - PNW)))
	floatWW  = 5 // W + (W - WW)
)

// floatPredictor is a kind with its row and plane.
type floatPredictor struct {
	kind  int
	row   int // elements of a row
	plane int // distance of P, a multiple of the layout's plane
}

// deep reports whether the prediction depends on earlier planes.
func (f floatPredictor) deep() bool {
	return f.kind == floatWP || f.kind == floatNP || f.kind == floatWNP
}

// layout returns the layout without cells: planes if it depends on them.
func (f floatPredictor) layout(n int) layout {
	if f.deep() {
		return layout{n, f.plane, f.plane}
	}
	return whole(n)
}

// valid reports whether the predictor fits a layout.
func (f floatPredictor) valid(l layout) bool {
	if f.kind < floatWN || f.kind > floatWW || f.row < 1 || f.row > l.cell || l.cell%f.row != 0 && l.cell != l.plane {
		return false
	}
	return !f.deep() || f.plane >= l.plane && f.plane < l.n && f.plane%l.plane == 0
}

// limit is the largest prediction. Beyond it, and for NaN, the prediction is +0.
const limit = 1e37

func clamp32(p float32) float32 {
	if p <= limit && p >= -limit {
		return p
	}
	return 0
}

func clamp64(p float64) float64 {
	if p <= limit && p >= -limit {
		return p
	}
	return 0
}

// ordered32 maps the bits of a float to an integer of the same order.
func ordered32(u uint32) uint32 { return u ^ (uint32(int32(u)>>31) | 1<<31) }

// bits32 is the inverse of ordered32.
func bits32(y uint32) uint32 { return y ^ (uint32(^int32(y)>>31) | 1<<31) }

func ordered64(u uint64) uint64 { return u ^ (uint64(int64(u)>>63) | 1<<63) }

func bits64(y uint64) uint64 { return y ^ (uint64(^int64(y)>>63) | 1<<63) }

// rowOf visits the rows of a window in order. visit gets the row and the rows
// before it, nil where there is none.
func (f floatPredictor) rows(w window, visit func(at, n, north, plane, both int)) {
	dist := 0
	if f.deep() {
		dist = f.plane / w.plane * w.width
	}
	for p := 0; p < w.len(); p += w.width {
		for c := 0; c < w.width; c += w.cell {
			end := min(c+w.cell, w.width)
			for r := c; r < end; r += f.row {
				at, north, plane, both := p+r, -1, -1, -1
				if r > c {
					north = at - f.row
				}
				if f.deep() && at >= dist {
					plane = at - dist
					if r > c {
						both = plane - f.row
					}
				}
				visit(at, min(f.row, end-r), north, plane, both)
			}
		}
	}
}

// restore replaces residuals by the bits of the values.
func (f floatPredictor) restore32(y []uint32, w window) {
	f.rows(w, func(at, n, north, plane, both int) {
		p := newPredict32(y, north, plane, both, n)
		for i := range n {
			v := bits32(y[at+i] + ordered32(math.Float32bits(p.next(f.kind, i))))
			y[at+i] = v
			p.seen(math.Float32frombits(v), i)
		}
	})
}

func (f floatPredictor) restore64(y []uint64, w window) {
	f.rows(w, func(at, n, north, plane, both int) {
		p := newPredict64(y, north, plane, both, n)
		for i := range n {
			v := bits64(y[at+i] + ordered64(math.Float64bits(p.next(f.kind, i))))
			y[at+i] = v
			p.seen(math.Float64frombits(v), i)
		}
	})
}

// predict32 is the state of a prediction along a row.
type predict32 struct {
	north, plane, both    []uint32 // nil where there is none
	w, ww                 float32
	nw, pw, pnw, n, p, pn float32
}

func newPredict32(y []uint32, north, plane, both, n int) (s predict32) {
	if north >= 0 {
		s.north = y[north : north+n]
	}
	if plane >= 0 {
		s.plane = y[plane : plane+n]
	}
	if both >= 0 {
		s.both = y[both : both+n]
	}
	return s
}

// next predicts element i.
func (s *predict32) next(kind, i int) float32 {
	if s.north != nil {
		s.n = math.Float32frombits(s.north[i])
	}
	if s.plane != nil {
		s.p = math.Float32frombits(s.plane[i])
	}
	if s.both != nil {
		s.pn = math.Float32frombits(s.both[i])
	}
	switch kind {
	case floatWN:
		return clamp32(s.w + float32(s.n-s.nw))
	case floatWP:
		return clamp32(s.w + float32(s.p-s.pw))
	case floatNP:
		return clamp32(s.n + float32(s.p-s.pn))
	case floatWW:
		return clamp32(s.w + float32(s.w-s.ww))
	}
	return clamp32(s.w + float32(float32(s.n-s.nw)+float32(float32(s.p-s.pw)-float32(s.pn-s.pnw))))
}

// seen moves on past element i.
func (s *predict32) seen(x float32, i int) {
	s.ww, s.w, s.nw, s.pw, s.pnw = s.w, x, s.n, s.p, s.pn
}

// predict64 is predict32 for doubles.
type predict64 struct {
	north, plane, both    []uint64
	w, ww                 float64
	nw, pw, pnw, n, p, pn float64
}

func newPredict64(y []uint64, north, plane, both, n int) (s predict64) {
	if north >= 0 {
		s.north = y[north : north+n]
	}
	if plane >= 0 {
		s.plane = y[plane : plane+n]
	}
	if both >= 0 {
		s.both = y[both : both+n]
	}
	return s
}

func (s *predict64) next(kind, i int) float64 {
	if s.north != nil {
		s.n = math.Float64frombits(s.north[i])
	}
	if s.plane != nil {
		s.p = math.Float64frombits(s.plane[i])
	}
	if s.both != nil {
		s.pn = math.Float64frombits(s.both[i])
	}
	switch kind {
	case floatWN:
		return clamp64(s.w + float64(s.n-s.nw))
	case floatWP:
		return clamp64(s.w + float64(s.p-s.pw))
	case floatNP:
		return clamp64(s.n + float64(s.p-s.pn))
	case floatWW:
		return clamp64(s.w + float64(s.w-s.ww))
	}
	return clamp64(s.w + float64(float64(s.n-s.nw)+float64(float64(s.p-s.pw)-float64(s.pn-s.pnw))))
}

func (s *predict64) seen(x float64, i int) {
	s.ww, s.w, s.nw, s.pw, s.pnw = s.w, x, s.n, s.p, s.pn
}

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
