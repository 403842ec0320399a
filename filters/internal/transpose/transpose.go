// Package transpose moves the bytes of elements into planes and back, as HDF5's shuffle
// does. On amd64 with AVX2 it uses assembly, unless built with the tag purego. It
// imports nothing of this module.
package transpose

import "encoding/binary"

// Shuffle writes byte j of element i of n to dst[j*n+i]. Bytes after the last whole
// element of size bytes stay at the end. dst and src have the same length and must
// not overlap.
func Shuffle(dst, src []byte, size int) {
	n := len(src) / size
	if size == 1 || n <= 1 {
		copy(dst, src)
		return
	}
	done := shuffleFast(dst, src, n, size)
	switch {
	case done > 0:
	case size == 2:
		done = shuffle2(dst, src, n)
	case size == 4:
		done = shuffle4(dst, src, n)
	case size == 8:
		done = shuffle8(dst, src, n)
	}
	for j := range size {
		plane := dst[j*n : j*n+n]
		for i, at := done, done*size+j; i < n; i, at = i+1, at+size {
			plane[i] = src[at]
		}
	}
	copy(dst[n*size:], src[n*size:])
}

// Unshuffle undoes [Shuffle].
func Unshuffle(dst, src []byte, size int) {
	n := len(src) / size
	if size == 1 || n <= 1 {
		copy(dst, src)
		return
	}
	done := unshuffleFast(dst, src, n, size)
	switch {
	case done > 0:
	case size == 2:
		done = unshuffle2(dst, src, n)
	case size == 4:
		done = unshuffle4(dst, src, n)
	case size == 8:
		done = unshuffle8(dst, src, n)
	}
	for j := range size {
		plane := src[j*n : j*n+n]
		for i, at := done, done*size+j; i < n; i, at = i+1, at+size {
			dst[at] = plane[i]
		}
	}
	copy(dst[n*size:], src[n*size:])
}

// The functions below handle the cases that shuffleFast and unshuffleFast do not. They
// move eight elements at a time as 64-bit words: they transpose small byte matrices by
// exchanging parts of two words (Warren, Hacker's Delight, 7-3). They return how many
// of the n elements they moved.

const (
	m8  = 0x00ff00ff00ff00ff
	m16 = 0x0000ffff0000ffff
	m32 = 0x00000000ffffffff
)

// swap8 exchanges the odd bytes of a with the even bytes of b; swap16 and
// swap32 do the same with larger parts.
func swap8(a, b uint64) (uint64, uint64) {
	t := (a>>8 ^ b) & m8
	return a ^ t<<8, b ^ t
}

func swap16(a, b uint64) (uint64, uint64) {
	t := (a>>16 ^ b) & m16
	return a ^ t<<16, b ^ t
}

func swap32(a, b uint64) (uint64, uint64) {
	return a&m32 | b<<32, a>>32 | b&^m32
}

func load(b []byte, i int) uint64     { return binary.LittleEndian.Uint64(b[i:]) }
func store(b []byte, i int, v uint64) { binary.LittleEndian.PutUint64(b[i:], v) }

func shuffle2(dst, src []byte, n int) int {
	p0, p1 := dst[:n], dst[n:2*n]
	i := 0
	for ; i+8 <= n; i += 8 {
		s := src[2*i : 2*i+16 : 2*i+16]
		a, b := deal2(load(s, 0)), deal2(load(s, 8))
		a, b = swap32(a, b)
		store(p0, i, a)
		store(p1, i, b)
	}
	return i
}

func unshuffle2(dst, src []byte, n int) int {
	p0, p1 := src[:n], src[n:2*n]
	i := 0
	for ; i+8 <= n; i += 8 {
		d := dst[2*i : 2*i+16 : 2*i+16]
		a, b := swap32(load(p0, i), load(p1, i))
		store(d, 0, undeal2(a))
		store(d, 8, undeal2(b))
	}
	return i
}

