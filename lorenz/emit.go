package lorenz

import "github.com/cdfz-format/cdfz/lorenz/internal/entropy"

// emit appends a block in modeGroups. raw are the big-endian elements.
func (c *coder[T]) emit(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	start := len(dst)
	dst = c.emitRanged(s, dst, raw, x)
	if s.level == Fast {
		return dst
	}
	// A block that cannot be decoded in ranges must be clearly shorter.
	for _, other := range []struct {
		emit func() []byte
		part int // that must be saved
	}{
		{func() []byte { return c.emitRepeats(s, dst, raw, x) }, 16},
		{func() []byte { return c.emitTransposed(s, dst, raw, x) }, 16},
		{func() []byte { return c.emitReferences(s, dst, raw, x, len(dst)-start) }, 32},
	} {
		mid := len(dst)
		dst = other.emit()
		if a, b := mid-start, len(dst)-mid; b > 0 && b < a-a/other.part {
			dst = append(dst[:start], dst[mid:]...)
			continue
		}
		dst = dst[:mid]
	}
	mid := len(dst)
	dst = c.emitAdaptive(s, dst, raw, x, mid-start)
	if b := len(dst) - mid; b > 0 && b < s.worth(mid-start) {
		return append(dst[:start], dst[mid:]...)
	}
	return dst[:mid]
}

// emitTransposed appends the block with the residuals of each column of a narrow array
// together, if that is likely to pay off.
func (c *coder[T]) emitTransposed(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	narrow := 0
	if st := strides(s.dims); len(st) > 1 && st[1] <= 64 {
		narrow = st[1]
	}
	if narrow == 0 || s.lacks(Transposition) || s.specials > 0 || s.n < 256 || x.pred.layout(s.n) != whole(s.n) {
		return dst
	}
	r := c.residuals(s, x, whole(s.n))
	plain := costOf(r)
	c.lits = transpose(entropy.Grow(c.lits, len(r)), r, narrow)
	if costOf(c.lits) > plain-plain/16 {
		return dst
	}
	x.transposed = narrow
	dst = c.write(s, dst, raw, x, whole(s.n), false)
	x.transposed = 0
	return dst
}

// costOf estimates the bits of residuals in units of 2^-entropy.LogFrac, taking into
// account how similar the values of a group are.
func costOf[T lane](r []T) int {
	sum := 0
	for ; len(r) >= entropy.GroupLen; r = r[entropy.GroupLen:] {
		var l [entropy.GroupLen]int
		mean := 0
		for i, v := range r[:entropy.GroupLen] {
			neg := -(v >> (entropy.LaneBits[T]() - 1))
			l[i] = int(entropy.Log2(v<<1 ^ neg))
			mean += l[i]
		}
		mean /= entropy.GroupLen
		for _, x := range l {
			sum += max(x, mean)
		}
	}
	return sum
}

// transpose takes every s-th element, from the first s ones on.
func transpose[T lane](dst, src []T, s int) []T {
	k := 0
	for j := range s {
		for i := j; i < len(src); i += s {
			dst[k] = src[i]
			k++
		}
	}
	return dst
}

// emitRanged appends a block whose ranges can be decoded, unless that costs too
// much.
func (c *coder[T]) emitRanged(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	base := x.pred.layout(s.n)
	l := base
	c.probe.y, c.probe.bits = x.y, x.u
	for parts := 16; parts >= 4 && !s.lacks(Cells); parts /= 2 {
		// Cells must not cost more than 1 %.
		if try := cellsFor(s, x, parts); try != base && c.probe.cellLoss(x.pred, try) < x.cost/100 {
			l = try
			break
		}
	}
	return c.write(s, dst, raw, x, l, false)
}

// emitRepeats appends the block with repeats if many residuals recur, without a
// predictor, with differences, or for integers with the chosen chain.
func (c *coder[T]) emitRepeats(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	bits := x.cost / float64(s.mask.rank(s.n)+1) // per value
	run := int(min(max(40/max(bits, 0.1), 1), 24))
	r := c.compact(&s.mask, x.y)
	best, share := predictor{}, recurring(&c.find, r, run)
	c.diff[0] = entropy.Grow(c.diff[0], len(r))
	subStride(c.diff[0], r, 1)
	if k := recurring(&c.find, c.diff[0], run); k > share+0.02 {
		best, share = predictor{chain: []int{1}}, k
	}
	if len(x.pred.chain) > 0 && (!s.typ.float() || x.kind == mapDict || s.level == Max) {
		if k := recurring(&c.find, c.residuals(s, x, whole(s.n)), run); k > share+0.02 {
			best, share = x.pred, k
		}
	}
	// Residuals that do not recur cost as much as with this chain alone.
	p := &c.probe
	p.y, p.bits = x.y, nil
	p.sample(p.step(72), &s.mask)
	if share >= 0.12 && !s.lacks(Repeats) && (1-share)*p.cost(best, whole(s.n)) < x.cost {
		other := *x
		other.pred = best
		dst = c.write(s, dst, raw, &other, whole(s.n), true)
	}
	return dst
}

