package lorenz

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/matches"
)

// This file is the place where the encoder chooses what a block becomes. Encode tries, in this
// order:
//
//  1. a constant block, and a netCDF header in the mode matches;
//  2. numbers, encodeNumbers: which values are special, which transform (each with the predictor
//     that suits it best), and then, in encodeCandidate, which of the modes groups, adaptive and
//     references;
//  3. text, for elements of one byte;
//  4. matches;
//  5. parts, for stacks;
//  6. the raw block, if nothing else is shorter.
//
// The files named after these steps hold the trials. How thorough they are, and how much a slow
// mode must save, depends on the level, the type and the length of the block: see choices.

// choices are the thresholds of the encoder for a block. docs/LORENZ.md, section 16, describes
// their effects.
type choices struct {
	// Special values.
	specialSample int     // elements in which values are counted
	specialShare  float64 // share of the sample that a value must have, unless files use it for missing data
	manyValues    int     // different values in the sample from which on specialShare does not matter

	// Transforms.
	allTransforms   bool    // all that fit are tried, not only the one to the smallest integers
	dictionaries    bool    // dictionaries are tried
	mostDistinct    float64 // share of different values in the sample up to which they are
	dictionaryFrom  float64 // bits of an element without a dictionary from which on they are
	dictionaryOrNot bool    // blocks with a dictionary are also written without it

	// Predictors. Residuals are estimated in groups that are spread over the block.
	firstGroups int  // groups in which all predictors are compared
	lastGroups  int  // groups in which the best are compared
	finalists   int  // how many these are
	plainAlways bool // transform 0 is tried even if another one seems better

	// Cells, so that ranges can be decoded.
	cells       bool // blocks are cut into cells
	cellsTried  int  // places at which the cost of cells is estimated
	quickGroups bool // classes of groups follow from magnitudes alone

	// Coders of residuals. Only groups can be decoded in ranges, so the others must save some bytes.
	groupsOnly     bool    // only groups are tried
	repeatSaving   saving  // of repeats
	repeatShare    float64 // share of the residuals that must recur for repeats to be tried
	repeatSparse   bool    // repeats are sampled at fewer places
	repeatCost     float64 // share of the estimated bits that they must save to be tried
	repeatAlways   bool    // residuals are sampled for repeats, even if values do not recur
	references     bool    // references are tried
	refSaving      saving  // of references
	refBits        float64 // estimated bits of a value, for each byte in the best other mode, up to which they are tried
	refShortBits   float64 // the same for values that take less than refShort
	refRun         int     // values in each of the runs on which they are estimated
	diffSaving     saving  // of their differences, if coded as in the adaptive mode
	refFar         bool    // these values may refer to all before, not only to those of their run
	adaptive       bool    // the adaptive mode is tried even if residuals are not sparse
	adaptiveFirst  bool    // the adaptive mode is tried before the others, with all predictors
	adaptiveTried  int     // residuals on which its length is estimated
	adaptiveSparse bool    // it is estimated for sparse residuals, too
	adaptiveSaving saving  // of the adaptive mode, which is slow
	sparseSaving   saving  // of the adaptive mode for sparse residuals

	// Modes of whole blocks.
	flags     bool // text is tried for other bytes
	shortText int  // length of blocks of these for which a good result is enough
	quickText int  // length of blocks up to which repeats of text are chosen with care
	parts     bool // stacks are tried in parts

	matchMost   int    // length of blocks up to which matches are tried
	matchShort  int    // bytes in the best other mode up to which they are tried in longer blocks, too
	matchTable  int    // most values in a block that become indices to a table
	matchLeast  int    // bytes in the best other mode from which on they are
	matchTries  int    // earlier places that are compared at each byte
	matchSaving saving // of matches, which are slow
}

