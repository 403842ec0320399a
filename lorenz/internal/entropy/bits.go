package entropy

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// bitWriter appends bits to a byte slice, least significant bit first.
type bitWriter struct {
	buf []byte
	acc uint64
	n   uint // bits in acc, below 8 between calls
}

// put appends the low n bits of v, n up to 56. Higher bits of v must be 0.
func (w *bitWriter) put(v uint64, n uint) {
	w.acc |= v << w.n
	w.n += n
	for w.n >= 8 {
		w.buf = append(w.buf, byte(w.acc))
		w.acc >>= 8
		w.n -= 8
	}
}

// put64 appends the low n bits of v, n up to 64.
func (w *bitWriter) put64(v uint64, n uint) {
	if n > 32 {
		w.put(v&(1<<32-1), 32)
		v >>= 32
		n -= 32
	}
	w.put(v, n)
}

// gamma appends v ≥ 1: as many zeros as v has bits after its first one, a one,
// and these bits.
func (w *bitWriter) gamma(v uint64) {
	n := uint(bits.Len64(v)) - 1
	w.put64(0, n)
	w.put(1, 1)
	w.put64(v&^(1<<n), n)
}

// nibbles appends v in groups of three bits, lowest first, each followed by a
// bit that is set if another group follows.
func (w *bitWriter) nibbles(v uint64) {
	for v >= 8 {
		w.put(v&7|8, 4)
		v >>= 3
	}
	w.put(v, 4)
}

// align fills the last byte with zeros.
func (w *bitWriter) align() {
	if w.n > 0 {
		w.buf = append(w.buf, byte(w.acc))
		w.acc, w.n = 0, 0
	}
}

// bitReader reads the output of bitWriter. Past the end it reads zeros, and the
// position reports whether that happened.
type bitReader struct {
	buf []byte
	pos int // in bits
}

// peek returns at least the next 56 bits.
func (r *bitReader) peek() uint64 {
	return load64(r.buf, r.pos>>3) >> (uint(r.pos) & 7)
}

// load64 reads 8 little-endian bytes at i, zeros past the end.
func load64(b []byte, i int) uint64 {
	if uint(i)+8 <= uint(len(b)) {
		return binary.LittleEndian.Uint64(b[i:])
	}
	var v uint64
	for s := 0; i < len(b) && s < 64; i, s = i+1, s+8 {
		v |= uint64(b[i]) << s
	}
	return v
}

// get reads n bits, n up to 56.
func (r *bitReader) get(n uint) uint64 {
	v := r.peek() & (1<<n - 1)
	r.pos += int(n)
	return v
}

// get64 reads n bits, n up to 64.
func (r *bitReader) get64(n uint) uint64 {
	if n <= 32 {
		return r.get(n)
	}
	lo := r.get(32)
	return lo | r.get(n-32)<<32
}

// nibbles reads a number written by bitWriter.nibbles.
func (r *bitReader) nibbles() uint64 {
	var v uint64
	for s := uint(0); s < 66; s += 3 {
		g := r.get(4)
		v |= (g & 7) << s
		if g < 8 {
			return v
		}
	}
	r.pos = 8*len(r.buf) + 8 // beyond any chunk, so that the check of its end fails
	return v
}

// Reader reads the fixed parts of an encoded block. The first fault sets Bad, and
// everything after it reads as zero.
type Reader struct {
	Buf []byte
	Bad bool
}

func (r *Reader) Byte() byte {
	if len(r.Buf) == 0 {
		r.Bad = true
		return 0
	}
	b := r.Buf[0]
	r.Buf = r.Buf[1:]
	return b
}

// Bytes returns the next n bytes, or nil if there are fewer.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.Buf) {
		r.Bad, r.Buf = true, nil
		return nil
	}
	b := r.Buf[:n:n]
	r.Buf = r.Buf[n:]
	return b
}

// Uvarint reads a LEB128 number up to max.
func (r *Reader) Uvarint(max uint64) uint64 {
	v, n := binary.Uvarint(r.Buf)
	if n <= 0 || v > max {
		r.Bad, r.Buf = true, nil
		return 0
	}
	r.Buf = r.Buf[n:]
	return v
}

// Int reads a LEB128 number up to max.
func (r *Reader) Int(max int) int { return int(r.Uvarint(uint64(max))) }

// Float reads a little-endian double.
func (r *Reader) Float() float64 {
	p := r.Bytes(8)
	if p == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(p))
}
