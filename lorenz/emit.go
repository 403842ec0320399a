package lorenz

import (
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/repeats"
)

// emit appends a block in modeGroups. raw are the big-endian elements.
func (c *coder[T]) emit(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	start := len(dst)
	dst = c.emitRanged(s, dst, raw, x)
	if s.level == Fast {
		return dst
	}
	// A block that cannot be decoded in ranges must be clearly shorter, except at Max.
	less := func(part int) func(size int) int {
		return func(size int) int {
			if s.level == Max {
				return size
			}
			return size - size/part
		}
	}
	others := []struct {
		emit  func(size int) []byte
		worth func(size int) int // the most bytes that are taken, given those of the best other
	}{
		{func(int) []byte { return c.emitRepeats(s, dst, raw, x) }, less(16)},
		{func(size int) []byte { return c.emitReferences(s, dst, raw, x, size) }, less(32)},
		{func(size int) []byte { return c.emitAdaptive(s, dst, raw, x, size) }, s.worth},
	}
	if s.level == Max { // it is mostly best, and the others are not tried if they are likely to be worse
		last := len(others) - 1
		others[0], others[last] = others[last], others[0]
	}
	for _, other := range others {
		mid := len(dst)
		dst = other.emit(mid - start)
		if n := len(dst) - mid; n > 0 && n < other.worth(mid-start) {
			dst = append(dst[:start], dst[mid:]...)
			continue
		}
		dst = dst[:mid]
	}
	return dst
}

// emitRanged appends a block whose ranges can be decoded, unless that costs too
// much.
func (c *coder[T]) emitRanged(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	base := x.pred.Layout(s.n)
	l := base
	c.probe.y, c.probe.bits = x.y, x.u
	for parts := 32; parts >= 4 && !s.small(); parts /= 2 {
		// Cells must not cost more than 1 %.
		if try := cellsFor(s, x, parts); try != base && c.probe.cellLoss(s, x.pred, try) < x.cost/100 {
			l = try
			break
		}
	}
	return c.write(s, dst, raw, x, l, false)
}

// emitRepeats appends the block with repeats if many residuals recur, without a
// predictor, with differences, or for integers with the chosen chain.
func (c *coder[T]) emitRepeats(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	bits := x.cost / float64(s.mask.Rank(s.n)+1) // per value
	run := int(min(max(40/max(bits, 0.1), 1), 24))
	r := c.compact(&s.mask, x.y)
	type trial struct {
		pred  predict.Predictor
		share float64
		known bool // the cost, as that of x
	}
	var trials [3]trial
	n, share := 0, 0.0
	try := func(pred predict.Predictor, r []T, known bool) {
		k := min(repeats.Recurring(&c.find, r, run, s.typ == Float32 && s.level != Max), 1)
		trials[n] = trial{pred, k, known}
		n++
		share = max(share, k)
	}
	try(predict.Predictor{}, r, false)
	c.diff[0] = entropy.Grow(c.diff[0], len(r))
	predict.Subtract(c.diff[0], r, 1)
	try(predict.Predictor{Chain: []int{1}}, c.diff[0], false)
	// The residuals of floats recur where the floats do.
	if l := x.pred.Layout(s.n); l == predict.Whole(s.n) && (len(x.pred.Chain) > 0 || x.pred.IsFloat()) &&
		(!s.typ.float() || share >= 0.05 || s.level == Max) {
		try(x.pred, c.residuals(s, x, l), true)
	}
	if share < 0.12 {
		return dst
	}
	p := &c.probe
	p.y, p.bits = x.y, nil
	p.sample(p.step(72), &s.mask)
	params := float64(8 * len(x.params))
	var best predict.Predictor
	top, rest := 0.0, math.Inf(1)
	for _, t := range trials[:n] {
		cost := x.cost - params
		if !t.known {
			cost = p.cost(t.pred, predict.Whole(s.n))
		}
		// Residuals that do not recur cost as much as with this predictor alone.
		left := (1 - t.share) * cost
		if s.typ.float() && left < rest || !s.typ.float() && t.share > top+0.02 {
			best, rest = t.pred, left
		}
		top = max(top, t.share)
	}
	least := 0.0 // bits that it must save
	if s.typ == Float32 && s.level != Max {
		least = x.cost / 16
	}
	if rest < x.cost-params-least {
		other := *x
		other.pred = best
		dst = c.write(s, dst, raw, &other, predict.Whole(s.n), true)
	}
	return dst
}

// cellsFor returns a layout in which a range needs about one of parts parts of the
// block.
func cellsFor[T lane](s *shape, x *candidate[T], parts int) predict.Layout {
	l := x.pred.Layout(s.n)
	if s.n < 8192 || !x.pred.IsFloat() && len(x.pred.Chain) == 0 {
		return l
	}
	st := strides(s.dims)
	row := 1
	if len(st) > 1 {
		row = st[1]
	}
	deepest := 0 // the largest stride
	for _, d := range x.pred.Chain {
		deepest = max(deepest, d)
	}
	if f := x.pred.Float; f.Kind != 0 {
		row, deepest = f.Row, f.Row
		if f.Deep() {
			deepest = f.Plane
		}
	}
	part := (s.n + parts - 1) / parts
	deep := x.pred.IsFloat() && x.pred.Float.Deep()
	if !deep && (deepest <= part/4 || !slices.Contains(st, deepest)) {
		// Runs of whole rows, or of whole planes.
		unit := row
		for _, d := range st {
			if d <= deepest {
				unit = d
			}
		}
		if x.pred.IsFloat() && unit < row {
			unit = row
		}
		return predict.Layout{N: s.n, Plane: s.n, Cell: min((part+unit-1)/unit*unit, s.n)}
	}
	// The same rows of each plane, unless planes are so small that a range would need
	// all of the streams anyway.
	plane := deepest
	if plane <= 2*entropy.ChunkSyms {
		return l
	}
	parts = min(parts, 16) // shorter cells make whole blocks slower
	rows := (plane/row + parts - 1) / parts
	cells := predict.Layout{N: s.n, Plane: plane, Cell: rows * row}
	for _, d := range x.pred.Chain {
		if !cells.Allows(d) {
			return l // between rows and planes
		}
	}
	return cells
}

// emitReferences appends the block in modeReferences, without a predictor, if an estimate
// favors it. size is the number of bytes in the best other mode.
func (c *coder[T]) emitReferences(s *shape, dst, raw []byte, x *candidate[T], size int) []byte {
	if s.small() {
		return dst
	}
	r := c.compact(&s.mask, x.y)
	if s.typ == Char || len(r) < entropy.GroupLen {
		return dst
	}
	most, length := 9.0, 256
	if s.typ == Float32 { // fields, for which it is slow and rarely pays off
		most, length = 7, 64
		if s.level == Max {
			most = 3.5
		}
	}
	limit := most * float64(size) / float64(len(r))
	if c.refs.Estimate(r, x.signed(s), s.rows(), 4, length, limit) > limit {
		return dst
	}
	other := *x
	other.mode, other.pred = modeReferences, predict.Predictor{}
	return c.write(s, dst, raw, &other, predict.Whole(s.n), false)
}
