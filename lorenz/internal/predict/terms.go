package predict

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// term is a product in a chain's expansion: the residual of an element includes the
// value at offset, negated or not.
type term struct {
	offset int
	inCell int // the part of the offset within a cell
	neg    bool
	one    bool // with a stride of 1
}

// terms appends the terms of a chain to t, which is empty. The first term is the
// element itself.
func (l Layout) terms(t []term, strides []int) []term {
	t = append(t, term{})
	for _, s := range strides {
		for _, x := range t {
			in := 0
			if !l.Crosses(s) {
				in = s
			}
			t = append(t, term{x.offset + s, x.inCell + in, !x.neg, x.one || s == 1})
		}
	}
	return t
}

// Group is the number of residuals that Expansion computes at once.
const Group = entropy.GroupLen

// Expansion is a chain multiplied out in a layout, for the residuals of single groups. The
// zero value is not usable before Set. It must not be used concurrently.
type Expansion struct {
	l     Layout
	terms []term
	back  []int // offsets of the terms, without the element itself: those that are added first
	plus  int   // terms that are added
	reach int   // the largest offset
}

// Set makes e the expansion of a chain in a layout. It keeps the buffers.
func (e *Expansion) Set(strides []int, l Layout) {
	e.l, e.terms, e.back, e.reach = l, l.terms(e.terms[:0], strides), e.back[:0], 0
	for _, neg := range []bool{false, true} {
		e.plus = len(e.back)
		for _, t := range e.terms[1:] {
			if t.neg == neg {
				e.back, e.reach = append(e.back, t.offset), max(e.reach, t.offset)
			}
		}
	}
}

// GroupResiduals sets r to the residuals of the elements of a block from element i on, as far
// as there are any. They are exact up to the end of the cell of element i. Those after it are
// approximate.
func GroupResiduals[T entropy.Lane](e *Expansion, r *[Group]T, y []T, i int) {
	if i >= e.reach && i+Group <= len(y) && e.l.Cell == e.l.N {
		difference(r, y, i, e.back, e.plus)
		return
	}
	k := copy(r[:], y[i:])
	in := i % e.l.Plane % e.l.Cell
	for _, t := range e.terms[1:] {
		j := max(0, t.offset-i, t.inCell-in)
		if j >= k {
			continue
		}
		from := y[i+j-t.offset : i+k-t.offset]
		to := r[j:k]
		to = to[:len(from)]
		if t.neg {
			for x, v := range from {
				to[x] -= v
			}
		} else {
			for x, v := range from {
				to[x] += v
			}
		}
	}
}

// difference sets r to the residuals of the group at i. All neighbours exist. back are the
// distances of the terms: first of those that are added, plus of them, then of the others.
func difference[T entropy.Lane](r *[Group]T, y []T, i int, back []int, plus int) {
	if len(back) == 0 {
		*r = [Group]T(y[i:])
		return
	}
	if narrow, ok := any(r).(*[Group]uint32); ok {
		kernels.Deltas(narrow, any(y).([]uint32), i, back, plus)
		return
	}
	*r = [Group]T(y[i:])
	for k, d := range back {
		x := (*[Group]T)(y[i-d:])
		if k < plus {
			for j := range r {
				r[j] += x[j]
			}
		} else {
			for j := range r {
				r[j] -= x[j]
			}
		}
	}
}
