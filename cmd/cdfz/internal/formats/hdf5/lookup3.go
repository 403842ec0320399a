package hdf5

import (
	"encoding/binary"
	"math/bits"
)

// checksum is the checksum of metadata and the hash of names: Bob Jenkins' lookup3,
// function hashlittle with the initial value 0 (appendix "Checksum" of the specification).
func checksum(p []byte) uint32 {
	a := 0xdeadbeef + uint32(len(p))
	b, c := a, a
	if len(p) == 0 {
		return c
	}
	var last [12]byte
	for {
		q := p
		if len(p) <= 12 {
			copy(last[:], p)
			q = last[:]
		}
		a += binary.LittleEndian.Uint32(q)
		b += binary.LittleEndian.Uint32(q[4:])
		c += binary.LittleEndian.Uint32(q[8:])
		if len(p) <= 12 {
			break
		}
		p = p[12:]
		a = (a - c) ^ bits.RotateLeft32(c, 4)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 6)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 8)
		b += a
		a = (a - c) ^ bits.RotateLeft32(c, 16)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 19)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 4)
		b += a
	}
	// The last words are mixed in another way.
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
