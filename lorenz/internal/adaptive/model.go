// Package adaptive codes residuals one by one, with probabilities that follow
// the residuals around them: mode 4 of docs/LORENZ.md.
package adaptive

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Span is a run of elements whose residuals are coded. Those of other elements
// are 0.
type Span struct{ Start, End int }

// Neighbours are the distances of the element in the row before (North) and in
// the plane before (Below), both at least 3.
type Neighbours struct{ North, Below int }

const (
	nInputs = 4  // contexts of a size
	nNodes  = 16 // decisions about a size
	nTaps   = 14 // neighbours in a weighted sum
)

// maxContexts is more than the values of any context, a power of two.
const maxContexts = 512

// Model predicts the size and the sign of each residual. It keeps its memory
// from block to block.
type Model[T entropy.Lane] struct {
	near  Neighbours
	zero  [8]arith.Prob
	tz    [64 * 64]arith.Prob
	size  [nInputs][maxContexts * nNodes]arith.Prob
	mix   [4 * nNodes][nInputs]int32 // weights of the contexts
	sign  [27 * 4]arith.Prob
	lead  [8 * 8 * 8 * 4]arith.Prob // the two bits after the first
	low   lowBits
	pad   int     // elements before the first one
	mag   []uint8 // sizes in half octaves
	small []int8  // residuals, clamped to ±2
	vals  []T     // residuals before the weighted sum is subtracted
	sum   weights
}

// weights predict a residual from those around it.
type weights struct {
	used  bool
	limit uint // residuals count up to 2^limit times the expected size
	w     [nTaps]int32
}

// weightBits is the precision of weights.
const weightBits = 12

func (m *Model[T]) reset(n int, near Neighbours) {
	m.near = near
	m.pad = near.North + near.Below + 4
	m.mag = entropy.Grow(m.mag, n+m.pad)
	m.small = entropy.Grow(m.small, n+m.pad)
	clear(m.mag[:m.pad])
	clear(m.small[:m.pad])
	for i := range m.size {
		arith.Reset(m.size[i][:])
	}
	for i := range m.mix {
		for j := range m.mix[i] {
			m.mix[i][j] = 1 << 16 * 3 / 10
		}
	}
	arith.Reset(m.zero[:])
	arith.Reset(m.tz[:])
	arith.Reset(m.sign[:])
	arith.Reset(m.lead[:])
}

// place is the context of a residual, known before it is coded.
type place struct {
	start int // the size that its neighbours suggest, in bits
	part  int // the next three bits of that
	z     int // start up to 3
	ctx   [nInputs]int
	sign  int
}

func clamp(v, lo, hi int) int { return min(max(v, lo), hi) }

// expect returns the size that neighbours suggest for the residual i, in
// sixteenths of bits. i counts from the padding.
func (m *Model[T]) expect(i int) int {
	n := i - m.near.North
	return 3*int(m.mag[i-1]) + int(m.mag[i-2]) + 2*int(m.mag[n]) + int(m.mag[n+1]) + int(m.mag[n-1])
}

// look prepares the coding of residual i.
func (m *Model[T]) look(p *place, i int) {
	n, b := i-m.near.North, i-m.near.Below
	sum := m.expect(i)
	p.start, p.part = (sum+8)>>4, sum>>1&7
	p.z = min(p.start, 3)
	sw, sn, sb := int(m.small[i-1]), int(m.small[n]), int(m.small[b])
	p.sign = clamp(sw, -1, 1)*9 + clamp(sn, -1, 1)*3 + clamp(sb, -1, 1) + 13
	base := 2*p.start - 4
	near := func(k int) int { return clamp(int(m.mag[k])-base, 0, 8) }
	p.ctx[0] = (min(p.start, 11)*8 + p.part) * nNodes
	p.ctx[1] = (p.z*81 + near(i-1)*9 + near(n)) * nNodes
	p.ctx[2] = (p.z*81 + near(b)*9 + near(i-2)) * nNodes
	if p.z < 3 {
		p.ctx[3] = (p.z*75 + (sw+2)*15 + (sn+2)*3 + clamp(sb, -1, 1) + 1) * nNodes
	} else {
		p.ctx[3] = (p.z*75 + near(n-1)>>1*5 + near(n+1)>>1) * nNodes
	}
}

// bitLen codes the bits of an absolute value, at most most.
func (m *Model[T]) bitLen(c *arith.Coder, p *place, b, most int) int {
	k := min(p.start, most-1)
	if m.above(c, p, k, b) {
		for k++; k < most && m.above(c, p, k, b); k++ {
		}
		return k
	}
	for k--; k >= 0 && !m.above(c, p, k, b); k-- {
	}
	return k + 1
}

