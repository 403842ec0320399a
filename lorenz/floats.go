package lorenz

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// A float predictor works on the values, not on their integers. Each of its operations
// is rounded to the type of the element, and it only adds and subtracts, so it is the
// same on every CPU. Values outside of the row, cell or block are +0.
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

// restore32 replaces residuals by the bits of the values. Rows at the same place
// of several cells do not depend on each other, and are restored side by side.
// buf is a buffer.
func (f floatPredictor) restore32(y []uint32, w window, buf *[]float32) {
	const lanes = 4
	*buf = entropy.Grow(*buf, lanes*f.row)
	dist := 0
	if f.deep() {
		dist = f.plane / w.plane * w.width
	}
	var rows [lanes][]uint32
	var sums [lanes][]float32
	for p := 0; p < w.len(); p += w.width {
		for r := 0; r < w.cell; r += f.row {
			k := 0
			for c := 0; c+r < w.width; c += w.cell {
				at := p + c + r
				n := min(f.row, w.width-c-r, w.cell-r)
				rows[k], sums[k] = y[at:at+n], (*buf)[k*f.row:k*f.row+n]
				f.known32(sums[k], y, at, r > 0, at >= dist && dist > 0, dist)
				if k++; k == lanes && n == len(rows[0]) && f.kind != floatNP && f.kind != floatWW {
					four32(&rows, &sums)
					k = 0
				}
				if k == lanes {
					f.each32(rows[:k], sums[:k])
					k = 0
				}
			}
			f.each32(rows[:k], sums[:k])
		}
	}
}

// each32 restores rows one by one.
func (f floatPredictor) each32(rows [][]uint32, sums [][]float32) {
	for i, y := range rows {
		var w, ww float32
		for j, s := range sums[i] {
			p := s
			switch f.kind {
			case floatNP:
			case floatWW:
				p = w + float32(w-ww)
			default:
				p = w + s
			}
			y[j] = bits32(y[j] + ordered32(math.Float32bits(clamp32(p))))
			w, ww = math.Float32frombits(y[j]), w
		}
	}
}

// four32 restores four rows of the same length.
func four32(rows *[4][]uint32, sums *[4][]float32) {
	n := len(rows[0])
	y0, y1, y2, y3 := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
	s0, s1, s2, s3 := sums[0][:n], sums[1][:n], sums[2][:n], sums[3][:n]
	var w0, w1, w2, w3 float32
	for i := range n {
		v0 := bits32(y0[i] + ordered32(math.Float32bits(clamp32(w0+s0[i]))))
		v1 := bits32(y1[i] + ordered32(math.Float32bits(clamp32(w1+s1[i]))))
		v2 := bits32(y2[i] + ordered32(math.Float32bits(clamp32(w2+s2[i]))))
		v3 := bits32(y3[i] + ordered32(math.Float32bits(clamp32(w3+s3[i]))))
		y0[i], y1[i], y2[i], y3[i] = v0, v1, v2, v3
		w0, w1, w2, w3 = math.Float32frombits(v0), math.Float32frombits(v1), math.Float32frombits(v2), math.Float32frombits(v3)
	}
}

// known32 sets dst to the terms that a prediction adds to W, or for floatNP to the
// prediction, for the row at an element.
func (f floatPredictor) known32(dst []float32, y []uint32, at int, north, plane bool, dist int) {
	clear(dst)
	n := len(dst)
	nb := north && f.kind != floatWP && f.kind != floatWW
	switch {
	case f.kind == floatNP:
		for i := range dst {
			var a, b, c float32
			if north {
				a = math.Float32frombits(y[at+i-f.row])
			}
			if plane {
				b = math.Float32frombits(y[at+i-dist])
			}
			if north && plane {
				c = math.Float32frombits(y[at+i-dist-f.row])
			}
			dst[i] = a + float32(b-c)
		}
	case nb && plane && f.kind == floatWNP:
		no, pl, bo := y[at-f.row:][:n], y[at-dist:][:n], y[at-dist-f.row:][:n]
		var nw, pw, pnw float32
		for i := range dst {
			a, b, c := math.Float32frombits(no[i]), math.Float32frombits(pl[i]), math.Float32frombits(bo[i])
			dst[i] = float32(a-nw) + float32(float32(b-pw)-float32(c-pnw))
			nw, pw, pnw = a, b, c
		}
	case nb:
		steps32(dst, y[at-f.row:][:n])
	case plane && f.kind != floatWN:
		steps32(dst, y[at-dist:][:n])
	}
	if f.kind == floatWNP && nb != plane {
		var missing float32 // the other difference, which turns -0 into +0
		for i := range dst {
			dst[i] += missing
		}
	}
}

