package lorenz

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/matches"
)

// This file says how much the encoder tries: a table for each level, and what the type and the length of a block
// change in it. docs/LORENZ.md, section 16, describes the trials. price.go decides between their results.

// levels are the thresholds of each level, for blocks of more than smallBlock bytes.
var levels = [...]choices{
	Default: {
		rare: smallBlock, small: smallBlock, tiny: tinyBlock,
		special:      specialLimits{sample: maxSample, share: 0.3, many: 600},
		mostDistinct: 0.985,
		unmapped:     true,
		search:       search{first: 48, last: 160, finalists: 4},
		cells:        32,
		modes: modes{
			repeats:    repeatLimits{share: 0.12, depth: 16},
			references: referenceLimits{least: 4, hopeless: 1.25, bits: 9, shortBits: 28, run: 256, far: true},
		},
		fields: modes{
			repeats:    repeatLimits{share: 0.15, cost: 1. / 16, few: true, depth: 16},
			references: referenceLimits{hopeless: 1.25, bits: 7, run: 64},
		},
		contexts: contextLimits{tried: true, cells: 8, longer: smallBlock},
		adaptive: adaptiveLimits{dense: true, sample: 2048},
		text:     textLimits{bytes: true, careful: math.MaxInt},
		parts:    true,
		matches:  matchLimits{tries: 48},
	},
	Fast: {
		rare: smallBlock, small: smallBlock, tiny: tinyBlock,
		special:      specialLimits{sample: maxSample / 2, share: 0.3, many: 300},
		mostDistinct: 0.985,
		search:       quick,
		cells:        16,
		modes: modes{
			repeats:    quickRepeats,
			references: referenceLimits{least: 8, bits: 8, run: 256, far: true},
		},
		fields:   modes{repeats: quickRepeats},
		contexts: contextLimits{tried: true, quick: true, cells: 8, longer: smallBlock},
		text:     textLimits{careful: tinyText},
		matches:  matchLimits{tries: 8, quick: true}, // of headers
	},
	Max: {
		all:          true,
		special:      specialLimits{sample: maxSample, share: 0.3, many: 600},
		mostDistinct: 0.985,
		unmapped:     true,
		search:       search{first: 48, last: 160, finalists: 4},
		cells:        32,
		modes: modes{
			repeats:    repeatLimits{share: 0.12, depth: 16},
			references: referenceLimits{hopeless: math.Inf(1), bits: 9, shortBits: 28, run: 256, far: true},
		},
		fields: modes{
			repeats:    repeatLimits{share: 0.12, depth: 16},
			references: referenceLimits{hopeless: math.Inf(1), bits: 3.5, run: 64},
		},
		contexts: contextLimits{tried: true, whole: true},
		adaptive: adaptiveLimits{dense: true, sample: 2048},
		text:     textLimits{bytes: true, careful: math.MaxInt},
		parts:    true,
		matches:  matchLimits{longest: matches.MaxLen, table: matches.MaxTable, tries: 200},
	},
}

// quick is the search for predictors, and quickRepeats that for repeats, where a longer one does not pay off.
var (
	quick        = search{first: 24, last: 64, finalists: 2}
	quickRepeats = repeatLimits{share: 0.2, cost: 1. / 8, few: true, depth: 4}
)

// choicesFor returns the thresholds for blocks of n bytes.
func choicesFor(level Level, typ Type, n int) choices {
	c := levels[level]
	c.price = prices[level]
	switch typ {
	case Float32: // fields: their residuals differ less from group to group, and slow trials rarely pay off
		c.modes = c.fields
		c.search.first = quick.first
		c.adaptive.dense = c.all // contexts are shorter, and estimates take as long as half of their trial
	case Char:
		c.references.run = 0
	}
	if n <= c.rare { // a mask of fewer values saves little more than it costs
		c.special.share, c.special.many = 0.8, math.MaxInt
	}
	if n <= c.small {
		c.cells, c.references.run, c.parts = 0, 0, false
		// Estimates for fields promise more than the adaptive mode keeps.
		c.adaptive = adaptiveLimits{dense: typ != Float32, sample: 256, each: true}
		c.search, c.repeats = quick, quickRepeats
		c.special.sample = maxSample / 2
	}
	if n <= c.tiny {
		c.quickGroups = true
	}
	return c
}

// choices are the thresholds for a block. They are in the order of the trials, see choose.go.
type choices struct {
	price price
	// Longest blocks in bytes, for changes in choicesFor.
	rare  int // in which a special value must be most of the block, unless files use it for missing data
	small int // see smallBlock
	tiny  int // see tinyBlock

	all          bool // all that fits is tried, not only what seems best
	special      specialLimits
	mostDistinct float64 // share of different values in the sample up to which dictionaries are tried, 0 for never
	unmapped     bool    // a block with a dictionary is also coded without it
	search       search
	quickGroups  bool  // classes of groups follow from magnitudes alone
	cells        int   // places at which the cost of cells is estimated, 0 for blocks without them
	modes              // for all types but Float32
	fields       modes // for Float32
	contexts     contextLimits
	adaptive     adaptiveLimits
	text         textLimits
	parts        bool // stacks are tried in parts
	matches      matchLimits
}

