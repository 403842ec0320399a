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

// maxBelow is the greatest distance of a neighbour. It bounds what a decoder remembers. Part of the
// format.
const maxBelow = 1 << 20

// Valid reports whether blocks may have these neighbours.
func (n Neighbours) Valid() bool { return max(n.North, n.Below) <= maxBelow }

const (
	nInputs = 4  // contexts of a size
	nNodes  = 16 // decisions about a size

	mixStart = 1 << 16 * 3 / 10
	mixRate  = 6

	noisy = 3 // bits of an expected size from which on fewer contexts matter
)

// maxContexts is more than the values of any context, a power of two.
const maxContexts = 512

// Model predicts the size and the sign of each residual. It keeps its memory
// from block to block.
type Model[T entropy.Lane] struct {
	near  Neighbours
	zero  [8]arith.Prob
	tz    [64 * 64]arith.Prob
	size  [nInputs][maxContexts][nNodes]arith.Prob
	mix   [noisy + 1][nNodes][nInputs]int64 // weights of the contexts
	sign  [27 * 4]arith.Prob
	lead  [8 * 8 * 8]arith.Prob // the bit after the first
	low   lowBits
	pad   int     // elements before the first one of the window
	base  int     // the first element of the window
	mag   []uint8 // sizes in half octaves, of the window and of pad elements before it
	small []int8  // residuals, clamped to ±2
}

// begin prepares the sizes of a window of n residuals. Those before it are 0.
func (m *Model[T]) begin(n int, near Neighbours) {
	m.near, m.base = near, 0
	m.pad = near.North + near.Below + 4
	m.mag = entropy.Grow(m.mag, n+m.pad)
	m.small = entropy.Grow(m.small, n+m.pad)
	clear(m.mag[:m.pad])
	clear(m.small[:m.pad])
}

// Memory bounds the bytes that a new model allocates to decode n residuals.
func Memory(n int64, near Neighbours) int64 {
	// Blocks with greater distances have none of these residuals, but their parts may.
	pad := int64(min(near.North, maxBelow) + min(near.Below, maxBelow) + 4)
	return (min(n, max(pad, leastWindow))+pad)*2 + 512<<10
}

// leastWindow is the least length of the window of a longer block.
const leastWindow = 1 << 16

// place returns the index of element at in the window, which then also holds the n-1 elements after
// it. If necessary, the window moves forward and keeps the neighbours before the element. n is at most
// leastWindow.
func (m *Model[T]) place(at, n int) int {
	i := at - m.base + m.pad
	if i+n <= len(m.mag) {
		return i
	}
	from := i - m.pad
	copy(m.mag, m.mag[from:i])
	copy(m.small, m.small[from:i])
	m.base = at
	return m.pad
}

// reset also sets the probabilities to those at the start of a block of n residuals. They take more
// memory than a small block, so estimates do without them.
func (m *Model[T]) reset(n int, near Neighbours) {
	// The new part of the window is at least as long as the part that it keeps when it moves.
	m.begin(min(n, max(near.North+near.Below+4, leastWindow)), near)
	for i := range m.size {
		for j := range m.size[i] {
			arith.Reset(m.size[i][j][:])
		}
	}
	for z := range m.mix {
		for node := range m.mix[z] {
			m.mix[z][node] = [nInputs]int64{mixStart, mixStart, mixStart, mixStart}
			if z == noisy {
				m.mix[z][node] = [nInputs]int64{2 * mixStart, 2 * mixStart}
			}
		}
	}
	arith.Reset(m.zero[:])
	arith.Reset(m.tz[:])
	arith.Reset(m.sign[:])
	arith.Reset(m.lead[:])
}

// place is the context of a residual, known before it is coded.
type place struct {
	start int          // the size that its neighbours suggest, in bits
	part  int          // the next three bits of that
	z     int          // start up to noisy
	ctx   [nInputs]int // of noisy ones, only the first two count
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
	w, n := (*[2]uint8)(m.mag[i-2:]), (*[3]uint8)(m.mag[i-m.near.North-1:])
	sum := 3*int(w[1]) + int(w[0]) + 2*int(n[1]) + int(n[2]) + int(n[0])
	p.start, p.part = (sum+8)>>4, sum>>1&7
	p.z = min(p.start, noisy)
	sw, sn, sb := int(m.small[i-1]), int(m.small[i-m.near.North]), int(m.small[i-m.near.Below])
	p.sign = clamp(sw, -1, 1)*9 + clamp(sn, -1, 1)*3 + clamp(sb, -1, 1) + 13
	base := 2*p.start - 4
	rel := func(mag uint8) int { return clamp(int(mag)-base, 0, 8) }
	p.ctx[0] = min(p.start, 11)*8 + p.part
	p.ctx[1] = p.z*81 + rel(w[1])*9 + rel(n[1])
	if p.z < noisy {
		p.ctx[2] = p.z*81 + rel(m.mag[i-m.near.Below])*9 + rel(w[0])
		p.ctx[3] = p.z*75 + (sw+2)*15 + (sn+2)*3 + clamp(sb, -1, 1) + 1
	}
}

// bitLen codes the bits of an absolute value, at most most.
func (m *Model[T]) bitLen(c *arith.Coder, p *place, b, most int) int {
	k := min(p.start, most-1)
	row := func(i int) *[nNodes]arith.Prob { return &m.size[i][p.ctx[i]&(maxContexts-1)] }
	mix, r0, r1, r2, r3 := &m.mix[p.z&3], row(0), row(1), row(2), row(3)
	for step := 0; ; {
		node := clamp(k-p.start+nNodes/2, 0, nNodes-1)
		above := 0 // whether b > k
		if b > k {
			above = 1
		}
		if p.z == noisy {
			above = c.Mix2(&mix[node], &r0[node], &r1[node], above, mixRate)
		} else {
			above = c.Mix4(&mix[node], &r0[node], &r1[node], &r2[node], &r3[node], above, mixRate)
		}
		switch {
		case step == 0:
			step = 2*above - 1
		case above != (step+1)>>1:
			return k + (1-step)>>1
		}
		if k += step; k < 0 || k == most {
			return k + (1-step)>>1
		}
	}
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
		if rest > int(t) {
			rest--
			lead := &m.lead[(min(b, 8)-1)*64+clamp(b-p.start+3, 0, 7)*8+p.part]
			x = x<<1 | uint64(c.Bit(lead, int(v>>rest&1)))
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