// Lengths of blocks in bytes.
const (
	// smallBlock is the longest block without the trials that take time and rarely pay off in few
	// values. The adaptive mode may save less there, since decoding takes a millisecond at most.
	smallBlock = 32 << 10
	// tinyBlock is the longest block of so few groups that better classes, or predictors compared
	// in more of them, do not pay off.
	tinyBlock = 8 << 10
	// shortMatches is the longest block in which matches are tried below the level Max, since decoding is slow:
	// BenchmarkDecode of package matches.
	shortMatches = 64 << 10
	// tinyText is the longest block of text whose repeats are chosen with care at every level.
	tinyText = 2 << 10
)

// Thresholds that are the same for all blocks.
const (
	specialLeast = 0.02  // least share of the sample for a special value
	fewDistinct  = 0.02  // a dictionary is tried if the share of different values is smaller
	mostPatches  = 64    // at most 1/mostPatches of the values, plus two, may be patches of a transform
	nearSingle   = 32    // doubles are tried as float32 if at most 1/nearSingle of a sample would change
	recursPlain  = 0.05  // repeats of floats are sought with the chosen predictor, too, if this share recurs without it
	recursMore   = 0.02  // a predictor of integers replaces another one if its share is larger by this much
	refShort     = 0.75  // bytes of a value in the best other mode
	matchNew     = 2.5   // matches are not tried if more bytes than so many times their limit were not there before
	textSaving   = 16    // text must save 1/textSaving of a block of numbers, since ranges of it cannot be decoded
	goodRatio    = 16    // text is not tried for a short block of numbers that is already so many times shorter
	narrowFavour = 0.99  // factor of the cost of numbers of 4 bytes, which decode in half the time
	plainFavour  = 0.9   // factor of the estimated cost without a transform, which is often too high
	betterModel  = 0.997 // another predictor of the adaptive mode must cost less than this part of the first
)

// choicesFor returns the thresholds for blocks of n bytes.
func choicesFor(level Level, typ Type, n int) choices {
	c := choices{
		specialSample:  maxSample,
		specialShare:   0.3,
		mostDistinct:   0.95,
		dictionaries:   true,
		firstGroups:    48,
		lastGroups:     160,
		finalists:      4,
		cells:          true,
		cellsTried:     32,
		repeatSaving:   saving{1, 16},
		repeatShare:    0.12,
		references:     typ != Char,
		refSaving:      saving{1, 32},
		diffSaving:     saving{1, 8},
		refBits:        9,
		refRun:         256,
		refFar:         true,
		adaptive:       true,
		adaptiveTried:  2048,
		adaptiveSaving: saving{3, 10},
		sparseSaving:   saving{1, 7},
		flags:          true,
		shortText:      tinyBlock,
		quickText:      math.MaxInt,
		parts:          true,
		matchMost:      shortMatches,
		matchTable:     64,
		matchLeast:     256,
		matchTries:     48,
		matchSaving:    saving{1, 5},
	}
	if typ == Float32 { // fields: their residuals differ less from group to group, and slow trials rarely pay off
		c.firstGroups = 24
		c.dictionaryFrom = 9
		c.repeatSparse, c.repeatShare, c.repeatCost = true, 0.15, 1./16
		c.refBits, c.refRun, c.refFar = 7, 64, false
	}
	c.repeatAlways = !typ.float() // the residuals of floats recur where the floats do
	if level != Max && n <= smallBlock {
		c.specialShare = 0.8 // a mask of fewer values saves little more than it costs
	}
	if level < Thorough && n <= smallBlock {
		c.dictionaryFrom = 0
		c.cells = false
		c.references = false
		c.adaptive = typ != Float32 // estimates promise more than it keeps
		c.adaptiveTried, c.adaptiveSparse = 256, true
		c.adaptiveSaving = saving{1, 5}
		c.parts = false
	}
	if level < Thorough && n <= tinyBlock {
		c.firstGroups, c.lastGroups, c.finalists = 24, 64, 2
		c.quickGroups = true
	}
	switch level {
	case Fast:
		c.specialSample /= 2
		c.dictionaries = false
		c.firstGroups, c.lastGroups, c.finalists = 24, 64, 2
		c.cellsTried = 16
		c.quickGroups = true
		c.groupsOnly = true
		c.flags = false
		c.quickText = tinyText
		c.parts = false
		c.matchMost, c.matchTable = -1, 0
		c.matchTries = 8
	case Thorough, Max:
		c.allTransforms, c.plainAlways = true, true
		c.mostDistinct, c.dictionaryFrom, c.dictionaryOrNot = 0.985, 0, true
		c.repeatSparse, c.repeatShare, c.repeatCost, c.repeatAlways = false, 0.12, 0, true
		c.adaptiveFirst = true
		c.shortText, c.matchLeast = 0, 0
		if typ != Float32 {
			c.refShortBits = 28 // estimates promise less than references keep
		}
	}
	switch level {
	case Thorough:
		small := saving{1, 64}
		c.repeatSaving, c.refSaving, c.diffSaving, c.adaptiveSaving, c.sparseSaving = small, small, small, small, small
		c.matchSaving, c.matchShort = saving{1, 16}, shortMatches/4
	case Max:
		c.repeatSaving, c.refSaving, c.diffSaving = saving{}, saving{}, saving{}
		c.adaptiveSaving, c.sparseSaving = saving{}, saving{}
		if typ == Float32 {
			c.refBits = 3.5
		}
		c.matchMost, c.matchTable, c.matchTries = matches.MaxLen, matches.MaxTable, 200
		c.matchSaving = saving{}
	}
	c.manyValues = c.specialSample * 75 / 256
	if level != Max && n <= smallBlock {
		c.manyValues = math.MaxInt
	}
	return c
}

