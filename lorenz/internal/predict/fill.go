package predict

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
)

// Fill sets the masked elements to the predictions of a chain, so that their residuals
// are 0.
func Fill[T entropy.Lane](y []T, l Layout, strides []int, m *masks.Mask) {
	if len(m.Runs) == 0 {
		return
	}
	var buf [1 << MaxChain]term
	f := filler{terms: l.terms(buf[:0], strides)[1:], strides: strides}
	f.begin()
	start, stop := 0, 0 // of the cell
	for _, r := range m.Runs {
		for i, end := int(r.Start), int(r.End); i < end; {
			if i >= stop {
				start, stop = l.cellOf(i)
			}
			at, n, from := i-start, min(stop, end)-i, &f.all
			if at < f.inCell || i < f.back {
				n, from = f.edge(i, at, n)
			}
			extrapolate(y[:i+n], i, from)
			i += n
		}
	}
}

// cellOf returns the first element of the cell of element i, and the one after its last.
func (l Layout) cellOf(i int) (start, stop int) {
	plane := i - i%l.Plane
	start = i - (i-plane)%l.Cell
	return start, min(start+l.Cell, plane+l.Plane)
}

// filler knows from which neighbours the elements of a block are predicted.
type filler struct {
	terms   []term
	strides []int
	back    int        // how far the terms lead
	inCell  int        // the same within a cell
	all     neighbours // all terms
	some    neighbours // those that exist at an edge
	known   uint       // the terms of some, a bit for each; at first unknown
}

func (f *filler) begin() {
	for _, t := range f.terms {
		f.back, f.inCell = max(f.back, t.offset), max(f.inCell, t.inCell)
	}
	f.all.set(f.terms, f.strides)
	f.known = ^uint(0)
}

// edge returns how many of n elements from i on, where not all neighbours may exist, have the same ones, and these.
// Element i is element at of its cell.
func (f *filler) edge(i, at, n int) (int, *neighbours) {
	exist := uint(0)
	for k, t := range f.terms {
		if missing := max(t.inCell-at, t.offset-i); missing > 0 {
			n = min(n, missing)
		} else {
			exist |= 1 << k
		}
	}
	if exist != f.known {
		f.keep(exist)
	}
	return n, &f.some
}

// keep sets some to the terms that exist.
func (f *filler) keep(exist uint) {
	var buf [1 << MaxChain]term
	valid := buf[:0]
	for k, t := range f.terms {
		if exist>>k&1 != 0 {
			valid = append(valid, t)
		}
	}
	f.some.set(valid, f.strides)
	f.known = exist
}

// neighbours are the terms from which a value is predicted.
type neighbours struct {
	all, other kernels.Back // other are those without a stride of 1
	ones       int          // the strides of 1, if they can be undone after the others
}

func (b *neighbours) set(terms []term, strides []int) {
	var plus, minus, otherPlus, otherMinus [kernels.MaxBack]int
	var p, m, fp, fm int
	for _, t := range terms {
		if t.neg {
			plus[p] = t.offset
			p++
			if !t.one {
				otherPlus[fp] = t.offset
				fp++
			}
			continue
		}
		minus[m] = t.offset
		m++
		if !t.one {
			otherMinus[fm] = t.offset
			fm++
		}
	}
	b.all.Set(plus[:p], minus[:m])
	b.other.Set(otherPlus[:fp], otherMinus[:fm])
	b.ones = 0
	for _, s := range strides {
		if s == 1 {
			b.ones++
		}
	}
	// They can be undone last if each of the other neighbours exists for the elements before, too.
	if other := fp + fm; b.ones > 2 || len(terms)-other != (1<<b.ones-1)*(other+1) {
		b.ones = 0
	}
}

// extrapolate sets the elements from i to the end of y to their predictions.
func extrapolate[T entropy.Lane](y []T, i int, b *neighbours) {
	switch few := len(y)-i < 3; {
	case few || b.ones == 0:
		kernels.Predict(y, i, &b.all, 0, 0)
	case b.ones == 1: // the residuals of the other strides are the same for all elements
		kernels.Predict(y, i, &b.other, kernels.Deviation(y, i-1, &b.other), 0)
	default: // they grow evenly
		c := kernels.Deviation(y, i-1, &b.other)
		step := c - kernels.Deviation(y, i-2, &b.other)
		kernels.Predict(y, i, &b.other, c+step, step)
	}
}