// specialLimits are how special values are found.
type specialLimits struct {
	sample int     // elements in which values are counted
	share  float64 // share of the sample that a value must have, unless files use it for missing data
	many   int     // different values in the sample from which on share does not matter
}

// search is how predictors are compared. Residuals are estimated in groups that are spread over the block.
type search struct {
	first     int // groups in which all predictors are compared
	last      int // groups in which the best are compared
	finalists int // how many these are
}

// modes are the thresholds that depend on the type.
type modes struct {
	repeats    repeatLimits
	references referenceLimits
}

// repeatLimits are when repeats are tried.
type repeatLimits struct {
	share float64 // share of the residuals that must recur
	cost  float64 // share of the estimated bits that they must save
	few   bool    // residuals are sampled at fewer places
	depth int     // earlier places that are compared for each residual
}

// referenceLimits are when references are tried.
type referenceLimits struct {
	least     int     // bytes of an element from which on they are tried
	hopeless  float64 // share of the bytes in the best other mode from which on differences are not coded as in the adaptive mode
	bits      float64 // estimated bits of a value, for each byte in the best other mode, up to which they are tried
	shortBits float64 // the same for values that take less than refShort
	run       int     // values in each of the runs on which they are estimated, 0 if they are not tried
	far       bool    // these values may refer to all before, not only to those of their run
}

// adaptiveLimits are when the adaptive mode, which is slow, is tried.
type adaptiveLimits struct {
	dense  bool // even if residuals are not sparse
	sample int  // residuals on which its length is estimated
	each   bool // it is estimated for sparse residuals, too
}

// contextLimits are when the mode contexts is tried.
type contextLimits struct {
	tried  bool
	quick  bool // weights and contexts follow from fewer elements
	longer int  // only in blocks of more bytes, for which its tables pay off
	cells  int  // into about how many parts blocks are cut where modeGroups has cells, for points and series; 0: not tried
	whole  bool // such blocks are not cut, so that ranges take as long as all before them
}

// textLimits are how text is tried.
type textLimits struct {
	bytes   bool // for other bytes than Char
	careful int  // length of blocks up to which repeats are chosen with care
}

// matchLimits are when matches, which are slow, are tried.
type matchLimits struct {
	longest int  // length of blocks up to which they are tried, 0 for headers alone
	table   int  // most values in a block that become indices to a table
	tries   int  // earlier places that are compared at each byte
	quick   bool // see matches.Effort
}

// Lengths of blocks in bytes.
const (
	// smallBlock is the longest block without the trials that take time and rarely pay off in few
	// values. The adaptive mode may save less there, since decoding takes a millisecond at most.
	smallBlock = 32 << 10
	// largeBlock is the shortest block in which estimates for fields are good enough to skip what promises little less.
	largeBlock = 128 << 10
	// tinyBlock is the longest block of so few groups that better classes, or predictors compared
	// in more of them, do not pay off.
	tinyBlock = 8 << 10
	// bytesOfCell is the least length of a cell's column in modeContexts, unless there are fewestCells: it begins with 64
	// bytes of states.
	bytesOfCell = 4 << 10
	// tinyText is the longest block of text whose repeats are chosen with care at every level.
	tinyText = 2 << 10
)

// Thresholds that are the same for all blocks.
const (
	specialLeast = 0.02  // least share of the sample for a special value
	mostPatches  = 64    // at most 1/mostPatches of the values, plus two, may be patches of a transform
	nearSingle   = 32    // doubles are tried as float32 if at most 1/nearSingle of a sample would change
	recursPlain  = 0.05  // repeats of floats are sought with the chosen predictor, too, if this share recurs without it
	recursMore   = 0.02  // a predictor of integers replaces another one if its share is larger by this much
	refShort     = 0.75  // bytes of a value in the best other mode
	textFirst    = 4     // numbers are not parsed with care if the first repeats that look good take 1/textFirst more than they may
	partsBetter  = 2     // parts are given up if those of a quarter of the rows or more take 1/partsBetter more than their share
	partsNearly  = 4     // or those of half of the rows 1/partsNearly
	narrowFavour = 0.99  // factor of the cost of numbers of 4 bytes, which decode in half the time
	plainFavour  = 0.9   // factor of the estimated cost without a transform, which is often too high
	fewestCells  = 4     // into which blocks in modeContexts are cut
	betterModel  = 0.997 // another predictor of the adaptive mode must cost less than this part of the first
)
