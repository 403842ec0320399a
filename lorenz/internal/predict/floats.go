package predict

import (
	"math"
	"unsafe"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// A float predictor works on the values, not on their integers. Each of its operations
// is rounded to the type of the element, and it only adds and subtracts, so it is the
// same on every CPU. Values outside of the row, cell or block are +0.
//
// With W, N and P for the neighbours in the row, the row before and the plane
// before, the predictions are:
const (
	WN  = 1 // W + (N - NW)
	WP  = 2 // W + (P - PW)
	NP  = 3 // N + (P - PN)
	WNP = 4 // W + ((N - NW) + ((P - PW) - (PN - PNW)))
	WW  = 5 // W + (W - WW)
)

// Float is a float predictor: a kind with its row and plane.
type Float struct {
	Kind  int
	Row   int // elements of a row
	Plane int // distance of P, a multiple of the layout's plane, for a kind that uses it
}

// Deep reports whether the prediction depends on earlier planes.
func (f Float) Deep() bool {
	return f.Kind == WP || f.Kind == NP || f.Kind == WNP
}

// Layout returns the layout without cells: planes if it depends on them.
func (f Float) Layout(n int) Layout {
	if f.Deep() {
		return Layout{n, f.Plane, f.Plane}
	}
	return Whole(n)
}

// Valid reports whether the predictor fits a layout.
func (f Float) Valid(l Layout) bool {
	if f.Kind < WN || f.Kind > WW || f.Row < 1 || f.Row > l.Cell || l.Cell%f.Row != 0 && l.Cell != l.Plane {
		return false
	}
	return !f.Deep() || f.Plane >= l.Plane && f.Plane < l.N && f.Plane%l.Plane == 0
}

// floatsOf returns the floats whose bits are in u, in the same memory. F has the size of T.
func floatsOf[F kernels.Float, T entropy.Lane](u []T) []F {
	return unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(u))), len(u))
}

// addends sets dst to the terms that predictions add to W, or for NP to the
// predictions, for elements of a row. v are all values, the first element is v[at] in column
// col. north and plane tell whether there are such neighbours.
func addends[F kernels.Float](f Float, dst, v []F, at, col int, north, plane bool) {
	nb := north && f.Kind != WP && f.Kind != WW
	switch {
	case f.Kind == NP && north && plane:
		p := at - f.Plane
		kernels.Across(dst, v[at-f.Row:], v[p:], v[p-f.Row:])
	case f.Kind == NP:
		var n, d F
		for i := range dst {
			if north {
				n = v[at+i-f.Row]
			}
			if plane {
				d = v[at+i-f.Plane]
			}
			dst[i] = n + d
		}
	case nb && plane && f.Kind == WNP:
		n, p := at-f.Row, at-f.Plane
		if col == 0 { // the values before the row are +0
			dst[0] = v[n] + F(v[p]-v[p-f.Row])
			dst, n, p = dst[1:], n+1, p+1
		}
		if len(dst) > 0 {
			kernels.Corners(dst, v[n-1:], v[p-1:], v[p-f.Row-1:])
		}
		return
	case nb:
		steps(dst, v, at-f.Row, col)
	case plane && f.Kind != WN:
		steps(dst, v, at-f.Plane, col)
	default:
		clear(dst)
	}
	if f.Kind == WNP {
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

// FloatResiduals sets r to the residuals of elements at and following, given
// the bits of all elements.
func FloatResiduals[T entropy.Lane](r, u []T, l Layout, f Float, at int) {
	const most = 512 // the predictions stay in the cache
	var predicted [most]T
	for len(r) > 0 {
		cell := at % l.Plane % l.Cell
		col := cell % f.Row
		n := min(len(r), most, f.Row-col, l.Cell-cell, l.Plane-at%l.Plane)
		north, plane := cell >= f.Row, f.Deep() && at >= f.Plane
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
func predictRow[F kernels.Float](p, v []F, f Float, at, col int, north, plane bool) {
	switch f.Kind {
	case NP:
		addends(f, p, v, at, col, north, plane)
	case WW:
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
