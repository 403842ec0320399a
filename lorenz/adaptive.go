package lorenz

import (
	"cmp"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// adaptiveWriter has the buffers for modeAdaptive.
type adaptiveWriter[T lane] struct {
	adaptive.Encoder[T]
	spans []adaptive.Span
	short []adaptive.Span
	all   []guess
	near  masks.Mask // the masked elements in a sample and before it
}

// trial is a part of a block that stands for all of it.
type trial struct {
	lo, hi int
	spans  []adaptive.Span // from lo on
	weight float64         // unmasked elements for each one in the part
}

// trial returns a part of about n elements, the whole block if most of those at several
// places are masked.
func (s *shape) trial(buf []adaptive.Span, n, row int) trial {
	t := trial{hi: s.n, spans: buf}
	used := 0
	for eighth := 4; eighth < 12 && used < n/4 && s.n >= 2*n; eighth++ { // from the middle on
		t.lo = max(0, s.n*(eighth%8)/8-n/2) / row * row
		t.hi = min(s.n, t.lo+n)
		t.spans, used = spans(t.spans, &s.mask, t.lo, t.hi), 0
		for _, p := range t.spans {
			used += p.End - p.Start
		}
	}
	if used < n/4 {
		t.lo, t.hi, used = 0, s.n, s.mask.Rank(s.n)
		t.spans = spans(t.spans, &s.mask, 0, s.n)
	}
	for i := range t.spans {
		t.spans[i].Start -= t.lo
		t.spans[i].End -= t.lo
	}
	t.weight = float64(s.mask.Rank(s.n)) / float64(used)
	return t
}

// tryAdaptive appends the block in modeAdaptive if an estimate favors it. size is the
// number of bytes in the best other mode.
func (c *coder[T]) tryAdaptive(s *shape, dst, raw []byte, x *candidate[T], size int) []byte {
	m := s.mask.Rank(s.n)
	if s.typ == Char || s.n < 32 || m == 0 || !near(s.dims).Valid() {
		return dst
	}
	if !s.adaptive && !s.sparse(size) {
		return dst
	}
	a, at := &c.adapt, near(s.dims)
	cost := func(p predict.Predictor, t *trial) float64 {
		return a.Cost(c.part(s, x, p, t.lo, t.hi), t.spans, at) * t.weight
	}
	other := *x
	other.mode = modeAdaptive
	few := s.trial(a.short, s.adaptiveTried, at.North)
	a.short = few.spans
	if !s.adaptiveFirst {
		if (s.adaptiveSparse || !s.sparse(size)) && cost(x.pred, &few) > 8*float64(s.mostAdaptive(size)-len(x.params)) {
			return dst
		}
		return c.write(s, dst, raw, &other, other.pred.Layout(s.n), false)
	}
	many := s.trial(a.spans, 2*s.adaptiveTried, at.North)
	a.spans = many.spans
	best := cost(x.pred, &many)
	a.all = a.all[:0]
	for _, p := range c.probe.candidates(s) {
		if x.u != nil || !p.IsFloat() {
			a.all = append(a.all, guess{p, cost(p, &few)})
		}
	}
	slices.SortStableFunc(a.all, func(a, b guess) int { return cmp.Compare(a.cost, b.cost) })
	for _, g := range a.all[:min(4, len(a.all))] {
		if k := cost(g.Predictor, &many); k < best*betterModel {
			best, other.pred = k, g.Predictor
		}
	}
	start := len(dst)
	dst = c.write(s, dst, raw, &other, other.pred.Layout(s.n), false)
	if s.sparse(size) {
		mid := len(dst)
		other.pred = x.pred
		dst = c.write(s, dst, raw, &other, other.pred.Layout(s.n), false)
		if len(dst)-mid < mid-start {
			return append(dst[:start], dst[mid:]...)
		}
		dst = dst[:mid]
	}
	return dst
}

// part returns the residuals of the elements from lo to hi. Residuals near masked elements are
// approximate.
func (c *coder[T]) part(s *shape, x *candidate[T], p predict.Predictor, lo, hi int) []T {
	if p.IsFloat() {
		c.diff[0] = entropy.Grow(c.diff[0], hi-lo)
		predict.FloatResiduals(c.diff[0], x.u, p.Layout(s.n), p.Float, lo)
		return c.diff[0]
	}
	from := lo
	for _, d := range p.Chain {
		from -= d
	}
	from = max(from, 0)
	c.adapt.near.Runs = c.adapt.near.Runs[:0]
	first, _ := slices.BinarySearchFunc(s.mask.Runs, from, func(r masks.Run, at int) int { return cmp.Compare(int(r.End), at+1) })
	for _, r := range s.mask.Runs[first:] {
		if int(r.Start) >= hi {
			break
		}
		c.adapt.near.Runs = append(c.adapt.near.Runs, masks.Run{Start: max(r.Start, int32(from)), End: min(r.End, int32(hi))})
	}
	predict.Fill(x.y, predict.Whole(s.n), p.Chain, &c.adapt.near)
	return predict.Differentiate(x.y[from:hi], predict.Whole(hi-from), p.Chain, &c.diff)[lo-from:]
}

// adapted decodes the residuals of a block in modeAdaptive.
func adapted[T lane](b *block, m **adaptive.Model[T], y []T) bool {
	if *m == nil {
		*m = new(adaptive.Model[T])
	}
	return (*m).Decode(&b.rest, y, b.mask.EachUnmasked, b.near, b.stop) && len(b.rest.Buf) == 0
}
