package kernels

import "encoding/binary"

// Pack2 packs two bytes of v into each byte of dst, the first one in the low bits. Bytes above 15
// count as 15.
func Pack2(dst, v []byte) {
	k := pack2Fast(dst, v)
	dst, v = dst[k:], v[2*k:2*len(dst)]
	for i := range dst {
		dst[i] = min(v[2*i], 15) | min(v[2*i+1], 15)<<4
	}
}

// Pack4 packs four bytes of v into each byte of dst, the first one in the low bits. Bytes above 3
// count as 3.
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
