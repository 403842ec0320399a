package bytecoder

import "encoding/binary"

// The range coder codes one bit at a time. p is the probability of a 1 in
// 1/65536, at least 1 and at most 65535.

// rangeEncoder appends coded bits.
type rangeEncoder struct {
	low, high uint32
	dst       []byte
}

func newRangeEncoder(dst []byte) rangeEncoder { return rangeEncoder{0, 1<<32 - 1, dst} }

func (e *rangeEncoder) encode(bit int, p uint32) {
	mid := e.low + uint32(uint64(e.high-e.low)*uint64(p)>>16)
	if bit != 0 {
		e.high = mid
	} else {
		e.low = mid + 1
	}
	for (e.low^e.high)>>24 == 0 {
		e.dst = append(e.dst, byte(e.low>>24))
		e.low <<= 8
		e.high = e.high<<8 | 255
	}
}

// finish appends the remaining bytes.
func (e *rangeEncoder) finish() []byte {
	return binary.BigEndian.AppendUint32(e.dst, e.low)
}

// rangeDecoder reads coded bits. Past the end it reads zeros.
type rangeDecoder struct {
	low, high, x uint32
	src          []byte
	pos          int
}

func newRangeDecoder(src []byte) rangeDecoder {
	d := rangeDecoder{high: 1<<32 - 1, src: src}
	for range 4 {
		d.shift()
	}
	return d
}

func (d *rangeDecoder) shift() {
	d.x <<= 8
	if d.pos < len(d.src) {
		d.x |= uint32(d.src[d.pos])
	}
	d.pos++
}

func (d *rangeDecoder) decode(p uint32) int {
	mid := d.low + uint32(uint64(d.high-d.low)*uint64(p)>>16)
	bit := 0
	if d.x <= mid {
		d.high = mid
		bit = 1
	} else {
		d.low = mid + 1
	}
	for (d.low^d.high)>>24 == 0 {
		d.low <<= 8
		d.high = d.high<<8 | 255
		d.shift()
	}
	return bit
}

// ended reports whether exactly the source was read.
func (d *rangeDecoder) ended() bool { return d.pos == len(d.src) }

// bitCoder is an encoder or a decoder. code takes the bit to encode, which a decoder
// ignores, and returns the bit. With two implementations, one model serves both.
type bitCoder interface {
	code(bit int, p uint32) int
}

func (e *rangeEncoder) code(bit int, p uint32) int {
	e.encode(bit, p)
	return bit
}

func (d *rangeDecoder) code(_ int, p uint32) int { return d.decode(p) }

// prob is an adaptive probability of a 1: 22 bits, and below them the number of
// bits seen, up to a limit.
type prob uint32

const (
	probStart = prob(1 << 31)
	probLimit = 127
)

// p16 returns the probability for the range coder.
func (p prob) p16() uint32 {
	return min(max(uint32(p)>>16, 32), 1<<16-32)
}

// update moves the probability towards a bit.
func (p *prob) update(bit int) {
	v := uint32(*p)
	n := v & 1023
	target := uint32(0)
	if bit != 0 {
		target = 1<<22 - 1
	}
	d := int64(target) - int64(v>>10)
	v += uint32(int32(d*int64(rates[n])>>16)) << 10
	if n < probLimit {
		v++
	}
	*p = prob(v)
}

// rates are 65536 / (n + 1.5).
var rates = func() (r [probLimit + 1]uint16) {
	for n := range r {
		r[n] = uint16(65536 * 2 / (2*n + 3))
	}
	return r
}()