// cellsFor returns a layout in which a range needs about one of parts parts of the
// block.
func cellsFor[T lane](s *shape, x *candidate[T], parts int) layout {
	l := x.pred.layout(s.n)
	if s.n < 8192 || !x.pred.isFloat() && len(x.pred.chain) == 0 {
		return l
	}
	st := strides(s.dims)
	row := 1
	if len(st) > 1 {
		row = st[1]
	}
	deepest := 0 // the largest stride
	for _, d := range x.pred.chain {
		deepest = max(deepest, d)
	}
	if f := x.pred.float; f.kind != 0 {
		row, deepest = f.row, f.row
		if f.deep() {
			deepest = f.plane
		}
	}
	part := (s.n + parts - 1) / parts
	deep := x.pred.isFloat() && x.pred.float.deep()
	if !deep && (deepest <= part/4 || !contains(st, deepest)) {
		// Runs of whole rows, or of whole planes.
		unit := row
		for _, d := range st {
			if d <= deepest {
				unit = d
			}
		}
		if x.pred.isFloat() && unit < row {
			unit = row
		}
		return layout{s.n, s.n, min((part+unit-1)/unit*unit, s.n)}
	}
	// The same rows of each plane, unless planes are so small that a range would need
	// all of the streams anyway.
	plane := deepest
	if plane <= 2*entropy.ChunkSyms {
		return l
	}
	rows := (plane/row + parts - 1) / parts
	return layout{s.n, plane, rows * row}
}

func contains(s []int, v int) bool {
	for _, x := range s {
		if x == v {
			return true
		}
	}
	return false
}

// write appends a block with a layout.
func (c *coder[T]) write(s *shape, dst, raw []byte, x *candidate[T], l layout, repeats bool) []byte {
	flags := byte(s.specials)
	if x.pred.isFloat() {
		flags |= flagFloat
	}
	if l != whole(s.n) {
		flags |= flagCells
	}
	if len(x.patches) > 0 {
		flags |= flagPatches
	}
	if entropy.LaneBits[T]() == 64 {
		flags |= flagWide
	}
	if repeats {
		flags |= flagRepeats
	}
	if x.transposed > 0 {
		flags |= flagTransposed
	}
	dst = append(dst, x.mode, flags, x.kind)
	if flags&flagCells != 0 {
		dst = entropy.AppendUvarint(entropy.AppendUvarint(dst, uint64(l.plane)), uint64(l.cell))
	}
	dst = x.pred.append(dst)
	if x.transposed > 0 {
		dst = entropy.AppendUvarint(dst, uint64(x.transposed))
	}
	w := &c.w
	w.Dst, w.Quick, w.Whole = dst, s.level == Fast || s.lacks(Classes), s.lacks(TrailingZeros)
	if s.specials > 0 {
		for _, p := range s.mask.patterns[:s.specials] {
			w.Dst = append(w.Dst, p...)
		}
		w.Dst = entropy.AppendUvarint(w.Dst, uint64(s.dist))
		w.Dst = entropy.AppendUvarint(w.Dst, uint64(len(s.nums)))
		w.Numbers(s.nums)
	}
	w.Dst = append(w.Dst, x.params...)
	if len(x.patches) > 0 {
		appendPatches(&w.StreamWriter, x.patches, raw, s.size)
	}
	if x.mode == modeAdaptive {
		a := &c.adapt
		a.spans = s.mask.spans(a.spans, 0, s.n)
		dst, w.Dst = a.Encode(w.Dst, c.uncut(s, x, l), a.spans, near(s.dims), x.weighted), nil
		return dst
	}
	r := c.residuals(s, x, l)
	if x.transposed > 0 {
		r = transpose(entropy.Grow(c.lits, len(r)), r, x.transposed)
	}
	if repeats {
		f := &c.find
		c.lits = parse(f, r, c.lits, x.cost/float64(len(r)), 16)
		w.Dst = entropy.AppendUvarint(w.Dst, uint64(len(f.lits)))
		w.Numbers(f.lits)
		w.Numbers(f.lens)
		w.Numbers(f.dist)
		r = c.lits
	}
	if x.mode == modeReferences {
		r = c.references(s, x, r)
	}
	w.Write(r, false)
	dst, w.Dst = w.Dst, nil
	return dst
}

// layout returns the layout without cells.
func (p predictor) layout(n int) layout {
	if p.isFloat() {
		return p.float.layout(n)
	}
	return whole(n)
}

// append appends the predictor.
func (p predictor) append(dst []byte) []byte {
	if p.isFloat() {
		dst = entropy.AppendUvarint(append(dst, byte(p.float.kind)), uint64(p.float.row))
		if p.float.deep() {
			dst = entropy.AppendUvarint(dst, uint64(p.float.plane))
		}
		return dst
	}
	dst = append(dst, byte(len(p.chain)))
	for _, s := range p.chain {
		dst = entropy.AppendUvarint(dst, uint64(s))
	}
	return dst
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
func (c *coder[T]) residuals(s *shape, x *candidate[T], l layout) []T {
	return c.compact(&s.mask, c.uncut(s, x, l))
}

// uncut returns the residuals of all elements. They must not be changed.
func (c *coder[T]) uncut(s *shape, x *candidate[T], l layout) []T {
	if f := x.pred.float; x.pred.isFloat() {
		c.diff[0] = entropy.Grow(c.diff[0], s.n)
		fillFloats(x.u, l, f, &s.mask)
		floatResiduals(c.diff[0], x.u, l, f, 0)
		return c.diff[0]
	}
	fill(x.y, l, x.pred.chain, &s.mask)
	return differentiate(x.y, l, x.pred.chain, &c.diff)
}

// compact returns the elements that are not masked.
func (c *coder[T]) compact(m *mask, y []T) []T {
	if len(m.runs) == 0 {
		return y
	}
	c.r = entropy.Grow(c.r, len(y))
	k := copy(c.r, y[:m.runs[0].start])
	for i, run := range m.runs {
		next := len(y)
		if i+1 < len(m.runs) {
			next = int(m.runs[i+1].start)
		}
		k += copy(c.r[k:], y[run.end:next])
	}
	return c.r[:k]
}
