package lorenz

import "math"

// This file is the place where the encoder chooses what a block becomes. Encode tries, in this
// order:
//
//  1. a constant block, and a netCDF header in the mode matches;
//  2. numbers, encodeNumbers: which values are special, which transform (each with the predictor
//     that suits it best), and then, in encodeCandidate, which of the modes groups, references,
//     contexts and adaptive;
//  3. text, for elements of one byte;
//  4. matches;
//  5. parts, for stacks;
//  6. the raw block, if nothing else is shorter.
//
// The files named after these steps hold the trials. How thorough they are, and how much a slow
// mode must save, depends on the level, the type and the length of the block: see levels.go.

// encodeNumbers chooses the special values, the transform and the predictor, and appends the block in
// the shortest of the modes groups, adaptive and references. c has lanes of the elements' width,
// narrow those of 32 bits.
func encodeNumbers[T lane](s *shape, dst []byte, raw []byte, c *coder[T], narrow *coder[uint32]) []byte {
	s.mask.Runs = s.mask.Runs[:0]
	findSpecials(s, c)
	best := candidate[T]{mode: modeGroups, kind: mapOrder, y: lanesOf(c.y, c.u, s)}
	c.y = best.y
	if s.typ.float() {
		best.u = c.u
	}
	var small *candidate[uint32]
	limit := math.Inf(1)
	try := func(t transformed[T]) {
		if t.y32 != nil {
			x := candidate[uint32]{mode: modeGroups, kind: t.kind, params: t.params, patches: t.patches, y: t.y32, cost: t.cost}
			narrow.search(s, &x)
			if x.kind == mapSingle {
				x.cost *= narrowFavour
			}
			if x.cost < limit {
				limit, small = x.cost, &x
			}
			return
		}
		x := candidate[T]{mode: modeGroups, kind: t.kind, params: t.params, patches: t.patches, y: t.y, cost: t.cost}
		c.search(s, &x)
		if x.cost < limit {
			limit, best, small = x.cost, x, nil
		}
	}
	plain := best
	for _, t := range transforms(s, c) {
		try(t)
	}
	if pred := best.pred; limit < math.Inf(1) {
		if small != nil {
			pred = small.pred
		}
		plain.cost = c.costWith(s, &plain, pred)
	}
	// The predictor of a transform is about the best without it, too.
	if plainFavour*plain.cost < limit || s.all {
		plain.cost = 0
		c.search(s, &plain)
		if plain.cost < limit {
			limit, best, small = plain.cost, plain, nil
		}
	}
	without := small
	full := func() bool { return small != nil && small.kind != mapSingle && c.full(s, small.y, limit) }
	if s.recurs() && s.dear(limit) && !full() {
		if t, ok := withDictionary(s, c, limit); ok {
			try(t)
		}
	}
	if small == nil {
		return c.encodeCandidate(s, dst, raw, &best)
	}
	start := len(dst)
	dst = narrow.encodeCandidate(s, dst, raw, small)
	if small.kind != mapDict {
		return dst
	}
	// Where values recur, references to them take less than a dictionary and its indices.
	mid := len(dst)
	dst = c.tryReferences(s, dst, raw, &plain, mid-start)
	dst = shorter(dst, start, mid, s.references.saving.most)
	if !s.all {
		return dst
	}
	// The adaptive mode can be shorter without a dictionary, whose bytes it does not shorten.
	mid = len(dst)
	if without != nil {
		dst = narrow.encodeCandidate(s, dst, raw, without)
	} else {
		dst = c.encodeCandidate(s, dst, raw, &best)
	}
	return shorter(dst, start, mid, saving{}.most)
}

// shorter removes one of two forms of a block from the end of dst: the first, from start on, if the
// second, from mid on, is not empty and needs fewer bytes than most allows; else the second.
func shorter(dst []byte, start, mid int, most func(size int) int) []byte {
	if n := len(dst) - mid; n > 0 && n < most(mid-start) {
		return append(dst[:start], dst[mid:]...)
	}
	return dst[:mid]
}

// encodeCandidate appends a block in the shortest mode for its transform. raw are the big-endian
// elements.
func (c *coder[T]) encodeCandidate(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	start := len(dst)
	dst = c.encodeGroups(s, dst, raw, x)
	s.ranged = dst[start+1]&flagCells != 0
	if s.groupsOnly {
		return dst
	}
	others := []struct {
		try  func(size int) []byte // appends nothing if the mode is not likely to be worth it
		most func(size int) int    // it is taken if it needs fewer bytes than this, where the best so far needs size
	}{
		{func(int) []byte { return c.tryRepeats(s, dst, raw, x) }, s.repeats.saving.most},
		{func(size int) []byte { return c.tryReferences(s, dst, raw, x, size) }, s.references.saving.most},
		{func(size int) []byte { return c.tryContexts(s, dst, raw, x, size) }, s.contexts.saving.most},
		{func(size int) []byte { return c.tryAdaptive(s, dst, raw, x, size) }, s.mostAdaptive},
	}
	if s.all { // these two are mostly best, and the others are not tried if they are likely to be worse
		others[0], others[1], others[2], others[3] = others[2], others[3], others[1], others[0]
	}
	for _, other := range others {
		mid := len(dst)
		s.best = dst[start]
		dst = shorter(other.try(mid-start), start, mid, other.most)
	}
	return dst
}

// mostAdaptive returns the limit of the adaptive mode, which is taken only if it needs fewer bytes
// than this, where the best other mode needs size.
func (s *shape) mostAdaptive(size int) int {
	if s.best == modeContexts {
		return s.adaptive.contexts.most(size)
	}
	if s.sparse(size) {
		return s.adaptive.sparse.most(size)
	}
	return s.adaptive.saving.most(size)
}

// sparse reports whether most residuals of a block that takes size bytes in another mode
// are zeros. Zeros are coded fast in modeAdaptive, but estimates for them are poor.
func (s *shape) sparse(size int) bool { return 16*size < 3*s.mask.Rank(s.n) }
