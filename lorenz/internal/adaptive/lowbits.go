package adaptive

import "encoding/binary"

// lowBits holds the bits that are stored without modeling.
type lowBits struct {
	buf      []byte
	decoding bool
	pos      int // of a decoder, in bits
	acc      uint64
	n        uint
}

// code codes k bits, at most 63.
func (l *lowBits) code(v uint64, k uint) uint64 {
	if k > 32 {
		v = l.code(v&(1<<32-1), 32) | l.code(v>>32, k-32)<<32
		return v
	}
	if l.decoding {
		i := l.pos >> 3
		var x uint64
		if i+8 <= len(l.buf) {
			x = binary.LittleEndian.Uint64(l.buf[i:])
		} else {
			for j := 0; i+j < len(l.buf); j++ {
				x |= uint64(l.buf[i+j]) << (8 * j)
			}
		}
		v = x >> (l.pos & 7) & (1<<k - 1)
		l.pos += int(k)
		return v
	}
	l.acc |= v << l.n
	for l.n += k; l.n >= 8; l.n -= 8 {
		l.buf = append(l.buf, byte(l.acc))
		l.acc >>= 8
	}
	return v
}

// finish returns the bits of an encoder, filled up to a byte with zeros.
func (l *lowBits) finish() []byte {
	if l.n > 0 {
		l.buf = append(l.buf, byte(l.acc))
		l.acc, l.n = 0, 0
	}
	return l.buf
}

// ended reports whether a decoder has read all bits but zeros in the last byte.
func (l *lowBits) ended() bool {
	return (l.pos+7)>>3 == len(l.buf) && (l.pos&7 == 0 || l.buf[l.pos>>3]>>(l.pos&7) == 0)
}
