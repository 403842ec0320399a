package kernels

import (
	"encoding/binary"
	"math"
)

// PutQuotients writes signed integers divided by d as floats. Products with 1/d take less time than
// quotients. They are used where they certainly round to the same float.
func PutQuotients(dst []byte, y []uint32, d float64) {
	k := putQuotientsFast(dst, y, d)
	dst, y = dst[4*k:4*len(y)], y[k:]
	inverse := 1 / d
	for d >= 1 && d <= 1<<64 && len(y) >= 4 && len(dst) >= 16 { // no float is subnormal
		a, b, c, e := y[0], y[1], y[2], y[3]
		p, q := float64(int32(a))*inverse, float64(int32(b))*inverse
		r, s := float64(int32(c))*inverse, float64(int32(e))*inverse
		if unclear(p) || unclear(q) || unclear(r) || unclear(s) {
			put4((*[16]byte)(dst), quotient(a, d), quotient(b, d), quotient(c, d), quotient(e, d))
		} else {
			put4((*[16]byte)(dst), single(p), single(q), single(r), single(s))
		}
		dst, y = dst[16:], y[4:]
	}
	for i, v := range y {
		binary.BigEndian.PutUint32(dst[4*i:], quotient(v, d))
	}
}

// unclear reports whether x is so near to the middle of two normal floats that a product in place
// of a quotient may be on its other side. It differs from the quotient by less than 4 in its last place.
func unclear(x float64) bool {
	const bits, near = 29, 8 // bits that a float lacks
	return uint32(math.Float64bits(x))<<(32-bits)-(1<<31-near<<(32-bits)) < 2*near<<(32-bits)
}

// single returns the bits of x as a float.
func single(x float64) uint32 { return math.Float32bits(float32(x)) }

// quotient returns the bits of the float that is v / d.
func quotient(v uint32, d float64) uint32 {
	return math.Float32bits(float32(float64(int32(v)) / d))
}

// PutProducts writes signed integers multiplied by c as floats.
func PutProducts(dst []byte, y []uint32, c float64) {
	k := putProductsFast(dst, y, c)
	dst, y = dst[4*k:4*len(y)], y[k:]
	for len(y) >= 4 && len(dst) >= 16 {
		put4((*[16]byte)(dst), product(y[0], c), product(y[1], c), product(y[2], c), product(y[3], c))
		dst, y = dst[16:], y[4:]
	}
	for i, v := range y {
		binary.BigEndian.PutUint32(dst[4*i:], product(v, c))
	}
}

// product returns the bits of the float that is v × c.
func product(v uint32, c float64) uint32 {
	return math.Float32bits(float32(float64(int32(v)) * c))
}
