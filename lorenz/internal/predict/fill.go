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
	terms := l.terms(buf[:0], strides)[1:]
	ones := 0
	for _, s := range strides {
		if s == 1 {
			ones++
		}
	}
	back, inCell := 0, 0 // how far the terms lead
	for _, t := range terms {
		back, inCell = max(back, t.offset), max(inCell, t.inCell)
	}
	set := func(y []T, i int, from *neighbours) {
		if len(y)-i < 4 || ones > 1 || !extrapolate(y, i, from, ones == 1) {
			kernels.Predict(y, i, from.plus(), from.minus(), 0)
		}
	}
	var all, some neighbours
	all.set(terms)
	var valid [1 << MaxChain]term
	for _, r := range m.Runs {
		for i, end := int(r.Start), int(r.End); i < end; {
			at := i % l.Plane % l.Cell
			cell := min(i-at+l.Cell, i-i%l.Plane+l.Plane, end)
			if at >= inCell && i >= back {
				set(y[:cell], i, &all)
				i = cell
			}
			for i < cell {
				// In this piece all elements have the same neighbours.
				n, k := cell-i, 0
				for _, t := range terms {
					missing := max(t.inCell-at, t.offset-i)
					if missing <= 0 {
						valid[k] = t
						k++
					} else {
						n = min(n, missing)
					}
				}
				some.set(valid[:k])
				set(y[:i+n], i, &some)
				i, at = i+n, at+n
			}
		}
	}
}

// neighbours are the distances of the terms from which a value is predicted. Those that are added
// come first, and in each part those without a stride of 1.
type neighbours struct {
	dist      [1 << MaxChain]int
	n, added  int
	far, away int // without a stride of 1: added and subtracted
}

func (b *neighbours) set(terms []term) {
	*b = neighbours{}
	put := func(neg, one bool) {
		for _, t := range terms {
			if t.neg == neg && t.one == one {
				b.dist[b.n] = t.offset
				b.n++
			}
		}
	}
	put(true, false)
	b.far = b.n
	put(true, true)
	b.added = b.n
	put(false, false)
	b.away = b.n - b.added
	put(false, true)
}

func (b *neighbours) plus() []int     { return b.dist[:b.added] }
func (b *neighbours) minus() []int    { return b.dist[b.added:b.n] }
func (b *neighbours) farPlus() []int  { return b.dist[:b.far] }
func (b *neighbours) farMinus() []int { return b.dist[b.added:][:b.away] }

// extrapolate sets the elements from i to the end of y to their predictions. With one, the chain has
// a stride of 1, so the residuals of the other strides are the same for all elements from the one
// before. It returns false if these are not all defined.
func extrapolate[T entropy.Lane](y []T, i int, from *neighbours, one bool) bool {
	plus, minus := from.farPlus(), from.farMinus()
	var c T
	if ones := from.n - len(plus) - len(minus); one && ones > 0 {
		if 2*ones != from.n+1 {
			return false
		}
		c = y[i-1]
		for _, d := range plus {
			c -= y[i-1-d]
		}
		for _, d := range minus {
			c += y[i-1-d]
		}
	}
	kernels.Predict(y, i, plus, minus, c)
	return true
}
