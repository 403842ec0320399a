package lorenz

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/repeats"
)

// write appends a block with a layout. One in modeAdaptive that does not save enough is not appended.
func (c *coder[T]) write(s *shape, dst, raw []byte, x *candidate[T], l predict.Layout, again bool) []byte {
	start := len(dst)
	c.form = x.formIn(l != predict.Whole(s.n), again)
	s.written = Choice{form: c.form, kind: x.kind, params: x.params, pred: x.pred, layout: l, bits: x.cost / float64(max(s.mask.Rank(s.n), 1))}
	flags := byte(s.specials)
	if x.pred.IsFloat() {
		flags |= flagFloat
	}
	if l != predict.Whole(s.n) {
		flags |= flagCells
	}
	if len(x.patches) > 0 {
		flags |= flagPatches
	}
	if entropy.LaneBits[T]() == 64 {
		flags |= flagWide
	}
	if again {
		flags |= flagRepeats
	}
	dst = append(dst, x.mode, flags, x.kind)
	if flags&flagCells != 0 {
		dst = entropy.AppendUvarint(entropy.AppendUvarint(dst, uint64(l.Plane)), uint64(l.Cell))
	}
	dst = x.pred.Append(dst)
	w := &c.w
	w.Dst, w.Quick = dst, s.quickGroups
	w.Dst = append(w.Dst, s.head...)
	w.Dst = append(w.Dst, x.params...)
	if len(x.patches) > 0 {
		appendPatches(&w.StreamWriter, x.patches, raw, s.size)
	}
	if x.mode == modeAdaptive {
		a := &c.adapt
		a.spans = spans(a.spans, &s.mask, 0, s.n)
		most := math.MaxInt
		if x.most > 0 {
			most = x.most - (len(w.Dst) - start)
		}
		dst, ok := a.Encode(w.Dst, c.uncut(s, x, l), a.spans, near(s.dims), most)
		if w.Dst = nil; !ok {
			return dst[:start]
		}
		return dst
	}
	if x.mode == modeContexts {
		dst, w.Dst = c.ctx.Append(w.Dst), nil
		if s.hints {
			s.written.model = c.ctx.Model()
		}
		return dst
	}
	r := c.residuals(s, x, l)
	if again {
		f := &c.find
		c.lits = repeats.Parse(f, r, c.lits, x.cost/float64(len(r)), s.repeats.depth)
		w.Dst = entropy.AppendUvarint(w.Dst, uint64(len(f.Lits)))
		w.Numbers(f.Lits)
		w.Numbers(f.Lens)
		w.Numbers(f.Dist)
		r = c.lits
	}
	if x.mode == modeReferences {
		c.references(s, x, start, r)
	} else {
		w.Write(r, false)
	}
	dst, w.Dst = w.Dst, nil
	return dst
}

// setHead makes the bytes of the mask, which all forms of a block have.
func (s *shape) setHead(w *entropy.StreamWriter) {
	if s.specials == 0 {
		return
	}
	for _, p := range s.mask.Patterns[:s.specials] {
		s.head = append(s.head, p...)
	}
	w.Dst = entropy.AppendUvarint(s.head, uint64(s.dist))
	w.Dst = entropy.AppendUvarint(w.Dst, uint64(len(s.nums)))
	w.Numbers(s.nums)
	s.head, w.Dst = w.Dst, nil
}

// formIn returns the form in which the candidate is written.
func (x *candidate[T]) formIn(cells, again bool) form {
	switch {
	case x.mode == modeAdaptive:
		return formAdaptive
	case x.mode == modeContexts && cells:
		return formColumns
	case x.mode == modeContexts:
		return formContexts
	case x.mode == modeReferences:
		return formReferences
	case again:
		return formRepeats
	case cells:
		return formCells
	}
	return formGroups
}

// appendPatches appends elements that are stored separately.
func appendPatches(w *entropy.StreamWriter, at []int32, raw []byte, size int) {
	nums := make([]uint64, len(at))
	prev := int32(0)
	for i, e := range at {
		nums[i] = uint64(e - prev)
		prev = e
	}
	w.Dst = entropy.AppendUvarint(w.Dst, uint64(len(at)))
	w.Numbers(nums)
	for _, e := range at {
		w.Dst = append(w.Dst, raw[int(e)*size:(int(e)+1)*size]...)
	}
}

// residuals returns the residuals of the elements that are not masked. They must
// not be changed.
func (c *coder[T]) residuals(s *shape, x *candidate[T], l predict.Layout) []T {
	y := c.uncut(s, x, l)
	if l.Cell == l.Plane || l.Plane == l.N {
		return c.compact(&s.mask, y)
	}
	// The same cell of all planes, and then the next cell.
	c.r = entropy.Grow(c.r, len(y))
	k := 0
	for at := 0; at < l.Plane; at += l.Cell {
		for p := 0; p < l.N; p += l.Plane {
			k += masks.Compact(&s.mask, c.r[k:], y[:p+min(at+l.Cell, l.Plane)], p+at)
		}
	}
	return c.r[:k]
}

// uncut returns the residuals of all elements. They must not be changed.
func (c *coder[T]) uncut(s *shape, x *candidate[T], l predict.Layout) []T {
	if f := x.pred.Float; x.pred.IsFloat() {
		c.diff[0] = entropy.Grow(c.diff[0], s.n)
		predict.FillFloats(x.u, l, f, &s.mask)
		predict.FloatResiduals(c.diff[0], x.u, l, f, 0)
		return c.diff[0]
	}
	predict.Fill(x.y, l, x.pred.Chain, &s.mask)
	return predict.Differentiate(x.y, l, x.pred.Chain, &c.diff)
}

// compact returns the elements that are not masked.
func (c *coder[T]) compact(m *masks.Mask, y []T) []T {
	if len(m.Runs) == 0 {
		return y
	}
	c.r = entropy.Grow(c.r, len(y))
	return c.r[:masks.Compact(m, c.r, y, 0)]
}
