package wire

import "encoding/binary"

// Elements are numbers of 1, 2, 4 or 8 bytes in memory.
type Elements struct {
	P    []byte
	Size int
	Big  bool // big-endian
}

// Len returns the number of elements.
func (e Elements) Len() int { return len(e.P) / e.Size }

// At returns the bits of element i.
func (e Elements) At(i int) uint64 {
	switch e.Size {
	case 1:
		return uint64(e.P[i])
	case 2:
		if p := e.P[2*i:]; e.Big {
			return uint64(binary.BigEndian.Uint16(p))
		} else {
			return uint64(binary.LittleEndian.Uint16(p))
		}
	case 4:
		if p := e.P[4*i:]; e.Big {
			return uint64(binary.BigEndian.Uint32(p))
		} else {
			return uint64(binary.LittleEndian.Uint32(p))
		}
	}
	if p := e.P[8*i:]; e.Big {
		return binary.BigEndian.Uint64(p)
	} else {
		return binary.LittleEndian.Uint64(p)
	}
}

// Set sets the bits of element i to the low bits of v.
func (e Elements) Set(i int, v uint64) {
	switch e.Size {
	case 1:
		e.P[i] = byte(v)
	case 2:
		if p := e.P[2*i:]; e.Big {
			binary.BigEndian.PutUint16(p, uint16(v))
		} else {
			binary.LittleEndian.PutUint16(p, uint16(v))
		}
	case 4:
		if p := e.P[4*i:]; e.Big {
			binary.BigEndian.PutUint32(p, uint32(v))
		} else {
			binary.LittleEndian.PutUint32(p, uint32(v))
		}
	default:
		if p := e.P[8*i:]; e.Big {
			binary.BigEndian.PutUint64(p, v)
		} else {
			binary.LittleEndian.PutUint64(p, v)
		}
	}
}

// Bits returns the number of bits of an element.
func (e Elements) Bits() uint { return uint(8 * e.Size) }

// Mask has the bits of an element set.
func (e Elements) Mask() uint64 { return ^uint64(0) >> (64 - e.Bits()) }
