package kernels

import "encoding/binary"

// Decode4 decodes four strings of n symbols, a multiple of 5, each with its table, to places Apart
// bytes apart in dst. p has the bits at which they start, then those at which they end. It reads up
// to 8 bytes after each string.
func Decode4(dst []byte, n int, src []byte, p *[4]uint64, tables *[4]*Table) {
	if decode4Fast(dst, n, src, p, tables) {
		return
	}
	p0, p1, p2, p3 := p[0], p[1], p[2], p[3]
	t0, t1, t2, t3 := tables[0], tables[1], tables[2], tables[3]
	for i := 0; i < n; i += 5 {
		p0 += five((*[5]byte)(dst[i:]), src, p0, t0)
		p1 += five((*[5]byte)(dst[i+Apart:]), src, p1, t1)
		p2 += five((*[5]byte)(dst[i+2*Apart:]), src, p2, t2)
		p3 += five((*[5]byte)(dst[i+3*Apart:]), src, p3, t3)
	}
	*p = [4]uint64{p0, p1, p2, p3}
}

// Decode8 decodes eight strings of Apart symbols, one after the other in dst, with one table. p is
// as for Decode4. It reports false if it cannot do that.
func Decode8(dst *[8 * Apart]byte, src []byte, p *[8]uint64, table *Table) bool {
	const n = Apart
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
func Decode1(dst, src []byte, p uint64, table *Table) uint64 {
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
func five(d *[5]byte, src []byte, p uint64, t *Table) uint64 {
	const mask = 1<<TableBits - 1
	at := p >> 3
	v := binary.LittleEndian.Uint64(src[at:at+8:at+8]) >> (p & 7) // one bounds check
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
func one(d *byte, src []byte, p uint64, t *Table) uint64 {
	e := t[binary.LittleEndian.Uint64(src[p>>3:])>>(p&7)&(1<<TableBits-1)]
	*d = byte(e >> 8)
	return uint64(byte(e))
}

// A Word is a code word and its length: the low byte is the length, at most 11, the upper bytes are
// the bits.
type Word = uint32

// Words writes the words of symbols to dst after the n ≤ 7 bits of acc. The number of symbols is a
// multiple of 4. It returns how many whole bytes are done and the bits after them, and overwrites up to
// 8 bytes that follow.
func Words(dst, syms []byte, words *[256]Word, acc uint64, n uint) (done int, rest uint64, left uint) {
	if haveFast && len(syms) > 0 {
		_ = dst[(len(syms)*11+7)/8+7]
		done, rest, bits := wordsFast(&dst[0], syms, words, acc, uint64(n))
		return done, rest, uint(bits)
	}
	for ; len(syms) >= 4; syms = syms[4:] {
		a, b, c, d := words[syms[0]], words[syms[1]], words[syms[2]], words[syms[3]]
		two, k := uint64(a>>8)|uint64(b>>8)<<(a&63), uint(a&63+b&63)
		more := uint64(c>>8) | uint64(d>>8)<<(c&63)
		acc |= (two | more<<(k&63)) << (n & 63)
		n += k + uint(c&63+d&63)
		binary.LittleEndian.PutUint64(dst[done:], acc)
		done += int(n >> 3)
		acc >>= n &^ 7 & 63
		n &= 7
	}
	return done, acc, n
}
