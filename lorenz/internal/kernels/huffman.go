package kernels

import "encoding/binary"

// Decode4 decodes four strings of n symbols, a multiple of 5, each with its table, to places 1024
// bytes apart in dst. p has the bits at which they start, then those at which they end. It reads up
// to 8 bytes after each string.
func Decode4(dst []byte, n int, src []byte, p *[4]uint64, tables *[4]*Table) {
	const apart = 1 << 10
	if decode4Fast(dst, n, src, p, tables) {
		return
	}
	p0, p1, p2, p3 := p[0], p[1], p[2], p[3]
	t0, t1, t2, t3 := tables[0], tables[1], tables[2], tables[3]
	for i := 0; i < n; i += 5 {
		p0 += five((*[5]byte)(dst[i:]), src, p0, t0)
		p1 += five((*[5]byte)(dst[i+apart:]), src, p1, t1)
		p2 += five((*[5]byte)(dst[i+2*apart:]), src, p2, t2)
		p3 += five((*[5]byte)(dst[i+3*apart:]), src, p3, t3)
	}
	*p = [4]uint64{p0, p1, p2, p3}
}

// Decode8 decodes eight strings of 1024 symbols, one after the other in dst, with one table. p is
// as for Decode4. It
// reports false if it cannot do that.
func Decode8(dst *[8 << 10]byte, src []byte, p *[8]uint64, table *Table) bool {
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
func one(d *byte, src []byte, p uint64, t *Table) uint64 {
	e := t[binary.LittleEndian.Uint64(src[p>>3:])>>(p&7)&(1<<TableBits-1)]
	*d = byte(e >> 8)
	return uint64(byte(e))
}
