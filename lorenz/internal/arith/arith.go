// Package arith codes bits with adaptive probabilities, for the modes of lorenz
// that aim at size. docs/LORENZ.md specifies it.
package arith

// Coder codes one bit at a time: an encoder appends to Buf, a decoder reads from
// it. One model serves both, as Code takes the bit to encode, which a decoder
// ignores, and returns the bit.
type Coder struct {
	Buf       []byte
	pos       int
	low, high uint32
	x         uint32
	decoding  bool
}

// NewEncoder returns an encoder that appends to dst.
func NewEncoder(dst []byte) Coder { return Coder{Buf: dst, high: 1<<32 - 1} }

// NewDecoder returns a decoder. Past the end of src it reads zeros.
func NewDecoder(src []byte) Coder {
	c := Coder{Buf: src, high: 1<<32 - 1, decoding: true}
	for range 4 {
		c.fill()
	}
	return c
}

// Code codes a bit. p is the probability of a 1 in 1/65536, at least 1 and at
// most 65535.
func (c *Coder) Code(bit int, p uint32) int {
	low, high := c.low, c.high
	mid := low + uint32(uint64(high-low)*uint64(p)>>16)
	// Without branches, as bits are unpredictable.
	one := -uint32(bit)
	if c.decoding {
		one = -uint32((uint64(c.x) - uint64(mid) - 1) >> 63)
	}
	high ^= (high ^ mid) & one
	low ^= (low ^ (mid + 1)) &^ one
	c.low, c.high = low, high
	if (low^high)>>24 == 0 {
		c.shift()
	}
	return int(one & 1)
}

// shift writes or skips the bytes that are decided.
func (c *Coder) shift() {
	for (c.low^c.high)>>24 == 0 {
		if c.decoding {
			c.fill()
		} else {
			c.Buf = append(c.Buf, byte(c.low>>24))
		}
		c.low <<= 8
		c.high = c.high<<8 | 255
	}
}

func (c *Coder) fill() {
	c.x <<= 8
	if c.pos < len(c.Buf) {
		c.x |= uint32(c.Buf[c.pos])
	}
	c.pos++
}

// Finish returns what an encoder has written. One final byte is enough, as
// decoders read zeros after it.
func (c *Coder) Finish() []byte { return append(c.Buf, byte(c.low>>24)+1) }

// ahead is how many bytes a decoder reads beyond those that it needs.
const ahead = 3

// Exhausted reports whether a decoder has read too far beyond its source.
func (c *Coder) Exhausted() bool { return c.pos > len(c.Buf)+ahead }

// Ended reports whether a decoder has used exactly its source.
func (c *Coder) Ended() bool { return c.pos == len(c.Buf)+ahead }

// Bit codes a bit with an adaptive probability.
func (c *Coder) Bit(p *Prob, bit int) int {
	v := *p
	low, high := c.low, c.high
	mid := low + uint32(uint64(high-low)*uint64(v.P16())>>16)
	one := -uint32(bit)
	if c.decoding {
		one = -uint32((uint64(c.x) - uint64(mid) - 1) >> 63)
	}
	high ^= (high ^ mid) & one
	low ^= (low ^ (mid + 1)) &^ one
	c.low, c.high = low, high
	*p = v.next(int64(one) & top)
	if (low^high)>>24 == 0 {
		c.shift()
	}
	return int(one & 1)
}

// Mix4 codes a bit with four probabilities, mixed by weights in 1/65536 that follow the
// bits. rate is how fast. No stream makes weights of 2^46 (docs/LORENZ.md, section 9), but
// hostile ones might need more than 32 bits.
func (c *Coder) Mix4(w *[4]int64, p0, p1, p2, p3 *Prob, bit int, rate int64) int {
	v0, v1, v2, v3 := *p0, *p1, *p2, *p3
	t0, t1, t2, t3 := int64(v0.Stretch()), int64(v1.Stretch()), int64(v2.Stretch()), int64(v3.Stretch())
	p := Squash((w[0]*t0 + w[1]*t1 + w[2]*t2 + w[3]*t3) >> 16)
	bit = c.Code(bit, min(max(p<<4, 32), 1<<16-32))
	err := (int64(bit)<<12 - int64(p)) * rate
	w[0] += (t0*err + 1<<15) >> 16
	w[1] += (t1*err + 1<<15) >> 16
	w[2] += (t2*err + 1<<15) >> 16
	w[3] += (t3*err + 1<<15) >> 16
	target := -int64(bit) & top
	*p0, *p1, *p2, *p3 = v0.next(target), v1.next(target), v2.next(target), v3.next(target)
	return bit
}

