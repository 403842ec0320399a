package lorenz

import (
	"cmp"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// This file is the place where the encoder chooses what a block becomes. Encode tries, in this
// order:
//
//  1. a constant block, and a netCDF header in the mode matches;
//  2. numbers, numbersOf and encodeNumbers: which values are special, which transform (each with the predictor
//     that suits it best), and then, in encodeCandidate, which of the modes groups, references,
//     contexts and adaptive;
//  3. text, for elements of one byte;
//  4. matches;
//  5. parts, for stacks;
//  6. the raw block, if nothing else is shorter.
//
// The files named after these steps hold the trials. How much they look at depends on the level, the type and the
// length of the block: see levels.go. Between the results, and whether a trial can pay at all, price.go decides.

// encodeNumbers chooses the transform and the predictor, and appends the block in
// the shortest of the modes groups, adaptive and references. Special values are known. c has lanes of the elements' width,
// narrow those of 32 bits.
func encodeNumbers[T lane](s *shape, dst []byte, raw []byte, c *coder[T], narrow *coder[uint32]) []byte {
	best := candidate[T]{mode: modeGroups, kind: mapOrder, y: c.y}
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
	start := len(dst)
	if small == nil {
		return c.encodeCandidate(s, dst, start, raw, &best)
	}
	dst = narrow.encodeCandidate(s, dst, start, raw, small)
	if small.kind != mapDict {
		return dst
	}
	// Where values recur, references to them take less than a dictionary and its indices.
	mid := len(dst)
	if _, write := c.promiseReferences(s, raw, &plain); write != nil {
		dst = write(dst)
		dst = s.cheaper(dst, start, mid, c.form)
	}
	if !s.unmapped {
		return dst
	}
	// The adaptive mode can be shorter without a dictionary, whose bytes it does not shorten.
	if without != nil {
		return narrow.encodeCandidate(s, dst, start, raw, without)
	}
	return c.encodeCandidate(s, dst, start, raw, &best)
}

// cheaper removes one of two forms of a block from the end of dst: the best one, from start on, if there is another,
// from mid on, whose price is lower or which is the only one; else the other.
func (s *shape) cheaper(dst []byte, start, mid int, f form) []byte {
	m := as(f, s.n, len(dst)-mid)
	if m.len > 0 && (mid == start || s.price.better(m, s.best, s.n*s.size)) {
		s.best, s.chosen = m, s.written
		return append(dst[:start], dst[mid:]...)
	}
	return dst[:mid]
}

// limit returns the bytes below which a form is better than the best one so far.
func (s *shape) limit(f form) int { return s.price.limit(f, s.n, s.n*s.size, s.best) }

// pays reports whether a trial of a form can pay.
func (s *shape) pays(f form) bool { return s.price.pays(f, s.n, s.best) }

// groupsHead is about how many bytes codes and tables of modeGroups take.
const groupsHead = 64

// groupsLess is the part by which modeGroups may be shorter than its estimate.
const groupsLess = 50

// groupsMore is the part by which modeGroups is mostly longer than its estimate for large fields, whose residuals differ
// from group to group.
const groupsMore = 12

// groupsSurely is the part by which it is longer for sure if another mode has been written.
const groupsSurely = 32

// largeField reports whether a block is of a field of floats for which the estimates are biased alike, and trials of what
// nearly promises to be better are in vain.
func (s *shape) largeField() bool {
	return s.typ == Float32 && s.n*s.size >= largeBlock && s.groups == formCells && !s.all
}

// groupsSampled is the part of a large field that sampledGroups writes, and sampledMore that by which its tables make it
// longer than its share.
const (
	groupsSampled = 16
	sampledMore   = 32
)

// sampledGroups estimates the bytes of a block in modeGroups by writing a part of the residuals that c.ctx has.
func (c *coder[T]) sampledGroups(s *shape, x *candidate[T]) int {
	c.lits = c.ctx.Sample(c.lits[:0], groupsSampled)
	w := &c.w
	w.Dst, w.Quick = c.scratch[:0], s.quickGroups
	w.Write(c.lits, false)
	c.scratch, w.Dst = w.Dst, nil
	bytes := len(c.scratch) * s.mask.Rank(s.n) / max(len(c.lits), 1)
	return len(s.head) + len(x.params) + bytes - bytes/sampledMore
}

// promise is a form that a block may be written in, with the bytes that an estimate promises.
type promise struct {
	form  form
	bytes int
	write func() []byte // appends nothing if the form is not likely to be better
}

// encodeCandidate appends a block in the form of the least price for its transform, or replaces the block after start
// if that is dearer. raw are the big-endian elements. Estimates come first. The form that promises most is written, and
// of the others those that still promise to be better.
func (c *coder[T]) encodeCandidate(s *shape, dst []byte, start int, raw []byte, x *candidate[T]) []byte {
	l := c.cells(s, x)
	groups := as(x.formIn(l != predict.Whole(s.n), false), s.n, len(s.head)+groupsHead+int(x.cost/8))
	s.groups = groups.form
	least := groups.len - groups.len/groupsLess
	if s.largeField() {
		least = groups.len + groups.len/groupsSurely
		groups = as(groups.form, s.n, groups.len+groups.len/groupsMore)
	}
	if len(dst) == start {
		s.best = groups // until something is written
	}
	loaded := false // residuals to c.ctx
	promises := append(c.promises[:0], promise{groups.form, groups.len, func() []byte {
		if limit := s.limit(groups.form); len(dst) > start && (least > limit || loaded && s.largeField() && c.sampledGroups(s, x) > limit) {
			return dst
		}
		return c.write(s, dst, raw, x, l, false)
	}})
	for _, t := range []struct {
		form    form
		promise func() (bytes int, write func(dst []byte) []byte) // no function if it does not promise anything
	}{
		{formRepeats, func() (int, func([]byte) []byte) { return c.promiseRepeats(s, raw, x) }},
		{formReferences, func() (int, func([]byte) []byte) { return c.promiseReferences(s, raw, x) }},
		{formContexts, func() (int, func([]byte) []byte) { return c.promiseContexts(s, raw, x) }},
	} {
		if !s.pays(t.form) {
			continue
		}
		if bytes, write := t.promise(); write != nil {
			loaded = loaded || t.form == formContexts
			promises = append(promises, promise{t.form, bytes, func() []byte { return write(dst) }})
		}
	}
	c.promises = promises
	slices.SortStableFunc(promises, func(a, b promise) int {
		return cmp.Compare(s.price.of(as(a.form, s.n, a.bytes)), s.price.of(as(b.form, s.n, b.bytes)))
	})
	last := promise{formAdaptive, 0, func() []byte { return c.tryAdaptive(s, dst, raw, x) }}
	if s.all { // it is often best, and then the others need not be tried
		promises = slices.Insert(promises, 1, last)
	} else {
		promises = append(promises, last)
	}
	for i, p := range promises {
		if i > 0 && !s.pays(p.form) {
			continue
		}
		mid := len(dst)
		dst = p.write()
		dst = s.cheaper(dst, start, mid, c.form)
	}
	return dst
}

// sparse reports whether most residuals of a block that takes size bytes in another mode
// are zeros. Zeros are coded fast in modeAdaptive, but estimates for them are poor.
func (s *shape) sparse(size int) bool { return 16*size < 3*s.mask.Rank(s.n) }
