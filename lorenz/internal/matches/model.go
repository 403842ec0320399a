package matches

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
)

// Constants of the model. Part of the format.
const (
	lengths  = 4 // classes of lengths, by which the distances of matches are coded
	byteBits = 8
	speed    = 14    // of the weights
	weight   = 19660 // at first

	// Tables of contexts have 2^smallHash probabilities in blocks of up to smallLen bytes, else 2^largeHash.
	smallLen  = 1 << 16
	smallHash = 16
	largeHash = 18
)

// model is what the coder has learnt.
type model struct {
	unit   int
	copies [histories][MaxUnit]arith.Prob // is the step a copy?
	again  [histories]arith.Prob          // at a distance used last?
	older  [histories]arith.Prob          // not at the latest?
	oldest [histories]arith.Prob          // at the third?
	lens   [2]numbers                     // of copies again, and of matches
	dists  [lengths]numbers

	tables tables
	agree  [kinds][3][1 << byteBits]arith.Prob
	weight [kinds][MaxUnit][4]arith.Weight
}

// reset prepares the model for a block of n bytes.
func (m *model) reset(unit, n int) {
	m.unit = unit
	for i := range m.copies {
		arith.Reset(m.copies[i][:])
	}
	arith.Reset(m.again[:])
	arith.Reset(m.older[:])
	arith.Reset(m.oldest[:])
	for i := range m.lens {
		m.lens[i].reset()
	}
	for i := range m.dists {
		m.dists[i].reset()
	}
	hash := smallHash
	if n > smallLen {
		hash = largeHash
	}
	m.tables.reset(hash)
	for i := range m.agree {
		for j := range m.agree[i] {
			arith.Reset(m.agree[i][j][:])
		}
		for j := range m.weight[i] {
			m.weight[i][j] = [4]arith.Weight{weight, weight, weight, weight}
		}
	}
}

// column returns the place of a byte of the block in its unit.
func (m *model) column(at int) int { return at % m.unit }

// context is what the bits of a literal depend on.
type context struct {
	keys  [3]uint32 // of the tables
	guess uint32    // the byte at the latest distance
	kind  uint32    // of the step before
	col   int
}

func (m *model) context(b []byte, base, at int, p *position) context {
	x := context{col: m.column(at - base), kind: p.history % kinds}
	if d := int(p.last[0]); d <= at {
		x.guess = uint32(b[at-d])
	}
	k := uint32(x.col) << 24
	x.keys[0], x.keys[1], x.keys[2] = k, k, k|x.guess|x.kind<<28
	if at >= m.unit {
		x.keys[0] |= uint32(b[at-m.unit])
	}
	if at >= 1 {
		x.keys[1] |= uint32(b[at-1])
	}
	if at >= 2 {
		x.keys[1] |= uint32(b[at-2]) << 8
	}
	return x
}

// agreed returns the probability of bit i of a literal, after the bits above it, by whether these agree with the guess.
func (m *model) agreed(x *context, node uint32, i int) *arith.Prob {
	agrees := uint32(0)
	if (x.guess|1<<byteBits)>>(i+1) == node {
		agrees = 1 + x.guess>>i&1
	}
	return &m.agree[x.kind][agrees][node]
}

// literal codes a byte.
func (m *model) literal(c *arith.Coder, x *context, v uint32) uint32 {
	w, t := &m.weight[x.kind][x.col], &m.tables
	t.prepare()
	node := uint32(1)
	for i := byteBits - 1; i >= 0; i-- {
		p0, p1, p2, p3 := t.at(0, x.keys[0], node), t.at(1, x.keys[1], node), t.at(2, x.keys[2], node), m.agreed(x, node, i)
		node = node<<1 | uint32(c.Mix4(w, p0, p1, p2, p3, int(v>>i&1), speed))
	}
	return node - 1<<byteBits
}

// Numbers are coded as a slot, which tells how many bits they have and the bit below the highest, and the bits below
// that. Part of the format.
const (
	slotBits  = 6
	nearSlots = 14 // slots up to here have probabilities for all their bits
	nearBits  = 5
	lowBits   = 4 // bits with probabilities in the other slots
)

// numbers are the probabilities of numbers of one sort.
type numbers struct {
	slot [1 << slotBits]arith.Prob
	near [nearSlots][1 << nearBits]arith.Prob
	low  [1 << lowBits]arith.Prob
}

func (t *numbers) reset() {
	arith.Reset(t.slot[:])
	for i := range t.near {
		arith.Reset(t.near[i][:])
	}
	arith.Reset(t.low[:])
}

// slotOf returns the slot of a number.
func slotOf(v uint32) uint32 {
	if v < 4 {
		return v
	}
	n := bits.Len32(v)
	return 2*uint32(n-1) + v>>(n-2)&1
}

// code codes a number.
func (t *numbers) code(c *arith.Coder, v uint32) uint32 {
	slot := uint32(c.Tree(t.slot[:], slotBits, int(slotOf(v))))
	if slot < 4 {
		return slot
	}
	more := int(slot>>1) - 1
	high := (2 | slot&1) << more
	if slot < nearSlots {
		return high | reverse(c, t.near[slot][:], more, v)
	}
	for i := more - 1; i >= lowBits; i-- {
		high |= uint32(c.Code(int(v>>i&1), 1<<15)) << i
	}
	return high | reverse(c, t.low[:], lowBits, v)
}

// reverse codes the n lowest bits of v, the lowest first.
func reverse(c *arith.Coder, p []arith.Prob, n int, v uint32) uint32 {
	low, node := uint32(0), uint32(1)
	for i := range n {
		b := uint32(c.Bit(&p[node], int(v>>i&1)))
		low |= b << i
		node = node<<1 | b
	}
	return low
}
