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
	few   []part
	many  []part
	all   []guess
	near  masks.Mask // the masked elements in a sample and before it
}

// sample is parts of a block that stand for all of it.
type sample struct {
	parts  []part
	weight float64 // unmasked elements for each one in the parts
}

// part is a range of elements of a block.
type part struct {
	lo, hi int
	spans  []adaptive.Span // unmasked elements, relative to lo
}

// partLen is the length of a part of a sample, in elements.
const partLen = 1024

// sample returns parts of about n elements at even distances, or the whole block if most elements
// at these places are masked.
func (s *shape) sample(buf []part, n, row int) sample {
	places := max(n/partLen, 1)
	size := n / places
	all, used := buf[:0], 0
	if s.n >= 2*n {
		for i := range places {
			p := s.partIn(all, s.n*i/places, s.n*(i+1)/places, size, row)
			all = append(all, p)
			used += p.unmasked()
		}
	}
	if used < n/4 {
		all = append(all[:0], s.part(all[:0], 0, s.n))
		used = s.mask.Rank(s.n)
	}
	return sample{all, float64(s.mask.Rank(s.n)) / float64(used)}
}

// partIn returns a part of the elements from lo to hi: in the middle, or elsewhere if most of that
// is masked.
func (s *shape) partIn(buf []part, lo, hi, size, row int) (p part) {
	for eighth := 4; eighth < 12; eighth++ {
		at := max(lo, lo+(hi-lo)*(eighth%8)/8-size/2) / row * row
		if p = s.part(buf, at, min(s.n, at+size)); p.unmasked() >= size/4 {
			break
		}
	}
	return p
}

// part returns the elements from lo to hi. buf may have memory after its end.
func (s *shape) part(buf []part, lo, hi int) part {
	p := part{lo: lo, hi: hi}
	if len(buf) < cap(buf) {
		p.spans = buf[:cap(buf)][len(buf)].spans
	}
	p.spans = spans(p.spans, &s.mask, lo, hi)
	for i := range p.spans {
		p.spans[i].Start -= lo
		p.spans[i].End -= lo
	}
	return p
}

func (p *part) unmasked() (n int) {
	for _, s := range p.spans {
		n += s.End - s.Start
	}
	return n
}

// tryAdaptive appends the block in modeAdaptive if an estimate favors it.
func (c *coder[T]) tryAdaptive(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	m := s.mask.Rank(s.n)
	if s.typ == Char || s.n < 32 || m == 0 || !near(s.dims).Valid() {
		return dst
	}
	most, sparse := s.limit(formAdaptive), s.sparse(s.best.len)
	if !s.adaptive.dense && !sparse {
		return dst
	}
	a, at := &c.adapt, near(s.dims)
	cost := func(p predict.Predictor, some *sample) (k float64) {
		for _, t := range some.parts {
			k += a.Cost(c.residualsOf(s, x, p, t.lo, t.hi), t.spans, at)
		}
		return k * some.weight
	}
	other := *x
	other.mode, other.most = modeAdaptive, most
	few := s.sample(a.few, s.adaptive.sample, at.North)
	a.few = few.parts
	many := s.sample(a.many, 2*s.adaptive.sample, at.North)
	a.many = many.parts
	if !s.all {
		if s.adaptive.each || !sparse {
			// Two places promise too much where fields differ from row to row, such as by latitude.
			limit := 8 * float64(most-len(x.params))
			if cost(x.pred, &few) > limit || cost(x.pred, &many) > limit {
				return dst
			}
		}
		return c.write(s, dst, raw, &other, other.pred.Layout(s.n), false)
	}
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
	if sparse {
		mid := len(dst)
		other.pred = x.pred
		dst = c.write(s, dst, raw, &other, other.pred.Layout(s.n), false)
		if n := len(dst) - mid; n > 0 && n < mid-start {
			dst = append(dst[:start], dst[mid:]...)
		} else if mid > start {
			dst = dst[:mid]
		}
	}
	return dst
}

// residualsOf returns the residuals of the elements from lo to hi. Residuals near masked elements are
// approximate.
func (c *coder[T]) residualsOf(s *shape, x *candidate[T], p predict.Predictor, lo, hi int) []T {
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
	return adaptively(b, m, y, b.mask.EachUnmasked, b.near)
}

// adaptively decodes the rest of a block with the parts of modeAdaptive.
func adaptively[T lane](b *block, m **adaptive.Model[T], y []T, spans func(visit func(start, end int) bool), near adaptive.Neighbours) bool {
	if *m == nil {
		*m = new(adaptive.Model[T])
	}
	return (*m).Decode(&b.rest, y, spans, near, b.stop) // which takes all that is left
}
