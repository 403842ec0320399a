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
// The files named after these steps hold the trials. How much they look at depends on the level, the type and the
// length of the block: see levels.go. Between the results, and whether a trial can pay at all, price.go decides.

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
	if s.recurs() && !full() {
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
	dst = c.tryReferences(s, dst, raw, &plain)
	dst = s.cheaper(dst, start, mid, c.form)
	if !s.unmapped {
		return dst
	}
	first := s.best
	// The adaptive mode can be shorter without a dictionary, whose bytes it does not shorten.
	mid = len(dst)
	if without != nil {
		dst = narrow.encodeCandidate(s, dst, raw, without)
	} else {
		dst = c.encodeCandidate(s, dst, raw, &best)
	}
	second := s.best
	s.best = first
	return s.cheaper(dst, start, mid, second.form)
}

// cheaper removes one of two forms of a block from the end of dst: the best one, from start on, if there is another,
// from mid on, whose price is lower; else the other.
func (s *shape) cheaper(dst []byte, start, mid int, f form) []byte {
	if m := as(f, s.n, len(dst)-mid); m.len > 0 && s.price.better(m, s.best, s.n*s.size) {
		s.best = m
		return append(dst[:start], dst[mid:]...)
	}
	return dst[:mid]
}

// limit returns the bytes below which a form is better than the best one so far.
func (s *shape) limit(f form) int { return s.price.limit(f, s.n, s.n*s.size, s.best) }

// pays reports whether a trial of a form can pay.
func (s *shape) pays(f form) bool { return s.price.pays(f, s.n, s.best) }

// encodeCandidate appends a block in the shortest mode for its transform. raw are the big-endian
// elements.
func (c *coder[T]) encodeCandidate(s *shape, dst, raw []byte, x *candidate[T]) []byte {
	start := len(dst)
	dst = c.encodeGroups(s, dst, raw, x)
	s.best = as(c.form, s.n, len(dst)-start)
	trials := []struct {
		form form
		try  func() []byte // appends nothing if the form is not likely to be better
	}{
		{formRepeats, func() []byte { return c.tryRepeats(s, dst, raw, x) }},
		{formReferences, func() []byte { return c.tryReferences(s, dst, raw, x) }},
		{formContexts, func() []byte { return c.tryContexts(s, dst, raw, x) }},
		{formAdaptive, func() []byte { return c.tryAdaptive(s, dst, raw, x) }},
	}
	if s.all { // these two are mostly best, and the others are not tried if they are likely to be worse
		trials[0], trials[1], trials[2], trials[3] = trials[2], trials[3], trials[1], trials[0]
	}
	for _, t := range trials {
		if !s.pays(t.form) {
			continue
		}
		mid := len(dst)
		dst = t.try()
		dst = s.cheaper(dst, start, mid, c.form)
	}
	return dst
}

// sparse reports whether most residuals of a block that takes size bytes in another mode
// are zeros. Zeros are coded fast in modeAdaptive, but estimates for them are poor.
func (s *shape) sparse(size int) bool { return 16*size < 3*s.mask.Rank(s.n) }