// deal2 moves the even bytes of x to its low half and the odd ones to its high
// half.
func deal2(x uint64) uint64 {
	t := (x ^ x>>8) & 0x0000ff000000ff00
	x ^= t ^ t<<8
	t = (x ^ x>>16) & 0x00000000ffff0000
	return x ^ t ^ t<<16
}

func undeal2(x uint64) uint64 {
	t := (x ^ x>>16) & 0x00000000ffff0000
	x ^= t ^ t<<16
	t = (x ^ x>>8) & 0x0000ff000000ff00
	return x ^ t ^ t<<8
}

func shuffle4(dst, src []byte, n int) int {
	p0, p1, p2, p3 := dst[:n], dst[n:2*n], dst[2*n:3*n], dst[3*n:4*n]
	i := 0
	for ; i+8 <= n; i += 8 {
		s := src[4*i : 4*i+32 : 4*i+32]
		// a holds elements 0 and 4, b 1 and 5, c 2 and 6, d 3 and 7.
		a, b := swap32(load(s, 0), load(s, 16))
		c, d := swap32(load(s, 8), load(s, 24))
		a, c = swap16(a, c)
		b, d = swap16(b, d)
		a, b = swap8(a, b)
		c, d = swap8(c, d)
		store(p0, i, a)
		store(p1, i, b)
		store(p2, i, c)
		store(p3, i, d)
	}
	return i
}

func unshuffle4(dst, src []byte, n int) int {
	p0, p1, p2, p3 := src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n]
	i := 0
	for ; i+8 <= n; i += 8 {
		o := dst[4*i : 4*i+32 : 4*i+32]
		a, b := swap8(load(p0, i), load(p1, i))
		c, d := swap8(load(p2, i), load(p3, i))
		a, c = swap16(a, c)
		b, d = swap16(b, d)
		w0, w2 := swap32(a, b)
		w1, w3 := swap32(c, d)
		store(o, 0, w0)
		store(o, 8, w1)
		store(o, 16, w2)
		store(o, 24, w3)
	}
	return i
}

// transpose8 transposes an 8 by 8 byte matrix; it is its own inverse.
func transpose8(a, b, c, d, e, f, g, h uint64) (_, _, _, _, _, _, _, _ uint64) {
	a, e = swap32(a, e)
	b, f = swap32(b, f)
	c, g = swap32(c, g)
	d, h = swap32(d, h)
	a, c = swap16(a, c)
	b, d = swap16(b, d)
	e, g = swap16(e, g)
	f, h = swap16(f, h)
	a, b = swap8(a, b)
	c, d = swap8(c, d)
	e, f = swap8(e, f)
	g, h = swap8(g, h)
	return a, b, c, d, e, f, g, h
}

func shuffle8(dst, src []byte, n int) int {
	i := 0
	for ; i+8 <= n; i += 8 {
		s := src[8*i : 8*i+64 : 8*i+64]
		a, b, c, d, e, f, g, h := transpose8(load(s, 0), load(s, 8), load(s, 16), load(s, 24),
			load(s, 32), load(s, 40), load(s, 48), load(s, 56))
		store(dst, i, a)
		store(dst, n+i, b)
		store(dst, 2*n+i, c)
		store(dst, 3*n+i, d)
		store(dst, 4*n+i, e)
		store(dst, 5*n+i, f)
		store(dst, 6*n+i, g)
		store(dst, 7*n+i, h)
	}
	return i
}

func unshuffle8(dst, src []byte, n int) int {
	i := 0
	for ; i+8 <= n; i += 8 {
		o := dst[8*i : 8*i+64 : 8*i+64]
		a, b, c, d, e, f, g, h := transpose8(load(src, i), load(src, n+i), load(src, 2*n+i), load(src, 3*n+i),
			load(src, 4*n+i), load(src, 5*n+i), load(src, 6*n+i), load(src, 7*n+i))
		store(o, 0, a)
		store(o, 8, b)
		store(o, 16, c)
		store(o, 24, d)
		store(o, 32, e)
		store(o, 40, f)
		store(o, 48, g)
		store(o, 56, h)
	}
	return i
}
