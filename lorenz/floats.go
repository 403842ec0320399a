package lorenz

import (
	"math"
	"unsafe"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
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

// floatsOf returns the floats whose bits are in u, in the same memory. F has the size of T.
func floatsOf[F kernels.Float, T lane](u []T) []F {
	return unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(u))), len(u))
}

// addends sets dst to the terms that predictions add to W, or for floatNP to the
// predictions, for elements of a row. v are all values, the first element is v[at] in column
// col. north and plane tell whether there are such neighbours.
func addends[F kernels.Float](f floatPredictor, dst, v []F, at, col int, north, plane bool) {
	nb := north && f.kind != floatWP && f.kind != floatWW
	switch {
	case f.kind == floatNP && north && plane:
		p := at - f.plane
		kernels.Across(dst, v[at-f.row:], v[p:], v[p-f.row:])
	case f.kind == floatNP:
		var n, d F
		for i := range dst {
			if north {
				n = v[at+i-f.row]
			}
			if plane {
				d = v[at+i-f.plane]
			}
			dst[i] = n + d
		}
	case nb && plane && f.kind == floatWNP:
		n, p := at-f.row, at-f.plane
		if col == 0 { // the values before the row are +0
			dst[0] = v[n] + F(v[p]-v[p-f.row])
			dst, n, p = dst[1:], n+1, p+1
		}
		if len(dst) > 0 {
			kernels.Corners(dst, v[n-1:], v[p-1:], v[p-f.row-1:])
		}
		return
	case nb:
		steps(dst, v, at-f.row, col)
	case plane && f.kind != floatWN:
		steps(dst, v, at-f.plane, col)
	default:
		clear(dst)
	}
	if f.kind == floatWNP {
		var missing F // the other difference, which turns -0 into +0
		for i := range dst {
			dst[i] += missing
		}
	}
}

// steps sets dst to the differences between the elements of a row from v[at] on, in column
// col, and those before them.
func steps[F kernels.Float](dst, v []F, at, col int) {
	if col == 0 {
		dst[0] = v[at]
		dst, at = dst[1:], at+1
	}
	if len(dst) > 0 {
		kernels.Steps(dst, v[at-1:])
	}
}

// floatResiduals sets r to the residuals of elements at and following, given
// the bits of all elements.
func floatResiduals[T lane](r, u []T, l layout, f floatPredictor, at int) {
	const most = 512 // the predictions stay in the cache
	var predicted [most]T
	for len(r) > 0 {
		cell := at % l.plane % l.cell
		col := cell % f.row
		n := min(len(r), most, f.row-col, l.cell-cell, l.plane-at%l.plane)
		north, plane := cell >= f.row, f.deep() && at >= f.plane
		p := predicted[:n]
		switch r := any(r[:n]).(type) {
		case []uint32:
			p := floatsOf[float32](p)
			predictRow(p, floatsOf[float32](u), f, at, col, north, plane)
			kernels.Deviations(r, any(u[at:at+n]).([]uint32), p)
		case []uint64:
			v := floatsOf[float64](p)
			predictRow(v, floatsOf[float64](u), f, at, col, north, plane)
			for i, x := range any(u[at : at+n]).([]uint64) {
				r[i] = kernels.Ordered(x) - kernels.Ordered(math.Float64bits(kernels.Clamp(v[i])))
			}
		}
		r, at = r[n:], at+n
	}
}

// predictRow sets p to the predictions of elements of a row, not clamped, given all values.
// The first one is element at in column col.
func predictRow[F kernels.Float](p, v []F, f floatPredictor, at, col int, north, plane bool) {
	switch f.kind {
	case floatNP:
		addends(f, p, v, at, col, north, plane)
	case floatWW:
		var w, ww F
		if col > 0 {
			w = v[at-1]
		}
		if col > 1 {
			ww = v[at-2]
		}
		for i := range p {
			p[i] = w + F(w-ww)
			w, ww = v[at+i], w
		}
	default:
		addends(f, p, v, at, col, north, plane)
		if col == 0 {
			p[0] += 0
			p, at = p[1:], at+1
		}
		for i, w := range v[at-1:][:len(p)] {
			p[i] += w
		}
	}
}

// fillFloats sets the masked elements to their predictions.
func fillFloats[T lane](u []T, l layout, f floatPredictor, m *masks.Mask) {
	if entropy.LaneBits[T]() == 32 {
		fillPredicted(floatsOf[float32](u), l, f, m)
	} else {
		fillPredicted(floatsOf[float64](u), l, f, m)
	}
}

func fillPredicted[F kernels.Float](v []F, l layout, f floatPredictor, m *masks.Mask) {
	for _, r := range m.Runs {
		for i := int(r.Start); i < int(r.End); i++ {
			v[i] = predictAt(v, l, f, i)
		}
	}
}

// predictAt returns the prediction of an element.
func predictAt[F kernels.Float](v []F, l layout, f floatPredictor, i int) F {
	cell := i % l.plane % l.cell
	column := cell % f.row
	west, north, plane := column > 0, cell >= f.row, f.deep() && i >= f.plane
	at := func(ok bool, back int) F {
		if !ok {
			return 0
		}
		return v[i-back]
	}
	w, n, nw := at(west, 1), at(north, f.row), at(north && west, f.row+1)
	p, pw := at(plane, f.plane), at(plane && west, f.plane+1)
	pn, pnw := at(plane && north, f.plane+f.row), at(plane && north && west, f.plane+f.row+1)
	switch f.kind {
	case floatWN:
		return kernels.Clamp(w + F(n-nw))
	case floatWP:
		return kernels.Clamp(w + F(p-pw))
	case floatNP:
		return kernels.Clamp(n + F(p-pn))
	case floatWW:
		return kernels.Clamp(w + F(w-at(column > 1, 2)))
	}
	return kernels.Clamp(w + F(F(n-nw)+F(F(p-pw)-F(pn-pnw))))
}
