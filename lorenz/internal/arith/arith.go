// Package arith codes bits with adaptive probabilities, for the modes of lorenz
// that aim at size. docs/LORENZ.md specifies it.
package arith

import "slices"

// Coder codes one bit at a time: an encoder appends to Buf, a decoder reads from
// it. One model serves both, as Code takes the bit to encode, which a decoder
// ignores, and returns the bit.
type Coder struct {
	Buf      []byte
	s        State
	decoding bool
}

// NewEncoder returns an encoder that appends to dst.
func NewEncoder(dst []byte) Coder {
	return Coder{Buf: dst, s: State{high: 1<<32 - 1, pos: len(dst)}}
}

// NewDecoder returns a decoder. Past the end of src it reads zeros.
func NewDecoder(src []byte) Coder {
	s := State{high: 1<<32 - 1}
	for range 4 {
		s = s.fill(src)
	}
	return Coder{Buf: src, s: s, decoding: true}
}

// Code codes a bit. p is the probability of a 1 in 1/65536, at least 1 and at
// most 65535.
func (c *Coder) Code(bit int, p uint32) int {
	s, one := c.s.Code(p, Mask(bit), c.decoding)
	if c.s = s; s.decided() {
		c.shift()
	}
	return int(one & 1)
}

// shift is State.Shift.
func (c *Coder) shift() {
	s, buf, decoding := c.Begin(4)
	c.End(s.Shift(buf, decoding))
}

// Finish returns what an encoder has written. One final byte is enough, as
// decoders read zeros after it.
func (c *Coder) Finish() []byte { return append(c.Buf, byte(c.s.low>>24)+1) }

// ahead is how many bytes a decoder reads beyond those that it needs.
const ahead = 3

// Exhausted reports whether a decoder has read too far beyond its source.
func (c *Coder) Exhausted() bool { return c.s.pos > len(c.Buf)+ahead }

// Ended reports whether a decoder has used exactly its source.
func (c *Coder) Ended() bool { return c.s.pos == len(c.Buf)+ahead }

// Bit codes a bit with an adaptive probability.
func (c *Coder) Bit(p *Prob, bit int) int {
	v := *p
	s, one := c.s.Code(v.P16(), Mask(bit), c.decoding)
	*p = v.Next(one)
	if c.s = s; s.decided() {
		c.shift()
	}
	return int(one & 1)
}

// Mix4 codes a bit with the mixture of four probabilities. rate is how fast their weights follow the bits.
func (c *Coder) Mix4(w *[4]Weight, p0, p1, p2, p3 *Prob, bit int, rate int64) int {
	v0, v1, v2, v3 := *p0, *p1, *p2, *p3
	p := Mix4(w, v0, v1, v2, v3)
	s, one := c.s.Code(p.P16(), Mask(bit), c.decoding)
	err := p.Miss(one) * rate
	w[0], w[1], w[2], w[3] = w[0].Next(v0, err), w[1].Next(v1, err), w[2].Next(v2, err), w[3].Next(v3, err)
	*p0, *p1, *p2, *p3 = v0.Next(one), v1.Next(one), v2.Next(one), v3.Next(one)
	if c.s = s; s.decided() {
		c.shift()
	}
	return int(one & 1)
}

// Tree codes n bits, most significant first, each in the context of those before
// it.
func (c *Coder) Tree(p []Prob, n uint, v int) int {
	node := 1
	for i := int(n) - 1; i >= 0; i-- {
		node = node<<1 | c.Bit(&p[node], v>>i&1)
	}
	return node - 1<<n
}

// Mask returns all ones for the bit 1, and 0 for 0.
func Mask(bit int) uint32 { return -uint32(bit) }

// State is how far a coder is. Loops over many bits keep it in a variable, from Begin to End. Its methods
// are short, so that the compiler makes them part of the loop and keeps the state in registers.
type State struct {
	low, high uint32
	x         uint32 // the next bytes of a decoder
	pos       int    // bytes read or written
}

// Begin returns the state, and the bytes that are read or written. An encoder may write room more bytes.
func (c *Coder) Begin(room int) (s State, buf []byte, decoding bool) {
	if c.decoding {
		return c.s, c.Buf, true
	}
	c.Buf = slices.Grow(c.Buf, room)
	return c.s, c.Buf[:cap(c.Buf)], false
}

// End sets the state after the last bit.
func (c *Coder) End(s State) {
	c.s = s
	if !c.decoding {
		c.Buf = c.Buf[:s.pos]
	}
}

// Code is Coder.Code for bits as masks, since bits are unpredictable and branches on them slow. Shift must
// follow.
func (s State) Code(p, one uint32, decoding bool) (State, uint32) {
	mid := s.low + uint32(uint64(s.high-s.low)*uint64(p)>>16)
	if decoding {
		one = -uint32((uint64(s.x) - uint64(mid) - 1) >> 63)
	}
	s.high ^= (s.high ^ mid) & one
	s.low ^= (s.low ^ (mid + 1)) &^ one
	return s, one
}

// decided reports whether the next byte is decided.
func (s State) decided() bool { return (s.low^s.high)>>24 == 0 }

