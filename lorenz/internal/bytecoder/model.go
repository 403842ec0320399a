// Package bytecoder decodes bytes that are coded by repeats and adaptive probabilities: mode 3 of
// docs/LORENZ.md. The encoder does not use this mode, because others take hardly more bytes.
package bytecoder

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Model predicts the tokens of a block: literals and repeats.
type Model struct {
	size, row int // bytes of an element and of a row
	slotBits  int // of each input

	isRepeat [3 * 8]arith.Prob
	isRecent [3]arith.Prob
	which    [4]arith.Prob // a tree of nRecent leaves
	lens     [2]numberModel
	dist     [4]numberModel
	aligned  [8 * 8]arith.Prob

	mix     [256 * 8 * nInputs]int32 // weights
	slots   []arith.Prob
	ctx     [nInputs]uint32
	inputs  [nInputs]int32
	history int // of the last tokens: 0 literals, 1 a repeat, 2 a recent distance
}

const (
	nRecent   = 4
	nInputs   = 7
	slotsMost = 18 // bits
	lineBits  = 4  // of the 16 slots for the bits of a byte
)

// numberModel decodes numbers by their bit length and the bits after the first.
type numberModel struct {
	length [32]arith.Prob
	first  [32 * 8]arith.Prob
}

func (m *numberModel) reset() {
	arith.Reset(m.length[:])
	arith.Reset(m.first[:])
}

// slotBitsOf returns the bits of the slots of an input in a block of n bytes.
func slotBitsOf(n int) int { return max(lineBits, min(bits.Len(uint(n))+2, slotsMost)) }

// Memory bounds the bytes that a new model allocates for a block of n bytes.
func Memory(n int64) int64 { return 4*nInputs<<slotBitsOf(int(n)) + 128<<10 }

// reset prepares the model for a block of n bytes.
func (m *Model) reset(n, size, row int) {
	m.size, m.row, m.history = size, row, 0
	m.slotBits = slotBitsOf(n)
	arith.Reset(m.isRepeat[:])
	arith.Reset(m.isRecent[:])
	arith.Reset(m.which[:])
	arith.Reset(m.aligned[:])
	for i := range m.lens {
		m.lens[i].reset()
	}
	for i := range m.dist {
		m.dist[i].reset()
	}
	for i := range m.mix[:256*size*nInputs] {
		m.mix[i] = 1 << 16 * 2 / 5
	}
	m.slots = entropy.Grow(m.slots, nInputs<<m.slotBits)
	arith.Reset(m.slots)
}

// read decodes a number v ≥ 1 of at most 32 bits: its length, the next three bits in the context
// of the length, and the rest without a model. If low is not nil, the last three bits are in the
// context low.
func (m *numberModel) read(c *arith.Coder, low []arith.Prob) uint32 {
	n := uint(c.Tree(m.length[:], 5, 0))
	x, node, tail := uint32(1), uint32(1), uint32(1)
	for i := int(n) - 1; i >= 0; i-- {
		bit := 0
		switch k := int(n) - 1 - i; {
		case k < 3:
			bit = c.Bit(&m.first[uint32(n)*8+node], 0)
			node = node<<1 | uint32(bit)
		case low != nil && i < 3:
			bit = c.Bit(&low[tail], 0)
			tail = tail<<1 | uint32(bit)
		default:
			bit = c.Code(0, 1<<15)
		}
		x = x<<1 | uint32(bit)
	}
	return x
}

// contexts prepares the decoding of the literal at position at.
func (m *Model) contexts(b []byte, at, dist int) {
	back := func(d int) uint32 {
		if d > at {
			return 0
		}
		return uint32(b[at-d])
	}
	k := uint32(at % m.size)
	c1, c2, c3 := back(1), back(2), back(3)
	west, north := back(m.size), back(m.row)
	m.ctx = [nInputs]uint32{
		k,
		c1<<3 | k,
		(c2<<8|c1)<<3 | k,
		(c3<<16|c2<<8|c1)<<3 | k,
		(north<<8|c1)<<3 | k,
		(north<<8|west)<<3 | k,
		(back(dist)<<2|uint32(m.history))<<3 | k,
	}
	if m.size == 1 {
		m.ctx[5] = uint32(at % m.row)
	}
	for i, x := range m.ctx {
		h := (x + uint32(i)<<29 + 1) * 0x9E3779B1
		m.ctx[i] = h ^ h>>15
	}
}

// literal decodes a byte, in two halves of four bits. The probabilities that an
// input has for a half lie in a row of 16. contexts must have been called.
func (m *Model) literal(c *arith.Coder, at int) byte {
	weights := m.mix[at%m.size*256*nInputs:][:256*nInputs]
	node := 1
	for range 2 {
		var row [nInputs]*[16]arith.Prob
		for j, x := range m.ctx {
			h := (x + uint32(node)*0x2F0B4C47) * 0x85EBCA6B >> (32 + 4 - m.slotBits)
			row[j] = (*[16]arith.Prob)(m.slots[uint32(j)<<m.slotBits+h<<4:])
		}
		k := 1
		for range 4 {
			w := (*[nInputs]int32)(weights[node*nInputs:])
			dot := int64(0)
			for j, r := range row {
				m.inputs[j] = r[k&15].Stretch()
				dot += int64(w[j]) * int64(m.inputs[j])
			}
			p := arith.Squash(dot >> 16)
			bit := c.Code(0, min(max(p<<4, 32), 1<<16-32))
			err := (int64(bit)<<12 - int64(p)) * 10
			for j, r := range row {
				w[j] += int32((int64(m.inputs[j])*err + 1<<15) >> 16)
				r[k&15].Update(bit)
			}
			node, k = node<<1|bit, k<<1|bit
		}
	}
	return byte(node)
}

// repeat decodes whether a repeat follows.
func (m *Model) repeat(c *arith.Coder, at int) int {
	return c.Bit(&m.isRepeat[m.history*8+at%m.size], 0)
}

// token decodes a repeat: its length, and its distance or which of the recent ones it is (0 for
// none).
func (m *Model) token(c *arith.Coder) (length, dist, recent int) {
	if c.Bit(&m.isRecent[m.history], 0) != 0 {
		recent = c.Tree(m.which[:], 2, 0) + 1
		length = number(m.lens[1].read(c, nil))
		m.history = 2
		return length, 0, recent
	}
	length = number(m.lens[0].read(c, nil)) + minRepeat - 1
	k := min(length-minRepeat, 3)
	dist = number(m.dist[k].read(c, m.aligned[:8]))
	m.history = 1
	return length, dist, 0
}

// number returns v, or if that is longer than any block, 2^30, which every int can hold.
func number(v uint32) int { return int(min(v, 1<<30)) }

// recents are the last distances, the latest first. They start with the distances of
// the neighbours.
type recents [nRecent]int

func (m *Model) recents() recents { return recents{m.size, m.row, 2 * m.row, 1} }

// use moves the distance with number i, or a new one, to the front.
func (r *recents) use(i, dist int) {
	copy(r[1:i+1], r[:i])
	r[0] = dist
}

// minRepeat is the shortest repeat from a new distance.
const minRepeat = 2
