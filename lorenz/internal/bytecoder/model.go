// Package bytecoder codes bytes by repeats and adaptive probabilities, mode 3 of
// docs/LORENZ.md.
package bytecoder

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Model predicts the tokens of a block: literals and repeats.
type Model struct {
	size, row int // bytes of an element and of a row
	slotBits  int // of each input

	isRepeat [3 * 8]prob
	isRecent [3]prob
	which    [4]prob // a tree of nRecent leaves
	lens     [2]numberModel
	dist     [4]numberModel
	aligned  [8 * 8]prob

	mix     [256 * 8 * nInputs]int32 // weights
	slots   []prob
	ctx     [nInputs]uint32
	inputs  [nInputs]int32
	history int // of the last tokens: 0 literals, 1 a repeat, 2 a recent distance
}

const (
	nRecent   = 4
	nInputs   = 7
	slotsMost = 18 // bits
)

// numberModel codes numbers by their bit length and the bits after the first.
type numberModel struct {
	length [32]prob
	first  [32 * 8]prob
}

func resetProbs(p []prob) {
	for i := range p {
		p[i] = probStart
	}
}

func (m *numberModel) reset() {
	resetProbs(m.length[:])
	resetProbs(m.first[:])
}

// reset prepares the model for a block of n bytes.
func (m *Model) reset(n, size, row int) {
	m.size, m.row, m.history = size, row, 0
	m.slotBits = min(bits.Len(uint(n))+2, slotsMost)
	resetProbs(m.isRepeat[:])
	resetProbs(m.isRecent[:])
	resetProbs(m.which[:])
	resetProbs(m.aligned[:])
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
	resetProbs(m.slots)
}

// bit codes a bit with a probability of its own.
func codeBit(c bitCoder, p *prob, bit int) int {
	bit = c.code(bit, p.p16())
	p.update(bit)
	return bit
}

// tree codes n bits, most significant first, each in the context of those
// before it.
func codeTree(c bitCoder, p []prob, n uint, v int) int {
	node := 1
	for i := int(n) - 1; i >= 0; i-- {
		node = node<<1 | codeBit(c, &p[node], v>>i&1)
	}
	return node - 1<<n
}

// code codes a number v ≥ 1 of at most 32 bits: its length, the next three bits
// in the context of the length, and the rest as they are, but for the last
// three in a context of their own if low is not nil.
func (m *numberModel) code(c bitCoder, v uint32, low []prob) uint32 {
	n := uint(codeTree(c, m.length[:], 5, bits.Len32(v)-1))
	x, node, tail := uint32(1), uint32(1), uint32(1)
	for i := int(n) - 1; i >= 0; i-- {
		bit := int(v >> i & 1)
		switch k := int(n) - 1 - i; {
		case k < 3:
			bit = codeBit(c, &m.first[uint32(n)*8+node], bit)
			node = node<<1 | uint32(bit)
		case low != nil && i < 3:
			bit = codeBit(c, &low[tail], bit)
			tail = tail<<1 | uint32(bit)
		default:
			bit = c.code(bit, 1<<15)
		}
		x = x<<1 | uint32(bit)
	}
	return x
}

// contexts prepares the coding of the literal at position at.
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

// literal codes a byte, in two halves of four bits. The probabilities that an
// input has for a half lie in a row of 16. contexts must have been called.
func (m *Model) literal(c bitCoder, at int, v byte) byte {
	weights := m.mix[at%m.size*256*nInputs:][:256*nInputs]
	node := 1
	for half := range 2 {
		var row [nInputs]*[16]prob
		for j, x := range m.ctx {
			h := (x + uint32(node)*0x2F0B4C47) * 0x85EBCA6B >> (32 + 4 - m.slotBits)
			row[j] = (*[16]prob)(m.slots[uint32(j)<<m.slotBits+h<<4:])
		}
		k := 1
		for i := 7 - 4*half; i >= 4-4*half; i-- {
			w := (*[nInputs]int32)(weights[node*nInputs:])
			dot := int64(0)
			for j, r := range row {
				m.inputs[j] = stretch(uint32(r[k&15]) >> 20)
				dot += int64(w[j]) * int64(m.inputs[j])
			}
			p := squash(dot >> 16)
			bit := c.code(int(v>>i&1), min(max(p<<4, 32), 1<<16-32))
			err := (int64(bit)<<12 - int64(p)) * 10
			for j, r := range row {
				w[j] += int32((int64(m.inputs[j])*err + 1<<15) >> 16)
				r[k&15].update(bit)
			}
			node, k = node<<1|bit, k<<1|bit
		}
	}
	return byte(node)
}

// squash returns 4096 / (1 + e^(-x/256)), by interpolation.
func squash(x int64) uint32 {
	if x > 2047 {
		return 4095
	}
	if x < -2047 {
		return 1
	}
	w := uint32(x & 127)
	i := (x >> 7) + 16
	return (squashTable[i]*(128-w) + squashTable[i+1]*w + 64) >> 7
}

var squashTable = [33]uint32{
	1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047,
	2549, 2994, 3348, 3607, 3785, 3901, 3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094,
}

// stretch is the inverse of squash.
func stretch(p uint32) int32 { return int32(stretchTable[p]) }

var stretchTable = func() (t [4096]int16) {
	next := uint32(0)
	for x := int64(-2047); x <= 2047; x++ {
		for v := squash(x); next <= v; next++ {
			t[next] = int16(x)
		}
	}
	for ; next < 4096; next++ {
		t[next] = 2047
	}
	return t
}()

// repeat codes whether a repeat follows.
func (m *Model) repeat(c bitCoder, at, bit int) int {
	return codeBit(c, &m.isRepeat[m.history*8+at%m.size], bit)
}

// token codes a repeat: its length, and its distance or which of the recent
// ones it is (0 for none).
func (m *Model) token(c bitCoder, length, dist, recent int) (int, int, int) {
	isRecent := codeBit(c, &m.isRecent[m.history], min(recent, 1))
	if isRecent != 0 {
		recent = codeTree(c, m.which[:], 2, recent-1) + 1
		length = int(m.lens[1].code(c, uint32(length), nil))
		m.history = 2
		return length, dist, recent
	}
	length = int(m.lens[0].code(c, uint32(length-minRepeat+1), nil)) + minRepeat - 1
	k := min(length-minRepeat, 3)
	dist = int(m.dist[k].code(c, uint32(dist), m.aligned[:8]))
	m.history = 1
	return length, dist, 0
}

// recents are the last distances, the latest first. They start with those of
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
