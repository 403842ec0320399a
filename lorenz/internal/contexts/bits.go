package contexts

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// bitReader reads the tables.
type bitReader struct {
	buf []byte
	pos int
}

// peek returns at least the next 24 bits, zeros past the end.
func (b *bitReader) peek() uint32 {
	i := b.pos >> 3
	if i+4 <= len(b.buf) {
		return binary.LittleEndian.Uint32(b.buf[i:]) >> (b.pos & 7)
	}
	var part [4]byte
	if i < len(b.buf) {
		copy(part[:], b.buf[i:])
	}
	return binary.LittleEndian.Uint32(part[:]) >> (b.pos & 7)
}

// get returns n bits, at most 16, zeros past the end.
func (b *bitReader) get(n uint) uint32 {
	v := b.peek() & (1<<n - 1)
	b.pos += int(n)
	return v
}

// difference returns a difference of levels or of trailing zeros.
func (b *bitReader) difference(k uint) int {
	u := 0
	for {
		ones := min(bits.TrailingZeros32(^b.peek()), 16)
		b.pos += ones
		u += ones
		if ones < 16 || u > 2*64 { // more than any difference is, or the end of a damaged block
			break
		}
	}
	b.pos++
	u = u<<k | int(b.get(k))
	return u>>1 ^ -(u & 1)
}

// bitWriter appends bits.
type bitWriter struct {
	buf []byte
	acc uint64
	n   uint
}

// put appends the n bits of v, at most 56.
func (w *bitWriter) put(v uint64, n uint) {
	w.acc |= v << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.buf = append(w.buf, byte(w.acc))
		w.acc >>= 8
	}
}

// reserve makes room for some bytes of quickly.
func (w *bitWriter) reserve(n int) { w.buf = slices.Grow(w.buf, n+8) }

// quickly is put after reserve.
func (w *bitWriter) quickly(v uint64, n uint) {
	w.acc |= v << w.n
	at := len(w.buf)
	binary.LittleEndian.PutUint64(w.buf[at:at+8:cap(w.buf)], w.acc)
	w.n += n
	w.buf = w.buf[:at+int(w.n>>3)]
	w.acc >>= w.n &^ 7
	w.n &= 7
}

// finish fills the last byte and returns all.
func (w *bitWriter) finish() []byte {
	if w.n > 0 {
		w.buf = append(w.buf, byte(w.acc))
		w.acc, w.n = 0, 0
	}
	return w.buf
}

// differences appends differences with the best of the eight codes.
func (w *bitWriter) differences(diffs []int) {
	best, least := uint(0), math.MaxInt
	for k := range uint(8) {
		sum := 0
		for _, d := range diffs {
			sum += int(zigzag(d)>>k) + 1 + int(k)
		}
		if sum < least {
			best, least = k, sum
		}
	}
	w.put(uint64(best), 3)
	for _, d := range diffs {
		u := zigzag(d)
		for range u >> best {
			w.put(1, 1)
		}
		w.put(0, 1)
		w.put(uint64(u)&(1<<best-1), best)
	}
}

// zeros appends the trailing zeros of groups.
func (w *bitWriter) zeros(list []uint8) {
	diffs := make([]int, len(list))
	last := 0
	for i, t := range list {
		diffs[i] = int(t) - last
		last = int(t)
	}
	w.differences(diffs)
}

func zigzag(d int) uint { return uint(d<<1 ^ d>>63) }
