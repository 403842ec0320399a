package adaptive

import "encoding/binary"

// lowBits holds the bits that are stored without modeling.
type lowBits struct {
	buf []byte
	pos int // of a decoder, in bits
	acc uint64
	n   uint
}

// get returns k bits, at most 63, from bit at on. After the last byte there are zeros.
func (l *lowBits) get(at, k int) uint64 {
	var b [9]byte
	if at>>3 < len(l.buf) {
		copy(b[:], l.buf[at>>3:])
	}
	return (binary.LittleEndian.Uint64(b[:])>>(at&7) | uint64(b[8])<<(64-(at&7))) & (1<<k - 1)
}

// put writes k bits, at most 63.
func (l *lowBits) put(v uint64, k int) {
	l.acc |= v << l.n
	if l.n += uint(k); l.n >= 64 {
		l.buf = binary.LittleEndian.AppendUint64(l.buf, l.acc)
		l.n -= 64
		l.acc = v >> (uint(k) - l.n)
	}
}

// finish returns the bits of an encoder, filled up to a byte with zeros.
func (l *lowBits) finish() []byte {
	for ; l.n > 0; l.n -= min(l.n, 8) {
		l.buf = append(l.buf, byte(l.acc))
		l.acc >>= 8
	}
	return l.buf
}

// ended reports whether a decoder has read all bits but zeros in the last byte.
func (l *lowBits) ended() bool {
	return (l.pos+7)>>3 == len(l.buf) && (l.pos&7 == 0 || l.buf[l.pos>>3]>>(l.pos&7) == 0)
}
