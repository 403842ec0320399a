package formats

import (
	"context"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// axis is the part of a selection in one dimension.
type axis struct {
	dim                 int // in the header
	start, count, delta int64
	keep                bool // a dimension of the result
}

// resolved is a selection that was applied to a variable.
type resolved struct {
	axes  []axis
	cells []Cell   // of single values, in the order of dimensions
	cuts  []string // how ranges differ from the requested ones
}

// resolve applies a selection to a variable as Python does: ranges are cut to the
// dimension, indices must lie in it, and dimensions without a subscript are selected
// whole. Unless nearest is set, values must lie on the axis.
func (s *Selection) resolve(ctx context.Context, src slab.Source, v *cdf3.Var, nearest bool) (r resolved, err error) {
	h := src.Header()
	rank := len(v.Shape)
	out := make([]axis, rank)
	cells := make([]*Cell, rank)
	named := make([]bool, rank)
	var subs []subscript
	for i := range s.subs {
		if s.subs[i].kind != subValue {
			subs = append(subs, s.subs[i])
			continue
		}
		sub := &s.subs[i]
		k := slices.IndexFunc(v.DimIDs, func(d int) bool { return h.Dims[d].Name == sub.dim })
		switch {
		case k < 0:
			return r, fmt.Errorf("%s: expected a dimension of %s before =, found %s; it has %s", s.Text, quoted(v.Name), quoted(sub.dim), dimsText(h, v))
		case named[k]:
			return r, fmt.Errorf("%s: expected dimension %s once, found it twice", s.Text, quoted(sub.dim))
		}
		named[k] = true
		t, err := sub.values.resolve(ctx, src, v.DimIDs[k], nearest)
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.Text, err)
		}
		out[k], cells[k] = t.axis, t.cell
		if t.cut != "" {
			r.cuts = append(r.cuts, t.cut)
		}
	}
	given := len(subs)
	wide := slices.IndexFunc(subs, func(s subscript) bool { return s.kind == subEllipsis })
	if wide >= 0 {
		given--
	}
	if given > rank {
		things := "indices"
		if given == 1 {
			things = "index"
		}
		return r, fmt.Errorf("%s: found %d %s, and %s has %s", s.Text, given, things, quoted(v.Name), dimsText(h, v))
	}
	for i := range out {
		sub, ok := subscript{}, false
		switch {
		case wide < 0 || i < wide:
			if ok = i < len(subs); ok {
				sub = subs[i]
			}
		case i >= rank-(given-wide):
			sub, ok = subs[i-rank+len(subs)], true
		}
		switch {
		case named[i] && ok:
			return r, fmt.Errorf("%s: dimension %s has an index and a value", s.Text, dimName(h, v, i))
		case named[i]:
		default:
			if out[i], err = sub.resolve(v.Shape[i]); err != nil {
				return r, fmt.Errorf("%s: dimension %s of %s has length %d: %w", s.Text, dimName(h, v, i), quoted(v.Name), v.Shape[i], err)
			}
		}
		out[i].dim = v.DimIDs[i]
	}
	for _, c := range cells {
		if c != nil {
			r.cells = append(r.cells, *c)
		}
	}
	r.axes = out
	return r, nil
}

// resolve applies an index or a range of indices to a dimension of length n.
func (s *subscript) resolve(n int64) (axis, error) {
	if s.kind == subIndex {
		i := s.lo.n
		if i < 0 {
			i += n
		}
		switch {
		case i >= 0 && i < n:
			return axis{start: i, count: 1, delta: 1}, nil
		case n == 0:
			return axis{}, fmt.Errorf("there is no index %s", s.text)
		}
		return axis{}, fmt.Errorf("there is no index %s, expected %d to %d", s.text, -n, n-1)
	}
	step := int64(1)
	if s.step.set {
		step = s.step.n
	}
	// The limits of a bound. The far end may be one beyond the dimension.
	least, most := int64(0), n
	if step < 0 {
		least, most = -1, n-1
	}
	at := func(b bound, missing int64) int64 {
		switch {
		case !b.set:
			return missing
		case b.n < 0:
			return max(b.n+n, least)
		}
		return min(b.n, most)
	}
	a := axis{delta: step, keep: true}
	if step > 0 {
		lo, hi := at(s.lo, 0), at(s.hi, n)
		if lo < hi {
			a.start, a.count = lo, (hi-lo-1)/step+1
		}
	} else {
		lo, hi := at(s.lo, n-1), at(s.hi, -1)
		if lo > hi {
			a.start, a.count = lo, (lo-hi-1)/-step+1
		}
	}
	if a.count <= 1 {
		a.delta = 1
	}
	return a, nil
}