// above codes whether b > k.
func (m *Model[T]) above(c *arith.Coder, p *place, k, b int) bool {
	node := clamp(k-p.start+nNodes/2, 0, nNodes-1)
	w := &m.mix[(p.z*nNodes+node)&(4*nNodes-1)]
	const last = maxContexts*nNodes - 1
	p0, p1 := &m.size[0][(p.ctx[0]+node)&last], &m.size[1][(p.ctx[1]+node)&last]
	p2, p3 := &m.size[2][(p.ctx[2]+node)&last], &m.size[3][(p.ctx[3]+node)&last]
	t0, t1, t2, t3 := int64(p0.Stretch()), int64(p1.Stretch()), int64(p2.Stretch()), int64(p3.Stretch())
	prob := arith.Squash((int64(w[0])*t0 + int64(w[1])*t1 + int64(w[2])*t2 + int64(w[3])*t3) >> 16)
	bit := 0
	if b > k {
		bit = 1
	}
	bit = c.Code(bit, min(max(prob<<4, 32), 1<<16-32))
	err := (int64(bit)<<12 - int64(prob)) * 6
	w[0] += int32((t0*err + 1<<15) >> 16)
	w[1] += int32((t1*err + 1<<15) >> 16)
	w[2] += int32((t2*err + 1<<15) >> 16)
	w[3] += int32((t3*err + 1<<15) >> 16)
	p0.Update(bit)
	p1.Update(bit)
	p2.Update(bit)
	p3.Update(bit)
	return bit != 0
}

// residual codes the absolute value v, a multiple of 2^t, and the sign of
// residual i. most are the bits of a lane.
func (m *Model[T]) residual(c *arith.Coder, i int, v uint64, neg int, t, most uint) (uint64, int) {
	var p place
	m.look(&p, i)
	b := m.bitLen(c, &p, bits.Len64(v), int(most))
	if b == 0 {
		m.mag[i], m.small[i] = 0, 0
		return 0, 0
	}
	neg = c.Bit(&m.sign[p.sign*4+min(b, 3)], neg)
	x := uint64(1)
	if rest := b - 1; rest > 0 {
		lead := (*[4]arith.Prob)(m.lead[((min(b, 8)-1)*64+clamp(b-p.start+3, 0, 7)*8+p.part)*4:])
		for k := 0; k < 2 && rest > int(t); k++ {
			rest--
			x = x<<1 | uint64(c.Bit(&lead[x&3], int(v>>rest&1)))
		}
		if k := rest - int(t); k > 0 {
			x = x<<k | m.low.code(v>>t&(1<<k-1), uint(k))
			rest = int(t)
		}
		x <<= rest
	}
	m.mag[i] = magnitude(x, b)
	m.small[i] = negate(int8(min(x, 2)), neg)
	return x, neg
}

// negate returns -v if neg is 1 and v if it is 0, without a branch.
func negate[T int8 | entropy.Lane](v T, neg int) T { return (v ^ -T(neg)) + T(neg) }

// magnitude returns the size of x, which has b ≥ 1 bits, in half octaves.
func magnitude(x uint64, b int) uint8 {
	h := 2*b - 1
	if b > 1 {
		h += int(x >> (b - 2) & 1)
	}
	return uint8(h)
}

// most is the highest size of a residual in a weighted sum, in bits.
const most = 40

// predict returns the weighted sum of the neighbours of residual i.
func (m *Model[T]) predict(i int) int64 {
	var x [nTaps]int64
	m.taps(&x, i)
	sum := int64(1) << (weightBits - 1)
	for j, v := range x {
		sum += int64(m.sum.w[j]) * v
	}
	return sum >> weightBits
}

// taps sets x to the neighbours of residual i, clamped, and returns the clamp.
func (m *Model[T]) taps(x *[nTaps]int64, i int) int64 {
	lim := int64(1) << min(uint(m.expect(i)+8)>>4+m.sum.limit, most)
	v, n, b := m.vals, i-m.near.North, i-m.near.Below
	at := func(k int) int64 { return min(max(signed(v[k]), -lim), lim) }
	x[0], x[1], x[2] = at(i-1), at(i-2), at(i-3)
	x[3], x[4], x[5], x[6] = at(n), at(n+1), at(n-1), at(n+2)
	x[7], x[8], x[9], x[10] = at(b), at(b-1), at(b+1), at(b-m.near.North)
	if m.near.Below > 2*m.near.North {
		s := b + m.near.North
		x[11], x[12], x[13] = at(s), at(s+1), at(s-1)
	}
	return lim
}

// signed returns a lane as a signed number.
func signed[T entropy.Lane](v T) int64 {
	shift := 64 - entropy.LaneBits[T]()
	return int64(uint64(v)<<shift) >> shift
}