// saving is the share of its bytes that a mode must save.
type saving struct{ part, of int }

// most returns a limit: a mode is taken only if it needs fewer bytes than this, where the best other
// mode needs size.
func (s saving) most(size int) int {
	if s.of == 0 {
		return size
	}
	return size - size*s.part/s.of
}

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
	if plainFavour*plain.cost < limit || s.plainAlways {
		plain.cost = 0
		c.search(s, &plain)
		if plain.cost < limit {
			limit, best, small = plain.cost, plain, nil
		}
	}
	without := small
	full := func() bool { return small != nil && small.kind != mapSingle && c.full(s, small.y, limit) }
	if s.dictionaries && s.recurs() && s.dear(limit) && !full() {
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
	dst = shorter(dst, start, mid, s.refSaving.most)
	if !s.dictionaryOrNot {
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
	if s.groupsOnly {
		return dst
	}
	others := []struct {
		try  func(size int) []byte // appends nothing if the mode is not likely to be worth it
		most func(size int) int    // it is taken if it needs fewer bytes than this, where the best so far needs size
	}{
		{func(int) []byte { return c.tryRepeats(s, dst, raw, x) }, s.repeatSaving.most},
		{func(size int) []byte { return c.tryReferences(s, dst, raw, x, size) }, s.refSaving.most},
		{func(size int) []byte { return c.tryAdaptive(s, dst, raw, x, size) }, s.mostAdaptive},
	}
	if s.adaptiveFirst { // it is mostly best, and the others are not tried if they are likely to be worse
		last := len(others) - 1
		others[0], others[last] = others[last], others[0]
	}
	for _, other := range others {
		mid := len(dst)
		dst = shorter(other.try(mid-start), start, mid, other.most)
	}
	return dst
}

// mostAdaptive returns the limit of the adaptive mode, which is taken only if it needs fewer bytes
// than this, where the best other mode needs size.
func (s *shape) mostAdaptive(size int) int {
	if s.sparse(size) {
		return s.sparseSaving.most(size)
	}
	return s.adaptiveSaving.most(size)
}

// sparse reports whether most residuals of a block that takes size bytes in another mode
// are zeros. Zeros are coded fast in modeAdaptive, but estimates for them are poor.
func (s *shape) sparse(size int) bool { return 16*size < 3*s.mask.Rank(s.n) }