// Shift writes or skips the bytes that are decided.
func (s State) Shift(buf []byte, decoding bool) State {
	for s.decided() {
		if decoding {
			s = s.fill(buf)
		} else {
			buf[s.pos] = byte(s.low >> 24)
			s.pos++
		}
		s.low, s.high = s.low<<8, s.high<<8|255
	}
	return s
}

// fill reads the next byte of a decoder.
func (s State) fill(src []byte) State {
	s.x <<= 8
	if s.pos < len(src) {
		s.x |= uint32(src[s.pos])
	}
	s.pos++
	return s
}

// Prob is an adaptive probability of a 1: 22 bits, and below them the number of
// bits seen, up to a limit.
type Prob uint32

const (
	probStart = Prob(1 << 31)
	probLimit = 127
)

// Reset sets probabilities to one half.
func Reset(p []Prob) {
	// Copies of a part are made several times as fast as single values.
	n := min(1024, len(p))
	for i := range p[:n] {
		p[i] = probStart
	}
	for at := n; at < len(p); {
		at += copy(p[at:], p[:n])
	}
}

// OrStart returns the probability for 0, that of the beginning for 1.
func (p Prob) OrStart(start uint32) Prob { return p ^ (p^probStart)&-Prob(start) }

// P16 returns the probability for the coder.
func (p Prob) P16() uint32 { return bound(uint32(p) >> 16) }

// P12 returns the probability in 1/4096.
func (p Prob) P12() uint32 { return uint32(p) >> 20 }

// bound returns the nearest probability, in 1/65536, that the coder may have.
func bound(p uint32) uint32 { return min(max(p, 32), 1<<16-32) }

// stretch returns ln(p / (1 - p)) in units of 1/256.
func (p Prob) stretch() int64 { return int64(stretched[p>>20]) }

// Next returns the probability after a bit, given as a mask.
func (p Prob) Next(one uint32) Prob {
	const top = 1<<22 - 1 // the highest probability
	s := &steps[p&probLimit]
	return p + Prob(uint32((int64(one&top)-int64(p>>10))*int64(s.rate)>>16)<<10+s.one)
}

// Update moves the probability towards a bit.
func (p *Prob) Update(bit int) { *p = p.Next(Mask(bit)) }

// steps are 65536 / (n + 1.5) for each number n of bits seen, and what is added to it.
var steps = func() (t [probLimit + 1]struct{ rate, one uint32 }) {
	for n := range t {
		t[n].rate = uint32(65536 * 2 / (2*n + 3))
		if n < probLimit {
			t[n].one = 1
		}
	}
	return t
}()

// Weight is the weight of a probability in a mixture, in 1/65536. No stream makes weights of 2^46
// (docs/LORENZ.md, section 9), but hostile ones might need more than 32 bits.
type Weight int64

// Next returns the weight after a bit, which the mixture has missed by err.
func (w Weight) Next(p Prob, err int64) Weight { return w + Weight((p.stretch()*err+1<<15)>>16) }

// Mixture is a probability that is mixed of others: in 1/4096, and below that for the coder in 1/65536.
type Mixture uint32

// Mix2 mixes two probabilities.
func Mix2(w *[4]Weight, p0, p1 Prob) Mixture {
	return squash((int64(w[0])*p0.stretch() + int64(w[1])*p1.stretch()) >> 16)
}

// Mix4 mixes four probabilities.
func Mix4(w *[4]Weight, p0, p1, p2, p3 Prob) Mixture {
	return squash((int64(w[0])*p0.stretch() + int64(w[1])*p1.stretch() +
		int64(w[2])*p2.stretch() + int64(w[3])*p3.stretch()) >> 16)
}

// P16 returns the probability for the coder.
func (m Mixture) P16() uint32 { return uint32(m) & 0xFFFF }

// P12 returns the probability in 1/4096.
func (m Mixture) P12() uint32 { return uint32(m) >> 16 }

// Miss returns how far the probability was from a bit, given as a mask, in 1/4096.
func (m Mixture) Miss(one uint32) int64 { return int64(one&(1<<12)) - int64(m>>16) }

// squash returns 1 / (1 + e^(-x/256)), by interpolation, for -2047 to 2047. Below it returns 1/4096,
// above 4095/4096.
func squash(x int64) Mixture { return squashed[min(max(x, -2048), 2048)+2048] }

// squashed holds squash of -2048 to 2048.
var squashed = func() (t [4097]Mixture) {
	for i := range t {
		x := max(i, 1) - 2048
		p := uint32(4095)
		if x < 2048 {
			w, k := uint32(x&127), x>>7+16
			p = (squashTable[k]*(128-w) + squashTable[k+1]*w + 64) >> 7
		}
		t[i] = Mixture(p<<16 | bound(p<<4))
	}
	return t
}()

var squashTable = [33]uint32{
	1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047,
	2549, 2994, 3348, 3607, 3785, 3901, 3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094,
}

// stretched holds stretch of each probability in 1/4096.
var stretched = func() (t [4096]int16) {
	next := uint32(0)
	for x := int64(-2047); x <= 2047; x++ {
		for v := squash(x).P12(); next <= v; next++ {
			t[next] = int16(x)
		}
	}
	for ; next < 4096; next++ {
		t[next] = 2047
	}
	return t
}()
