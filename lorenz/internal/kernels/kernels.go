// Package kernels has the inner loops of lorenz on lanes of 32 bits. Each is
// written in Go; for amd64 there is assembly as well, which is used if the CPU has
// AVX2 and BMI2. Both do exactly the same. The build tag purego leaves the
// assembly out.
package kernels

//go:generate sh -c "cd gen && go run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg kernels"

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Put writes integers as big-endian bytes.
func Put(dst []byte, y []uint32) {
	k := putFast(dst, y)
	dst, y = dst[4*k:4*len(y)], y[k:]
	for i, v := range y {
		binary.BigEndian.PutUint32(dst[4*i:], v)
	}
}

// Load reads big-endian integers.
func Load(dst []uint32, src []byte) {
	k := loadFast(dst, src)
	dst, src = dst[k:], src[4*k:4*len(dst)]
	for i := range dst {
		dst[i] = binary.BigEndian.Uint32(src[4*i:])
	}
}

// PutOrdered writes floats that are given as integers of the same order.
func PutOrdered(dst []byte, y []uint32) {
	k := putOrderedFast(dst, y)
	dst, y = dst[4*k:4*len(y)], y[k:]
	for i, v := range y {
		binary.BigEndian.PutUint32(dst[4*i:], v^(uint32(^int32(v)>>31)|1<<31))
	}
}

// Order maps the bits of floats to integers of the same order.
func Order(dst, u []uint32) {
	k := orderFast(dst, u)
	dst, u = dst[k:len(u)], u[k:]
	for i, v := range u {
		dst[i] = v ^ (uint32(int32(v)>>31) | 1<<31)
	}
}

// PrefixSum replaces each element by the sum of all up to it.
func PrefixSum(y []uint32) {
	k := prefixSumFast(y)
	var sum uint32
	if k > 0 {
		sum = y[k-1]
	}
	y = y[k:]
	for len(y) >= 4 {
		a := y[0]
		b := a + y[1]
		c := b + y[2]
		d := c + y[3]
		y[0], y[1], y[2], y[3] = sum+a, sum+b, sum+c, sum+d
		sum += d
		y = y[4:]
	}
	for i, v := range y {
		sum += v
		y[i] = sum
	}
}

// AddStride adds to each element the one s before it, in ascending order.
func AddStride(y []uint32, s int) {
	if s >= len(y) {
		return
	}
	from, to := y[:len(y)-s], y[s:]
	if s >= 8 {
		k := addFast(to, from)
		from, to = from[k:], to[k:]
		for len(from) >= 8 && len(to) >= 8 {
			a, b := (*[8]uint32)(from), (*[8]uint32)(to)
			b[0] += a[0]
			b[1] += a[1]
			b[2] += a[2]
			b[3] += a[3]
			b[4] += a[4]
			b[5] += a[5]
			b[6] += a[6]
			b[7] += a[7]
			from, to = from[8:], to[8:]
		}
	}
	to = to[:len(from)]
	for i, v := range from {
		to[i] += v
	}
}