// steps32 sets dst to the differences from one value of a row to the next.
func steps32(dst []float32, row []uint32) {
	var west float32
	for i, u := range row[:len(dst)] {
		x := math.Float32frombits(u)
		dst[i] = x - west
		west = x
	}
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

// predict64 is the state of a prediction along a row of doubles.
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

// next predicts element i.
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

// seen moves on past element i.
func (s *predict64) seen(x float64, i int) {
	s.ww, s.w, s.nw, s.pw, s.pnw = s.w, x, s.n, s.p, s.pn
}

// floatResiduals sets r to the residuals of elements at and following, given
// the bits of all elements.
func floatResiduals[T lane](r, u []T, l layout, f floatPredictor, at int) {
	for len(r) > 0 {
		cell := at % l.plane % l.cell
		col := cell % f.row
		n := min(len(r), entropy.GroupLen, f.row-col, l.cell-cell, l.plane-at%l.plane)
		north, plane := cell >= f.row, f.deep() && at >= f.plane
		switch u := any(u).(type) {
		case []uint32:
			f.rowResiduals32(any(r[:n]).([]uint32), u, at, col, north, plane)
		case []uint64:
			f.rowResiduals64(any(r[:n]).([]uint64), u, at, col, north, plane)
		}
		r, at = r[n:], at+n
	}
}

// rowResiduals32 sets r to the residuals of at most 32 elements of a row. The first one
// is element at in column col.
func (f floatPredictor) rowResiduals32(r, u []uint32, at, col int, north, plane bool) {
	n := len(r)
	var zeros [entropy.GroupLen]uint32
	// The values of a row, starting one before the first element.
	back := func(ok bool, d int) (row []uint32, west float32) {
		if !ok {
			return zeros[:n], 0
		}
		if col > 0 {
			west = math.Float32frombits(u[at-d-1])
		}
		return u[at-d : at-d+n], west
	}
	cur, w := back(true, 0)
	switch f.kind {
	case floatWN, floatWP:
		row, nw := back(north, f.row)
		if f.kind == floatWP {
			row, nw = back(plane, f.plane)
		}
		for i, x := range cur {
			v := math.Float32frombits(row[i])
			r[i] = ordered32(x) - ordered32(math.Float32bits(clamp32(w+float32(v-nw))))
			w, nw = math.Float32frombits(x), v
		}
	case floatNP:
		no, _ := back(north, f.row)
		pl, _ := back(plane, f.plane)
		bo, _ := back(north && plane, f.plane+f.row)
		for i, x := range cur {
			d := math.Float32frombits(pl[i]) - math.Float32frombits(bo[i])
			r[i] = ordered32(x) - ordered32(math.Float32bits(clamp32(math.Float32frombits(no[i])+d)))
		}
	case floatWNP:
		no, nw := back(north, f.row)
		pl, pw := back(plane, f.plane)
		bo, pnw := back(north && plane, f.plane+f.row)
		for i, x := range cur {
			a, b, c := math.Float32frombits(no[i]), math.Float32frombits(pl[i]), math.Float32frombits(bo[i])
			d := float32(a-nw) + float32(float32(b-pw)-float32(c-pnw))
			r[i] = ordered32(x) - ordered32(math.Float32bits(clamp32(w+d)))
			w, nw, pw, pnw = math.Float32frombits(x), a, b, c
		}
	case floatWW:
		var ww float32
		if col > 1 {
			ww = math.Float32frombits(u[at-2])
		}
		for i, x := range cur {
			r[i] = ordered32(x) - ordered32(math.Float32bits(clamp32(w+float32(w-ww))))
			w, ww = math.Float32frombits(x), w
		}
	}
}

// rowResiduals64 sets r to the residuals of at most 32 elements of a row. The first one
// is element at in column col.
func (f floatPredictor) rowResiduals64(r, u []uint64, at, col int, north, plane bool) {
	n := len(r)
	var zeros [entropy.GroupLen]uint64
	// The values of a row, starting one before the first element.
	back := func(ok bool, d int) (row []uint64, west float64) {
		if !ok {
			return zeros[:n], 0
		}
		if col > 0 {
			west = math.Float64frombits(u[at-d-1])
		}
		return u[at-d : at-d+n], west
	}
	cur, w := back(true, 0)
	switch f.kind {
	case floatWN, floatWP:
		row, nw := back(north, f.row)
		if f.kind == floatWP {
			row, nw = back(plane, f.plane)
		}
		for i, x := range cur {
			v := math.Float64frombits(row[i])
			r[i] = ordered64(x) - ordered64(math.Float64bits(clamp64(w+float64(v-nw))))
			w, nw = math.Float64frombits(x), v
		}
	case floatNP:
		no, _ := back(north, f.row)
		pl, _ := back(plane, f.plane)
		bo, _ := back(north && plane, f.plane+f.row)
		for i, x := range cur {
			d := math.Float64frombits(pl[i]) - math.Float64frombits(bo[i])
			r[i] = ordered64(x) - ordered64(math.Float64bits(clamp64(math.Float64frombits(no[i])+d)))
		}
	case floatWNP:
		no, nw := back(north, f.row)
		pl, pw := back(plane, f.plane)
		bo, pnw := back(north && plane, f.plane+f.row)
		for i, x := range cur {
			a, b, c := math.Float64frombits(no[i]), math.Float64frombits(pl[i]), math.Float64frombits(bo[i])
			d := float64(a-nw) + float64(float64(b-pw)-float64(c-pnw))
			r[i] = ordered64(x) - ordered64(math.Float64bits(clamp64(w+d)))
			w, nw, pw, pnw = math.Float64frombits(x), a, b, c
		}
	case floatWW:
		var ww float64
		if col > 1 {
			ww = math.Float64frombits(u[at-2])
		}
		for i, x := range cur {
			r[i] = ordered64(x) - ordered64(math.Float64bits(clamp64(w+float64(w-ww))))
			w, ww = math.Float64frombits(x), w
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