// Mixed4 returns the probability, in 1/4096, with which Mix4 would code a 1.
func Mixed4(w *[4]int64, p0, p1, p2, p3 *Prob) uint32 {
	return Squash((w[0]*int64(p0.Stretch()) + w[1]*int64(p1.Stretch()) +
		w[2]*int64(p2.Stretch()) + w[3]*int64(p3.Stretch())) >> 16)
}

// Mix2 is Mix4 for two probabilities.
func (c *Coder) Mix2(w *[4]int64, p0, p1 *Prob, bit int, rate int64) int {
	v0, v1 := *p0, *p1
	t0, t1 := int64(v0.Stretch()), int64(v1.Stretch())
	p := Squash((w[0]*t0 + w[1]*t1) >> 16)
	low, high := c.low, c.high
	mid := low + uint32(uint64(high-low)*uint64(min(max(p<<4, 32), 1<<16-32))>>16)
	one := -uint32(bit)
	if c.decoding {
		one = -uint32((uint64(c.x) - uint64(mid) - 1) >> 63)
	}
	high ^= (high ^ mid) & one
	low ^= (low ^ (mid + 1)) &^ one
	c.low, c.high = low, high
	err := (int64(one&(1<<12)) - int64(p)) * rate
	w[0] += (t0*err + 1<<15) >> 16
	w[1] += (t1*err + 1<<15) >> 16
	target := int64(one) & top
	*p0, *p1 = v0.next(target), v1.next(target)
	if (low^high)>>24 == 0 {
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

// P16 returns the probability for the coder.
func (p Prob) P16() uint32 { return min(max(uint32(p)>>16, 32), 1<<16-32) }

// P12 returns the probability in 1/4096.
func (p Prob) P12() uint32 { return uint32(p) >> 20 }

// Stretch returns ln(p / (1 - p)) in units of 1/256.
func (p Prob) Stretch() int32 { return int32(stretchTable[p>>20]) }

// Update moves the probability towards a bit.
func (p *Prob) Update(bit int) { *p = p.next(-int64(bit) & top) }

// top is the highest probability.
const top = 1<<22 - 1

// next returns the probability after a bit. The target is top after a 1, and 0 after a 0.
func (p Prob) next(target int64) Prob {
	n := uint32(p) & probLimit
	d := (target - int64(p>>10)) * int64(rates[n])
	return p + Prob(uint32(d>>16)<<10+(n-probLimit)>>31)
}

// rates are 65536 / (n + 1.5).
var rates = func() (r [probLimit + 1]uint16) {
	for n := range r {
		r[n] = uint16(65536 * 2 / (2*n + 3))
	}
	return r
}()

// Squash returns 4096 / (1 + e^(-x/256)), by interpolation, for -2047 to 2047. Below it
// returns 1, above 4095.
func Squash(x int64) uint32 {
	return uint32(squashed[min(max(x, -2048), 2048)+2048])
}

// squashed holds Squash of -2048 to 2048.
var squashed = func() (t [4097]uint16) {
	for i := range t[:4096] {
		x := max(i, 1) - 2048
		w := uint32(x & 127)
		k := x>>7 + 16
		t[i] = uint16((squashTable[k]*(128-w) + squashTable[k+1]*w + 64) >> 7)
	}
	t[0], t[4096] = 1, 4095
	return t
}()

var squashTable = [33]uint32{
	1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047,
	2549, 2994, 3348, 3607, 3785, 3901, 3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094,
}

var stretchTable = func() (t [4096]int16) {
	next := uint32(0)
	for x := int64(-2047); x <= 2047; x++ {
		for v := Squash(x); next <= v; next++ {
			t[next] = int16(x)
		}
	}
	for ; next < 4096; next++ {
		t[next] = 2047
	}
	return t
}()
