package headers

// The model of LZMA (LZMA specification of the LZMA SDK) with lc = 1 and lp = pb = 0: the position in the block is no
// context. Headers get 0.5 % longer without it, and tables of prices four times shorter.

const (
	literalBits = 1 // lc: bits of the byte before that choose the probabilities of a literal

	states        = 12
	literalStates = 7 // states after a literal

	minMatch  = 2
	lowLens   = 8 // lengths of the trees low and mid
	highLens  = 256
	maxMatch  = minMatch + 2*lowLens + highLens - 1
	lenStates = 4 // trees of distance slots, by length

	slotBits   = 6
	fullSlots  = 14 // slots from here on have direct and align bits
	startModel = 4  // slots from here on have further bits
	fullDist   = 1 << (fullSlots / 2)
	alignBits  = 4

	probBits = 11
	probInit = 1 << probBits / 2
	probMove = 5
	topRange = 1 << 24
)

type prob = uint16

type lens struct {
	choice, choice2 prob
	low, mid        [lowLens]prob
	high            [highLens]prob
}

type model struct {
	match, rep, rep0, rep1, rep2, rep0Long [states]prob
	slot                                   [lenStates][1 << slotBits]prob
	special                                [1 + fullDist - fullSlots]prob
	align                                  [1 << alignBits]prob
	lens, repLens                          lens
	literal                                [1 << literalBits][0x300]prob
}

// start is the model at the start of a block.
var start = func() *model {
	m := new(model)
	for _, p := range [][]prob{m.match[:], m.rep[:], m.rep0[:], m.rep1[:], m.rep2[:], m.rep0Long[:], m.special[:], m.align[:]} {
		fill(p)
	}
	for i := range m.slot {
		fill(m.slot[i][:])
	}
	for _, l := range []*lens{&m.lens, &m.repLens} {
		l.choice, l.choice2 = probInit, probInit
		fill(l.low[:])
		fill(l.mid[:])
		fill(l.high[:])
	}
	for i := range m.literal {
		fill(m.literal[i][:])
	}
	return m
}()

func fill(p []prob) {
	for i := range p {
		p[i] = probInit
	}
}

func (m *model) reset() { *m = *start }

// literals returns the probabilities of a literal after a byte.
func (m *model) literals(before byte) *[0x300]prob { return &m.literal[before>>(8-literalBits)] }

// States after a literal, a match, a repeat of an earlier distance, and a single byte at the last distance.
func afterLiteral(s uint32) uint32 {
	switch {
	case s < 4:
		return 0
	case s < 10:
		return s - 3
	}
	return s - 6
}

func afterMatch(s uint32) uint32 {
	if s < literalStates {
		return 7
	}
	return 10
}

func afterRep(s uint32) uint32 {
	if s < literalStates {
		return 8
	}
	return 11
}

func afterShort(s uint32) uint32 {
	if s < literalStates {
		return 9
	}
	return 11
}

// lenState returns the tree of distance slots for a match of n bytes.
func lenState(n int) int { return min(n-minMatch, lenStates-1) }
