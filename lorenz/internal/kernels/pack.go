package kernels

import "encoding/binary"

// Pack2 sets each byte of dst to two bytes of v, the first one in the low bits, of which those
// above 15 count as 15.
func Pack2(dst, v []byte) {
	k := pack2Fast(dst, v)
	dst, v = dst[k:], v[2*k:2*len(dst)]
	for i := range dst {
		dst[i] = min(v[2*i], 15) | min(v[2*i+1], 15)<<4
	}
}

// Pack4 sets each byte of dst to four bytes of v, the first one in the low bits, of which those
// above 3 count as 3.
func Pack4(dst, v []byte) {
	k := pack4Fast(dst, v)
	dst, v = dst[k:], v[4*k:4*len(dst)]
	for i := range dst {
		x := binary.LittleEndian.Uint32(v[4*i:])
		if x&0xFCFCFCFC != 0 {
			x = uint32(min(v[4*i], 3)) | uint32(min(v[4*i+1], 3))<<8 | uint32(min(v[4*i+2], 3))<<16 | uint32(min(v[4*i+3], 3))<<24
		}
		dst[i] = byte(x | x>>6 | x>>12 | x>>18)
	}
}