// Subtract sets dst to a - b. dst may be a, or else must not overlap them.
func Subtract(dst, a, b []uint32) {
	k := subtractFast(dst, a, b)
	dst, a, b = dst[k:], a[k:len(dst)], b[k:len(dst)]
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

// PutQuotients writes signed integers divided by d as floats.
func PutQuotients(dst []byte, y []uint32, d float64) {
	k := putQuotientsFast(dst, y, d)
	dst, y = dst[4*k:4*len(y)], y[k:]
	for i, v := range y {
		binary.BigEndian.PutUint32(dst[4*i:], math.Float32bits(float32(float64(int32(v))/d)))
	}
}

// PutProducts writes signed integers multiplied by c as floats.
func PutProducts(dst []byte, y []uint32, c float64) {
	k := putProductsFast(dst, y, c)
	dst, y = dst[4*k:4*len(y)], y[k:]
	for i, v := range y {
		binary.BigEndian.PutUint32(dst[4*i:], math.Float32bits(float32(float64(int32(v))*c)))
	}
}

// Logs returns the bits that are set in any of 32 signed values, and the sum of
// their logarithms in units of 2^-10: about log2(4|v| + 1) + 127 for each v, without
// the trailing zeros that all have.
func Logs(r *[32]uint32) (or, sum uint32) {
	if haveFast {
		return logsFast(r)
	}
	for _, v := range r {
		or |= v
	}
	t := uint(bits.TrailingZeros32(or)) & 31
	for _, v := range r {
		m := int32(v) >> t
		sum += math.Float32bits(float32(4*float32(m^m>>31))+1) >> 13
	}
	return or, sum
}

// Classify sets u to the zigzag numbers of 32 signed values shifted right by t. It
// returns the bits that are set in any of them, and the sum of their logarithms:
// log2(2u + 1) + 127 for each u.
func Classify(u, r *[32]uint32, t uint) (or, sum uint32) {
	if haveFast {
		return classifyFast(u, r, t)
	}
	for i, v := range r {
		s := v >> 31
		m := (v ^ -s) >> (t & 31)
		u[i] = m<<1 | s
		or |= u[i]
		sum += Log(u[i])
	}
	return or, sum
}

// Expand sets the elements of y whose bits in mask are 0 to those of src in turn, and the
// others to 0. It returns how many it used.
func Expand(y *[64]uint32, src []uint32, mask uint64) int {
	used := bits.OnesCount64(^mask)
	if haveFast && len(src) >= used+8 {
		expandFast(y, src, mask)
		return used
	}
	src = src[:used]
	for i := range y {
		y[i] = 0
		if mask>>i&1 == 0 {
			y[i] = src[0]
			src = src[1:]
		}
	}
	return used
}

// Stamp sets the elements of 4 bytes whose bits in mask are 1 to a little-endian value.
func Stamp(dst *[256]byte, mask uint64, v uint32) {
	if haveFast {
		stampFast(dst, mask, v)
		return
	}
	for ; mask != 0; mask &= mask - 1 {
		binary.LittleEndian.PutUint32(dst[4*bits.TrailingZeros64(mask):], v)
	}
}

// MaxSplit is the most low bits of Split.
const MaxSplit = 28

// Split sets sym to the lowest byte of each number shifted right by k, at most MaxSplit,
// and appends the k low bits of each number to low. It returns the bits that are set
// in any of the shifted numbers. If that is 128 or more, sym is undefined.
func Split(sym *[32]byte, low []byte, u *[32]uint32, k uint) (more []byte, or uint32) {
	if haveFast {
		low = slices.Grow(low, int(4*k)+8)
		return low[:len(low)+int(4*k)], splitFast(sym, low[:cap(low)][len(low):], u, k)
	}
	mask := uint32(1)<<k - 1
	var acc uint64
	n := uint(0)
	for i, v := range u {
		or |= v >> k
		sym[i] = byte(v >> k)
		acc |= uint64(v&mask) << (n & 63)
		n += k
		if n >= 32 {
			low = binary.LittleEndian.AppendUint32(low, uint32(acc))
			acc >>= 32
			n -= 32
		}
	}
	return low, or
}

// Log returns about log2(2u + 1) + 127 in units of 2^-10.
func Log(u uint32) uint32 {
	f := float32(4*float32(int32(u>>1))) + float32(int32(2*(u&1)+1))
	return math.Float32bits(f) >> 13
}

// tableBits is the longest code word of Decode4.
const tableBits = 11

// Decode4 decodes four strings of as many symbols. p has the bits at which they
// start, then those at which they end. table maps the next 11 bits to a symbol
// (high byte) and the bits of its code word (low byte). It reads up to 8 bytes after each string.
func Decode4(d0, d1, d2, d3, src []byte, p *[4]uint64, table *[1 << tableBits]uint16) {
	n := len(d0)
	d1, d2, d3 = d1[:n], d2[:n], d3[:n]
	i := decode4Fast(d0, d1, d2, d3, src, p, table)
	p0, p1, p2, p3 := p[0], p[1], p[2], p[3]
	for ; i < n-4; i += 5 {
		p0 += five((*[5]byte)(d0[i:]), src, p0, table)
		p1 += five((*[5]byte)(d1[i:]), src, p1, table)
		p2 += five((*[5]byte)(d2[i:]), src, p2, table)
		p3 += five((*[5]byte)(d3[i:]), src, p3, table)
	}
	for ; i < n; i++ {
		p0 += one(&d0[i], src, p0, table)
		p1 += one(&d1[i], src, p1, table)
		p2 += one(&d2[i], src, p2, table)
		p3 += one(&d3[i], src, p3, table)
	}
	*p = [4]uint64{p0, p1, p2, p3}
}

// Decode8 is Decode4 for eight strings of 1024 symbols, one after the other in dst. It
// reports false if it cannot do that.
func Decode8(dst *[8 << 10]byte, src []byte, p *[8]uint64, table *[1 << tableBits]uint16) bool {
	const n = 1 << 10
	k := decode8Fast(dst, src, p, table)
	if k == 0 {
		return false
	}
	for i := range p {
		p[i] = Decode1(dst[i*n+k:(i+1)*n], src, p[i], table)
	}
	return true
}

// Decode1 decodes one string from bit p on and returns where it ends.
func Decode1(dst, src []byte, p uint64, table *[1 << tableBits]uint16) uint64 {
	for len(dst) >= 5 {
		p += five((*[5]byte)(dst), src, p, table)
		dst = dst[5:]
	}
	for i := range dst {
		p += one(&dst[i], src, p, table)
	}
	return p
}

// five decodes five symbols at bit p and returns their bits.
func five(d *[5]byte, src []byte, p uint64, t *[1 << tableBits]uint16) uint64 {
	const mask = 1<<tableBits - 1
	v := binary.LittleEndian.Uint64(src[p>>3:]) >> (p & 7)
	a := t[v&mask]
	v >>= a & 63
	b := t[v&mask]
	v >>= b & 63
	c := t[v&mask]
	v >>= c & 63
	e := t[v&mask]
	v >>= e & 63
	f := t[v&mask]
	d[0], d[1], d[2], d[3], d[4] = byte(a>>8), byte(b>>8), byte(c>>8), byte(e>>8), byte(f>>8)
	return uint64(byte(a + b + c + e + f))
}

// one decodes one symbol at bit p and returns its bits.
func one(d *byte, src []byte, p uint64, t *[1 << tableBits]uint16) uint64 {
	e := t[binary.LittleEndian.Uint64(src[p>>3:])>>(p&7)&(1<<tableBits-1)]
	*d = byte(e >> 8)
	return uint64(byte(e))
}
