package lorenz

import "encoding/binary"

// loadBits32 reads big-endian elements of up to 4 bytes as their bits, signed
// integers extended by their sign.
func loadBits32(dst []uint32, src []byte, t Type) {
	switch t.Size() {
	case 4:
		for i := range dst {
			dst[i] = binary.BigEndian.Uint32(src[4*i:])
		}
	case 2:
		for i := range dst {
			dst[i] = uint32(binary.BigEndian.Uint16(src[2*i:]))
		}
		if t.signed() {
			for i, v := range dst {
				dst[i] = uint32(int32(int16(v)))
			}
		}
	case 1:
		for i := range dst {
			dst[i] = uint32(src[i])
		}
		if t.signed() {
			for i, v := range dst {
				dst[i] = uint32(int32(int8(v)))
			}
		}
	}
}

// loadBits64 reads big-endian elements of 8 bytes as their bits.
func loadBits64(dst []uint64, src []byte) {
	for i := range dst {
		dst[i] = binary.BigEndian.Uint64(src[8*i:])
	}
}

// order32 and order64 map the bits of elements to the lanes of mapOrder.
func order32(dst, u []uint32, t Type) {
	if !t.float() {
		copy(dst, u)
		return
	}
	for i, v := range u {
		dst[i] = ordered32(v)
	}
}

func order64(dst, u []uint64, t Type) {
	if !t.float() {
		copy(dst, u)
		return
	}
	for i, v := range u {
		dst[i] = ordered64(v)
	}
}
