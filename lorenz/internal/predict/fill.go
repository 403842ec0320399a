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
	var buf, kept [1 << MaxChain]term
	terms := l.terms(buf[:0], strides)[1:]
	back, inCell := 0, 0 // how far the terms lead
	for _, t := range terms {
		back, inCell = max(back, t.offset), max(inCell, t.inCell)
	}
	var all, some neighbours
	all.set(terms, strides)
	known := ^uint(0)   // the terms of some, a bit for each; at first unknown
	start, stop := 0, 0 // of the cell
	for _, r := range m.Runs {
		for i, end := int(r.Start), int(r.End); i < end; {
			if i >= stop {
				plane := i - i%l.Plane
				start = i - (i-plane)%l.Cell
				stop = min(start+l.Cell, plane+l.Plane)
			}
			at, last := i-start, min(stop, end)
			if at >= inCell && i >= back {
				extrapolate(y[:last], i, &all)
				i = last
			}
			for i < last {
				// In this piece all elements have the same neighbours.
				n, exist := last-i, uint(0)
				for k, t := range terms {
					if missing := max(t.inCell-at, t.offset-i); missing > 0 {
						n = min(n, missing)
					} else {
						exist |= 1 << k
					}
				}
				if exist != known {
					valid := kept[:0]
					for k, t := range terms {
						if exist>>k&1 != 0 {
							valid = append(valid, t)
						}
					}
					some.set(valid, strides)
					known = exist
				}
				extrapolate(y[:i+n], i, &some)
				i, at = i+n, at+n
			}
		}
	}
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
