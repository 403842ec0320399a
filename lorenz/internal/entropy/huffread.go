package entropy

import (
	"encoding/binary"
	"math/bits"
)

// huffTable maps the next maxCode bits of a stream to the length of its first code
// word (low byte) and the symbol (high byte).
type huffTable [tableSize]uint16

// fill builds the decoding table of a complete code. The words of one length
// fill the start of the table, which is doubled for each further bit.
func (t *huffTable) fill(lens *[256]uint8) {
	var count [maxCode + 1]int
	for _, l := range lens {
		count[l]++
	}
	var at [maxCode + 2]int
	for l := 1; l <= maxCode; l++ {
		at[l+1] = at[l] + count[l]
	}
	var order [256]uint8 // by length and symbol
	for s, l := range lens {
		if l > 0 {
			order[at[l]] = uint8(s)
			at[l]++
		}
	}
	k, code, size := 0, 0, 1
	for l := 1; l <= maxCode; l++ {
		copy(t[size:2*size], t[:size])
		size *= 2
		for _, s := range order[k : k+count[l]] {
			t[code] = uint16(s)<<8 | uint16(l)
			// The next word: codes are stored from their highest bit on.
			if rest := code ^ (size - 1); rest != 0 {
				bit := 1 << (bits.Len(uint(rest)) - 1)
				code = code&(bit-1) | bit
			}
		}
		k += count[l]
	}
}

// longest is the most bytes that the code words of a chunk can take.
const longest = ChunkSyms * maxCode / 8

// huffReader decodes chunks. It has buffers for what is decoded in vain.
type huffReader struct {
	spare  [ChunkSyms]byte
	padded [4 * (longest + 8)]byte
}

// decode decodes up to four adjacent chunks side by side to dst. start has the
// bytes of body at which they start and where the last one ends. end is set to
// the bits of body at which their code words end.
func (h *huffReader) decode(dst, body []byte, start, end []int, t *huffTable) {
	n := len(end)
	var out [4][]byte
	var from, p [4]uint // in bits
	near := start[n-1]+longest+8 > len(body)
	for i := range out {
		if i >= n {
			out[i], from[i] = h.spare[:], from[0]
			continue
		}
		out[i] = dst[i*ChunkSyms : min((i+1)*ChunkSyms, len(dst))]
		from[i] = uint(8 * start[i])
		if near { // the end of the block: read zeros after it
			part := h.padded[i*(longest+8) : (i+1)*(longest+8)]
			clear(part[copy(part[:longest], body[start[i]:start[i+1]]):])
			from[i] = uint(8 * i * (longest + 8))
		}
	}
	if near {
		body = h.padded[:]
	}
	p = from
	m := len(out[n-1])
	if n == 1 {
		p[0] = decode1(out[0], body, p[0], t)
	} else {
		decode4(out[0][:m], out[1][:m], out[2][:m], out[3][:m], body, &p, t)
	}
	end[n-1] = 8*start[n-1] + int(p[n-1]-from[n-1])
	if n > 1 && m < ChunkSyms { // the last one is shorter than the others
		for i := range out {
			if i >= n-1 {
				out[i], p[i] = h.spare[:], p[0]
			} else {
				out[i] = out[i][m:]
			}
		}
		k := ChunkSyms - m
		decode4(out[0], out[1][:k], out[2][:k], out[3][:k], body, &p, t)
	}
	for i := range n - 1 {
		end[i] = 8*start[i] + int(p[i]-from[i])
	}
}

// decode4 decodes four strings of as many symbols. p has the bits at which they
// start, then those at which they end.
func decode4(d0, d1, d2, d3, src []byte, p *[4]uint, t *huffTable) {
	p0, p1, p2, p3 := p[0], p[1], p[2], p[3]
	n := len(d0)
	d1, d2, d3 = d1[:n], d2[:n], d3[:n]
	i := 0
	for ; i < n-4; i += 5 {
		var v uint64
		var a, b, c, d, e uint16
		v = binary.LittleEndian.Uint64(src[p0>>3:]) >> (p0 & 7)
		a = t[v%tableSize]
		v >>= a & 63
		b = t[v%tableSize]
		v >>= b & 63
		c = t[v%tableSize]
		v >>= c & 63
		d = t[v%tableSize]
		v >>= d & 63
		e = t[v%tableSize]
		d0[i], d0[i+1], d0[i+2], d0[i+3], d0[i+4] = byte(a>>8), byte(b>>8), byte(c>>8), byte(d>>8), byte(e>>8)
		p0 += uint(a+b+c+d+e) & 255
		v = binary.LittleEndian.Uint64(src[p1>>3:]) >> (p1 & 7)
		a = t[v%tableSize]
		v >>= a & 63
		b = t[v%tableSize]
		v >>= b & 63
		c = t[v%tableSize]
		v >>= c & 63
		d = t[v%tableSize]
		v >>= d & 63
		e = t[v%tableSize]
		d1[i], d1[i+1], d1[i+2], d1[i+3], d1[i+4] = byte(a>>8), byte(b>>8), byte(c>>8), byte(d>>8), byte(e>>8)
		p1 += uint(a+b+c+d+e) & 255
		v = binary.LittleEndian.Uint64(src[p2>>3:]) >> (p2 & 7)
		a = t[v%tableSize]
		v >>= a & 63
		b = t[v%tableSize]
		v >>= b & 63
		c = t[v%tableSize]
		v >>= c & 63
		d = t[v%tableSize]
		v >>= d & 63
		e = t[v%tableSize]
		d2[i], d2[i+1], d2[i+2], d2[i+3], d2[i+4] = byte(a>>8), byte(b>>8), byte(c>>8), byte(d>>8), byte(e>>8)
		p2 += uint(a+b+c+d+e) & 255
		v = binary.LittleEndian.Uint64(src[p3>>3:]) >> (p3 & 7)
		a = t[v%tableSize]
		v >>= a & 63
		b = t[v%tableSize]
		v >>= b & 63
		c = t[v%tableSize]
		v >>= c & 63
		d = t[v%tableSize]
		v >>= d & 63
		e = t[v%tableSize]
		d3[i], d3[i+1], d3[i+2], d3[i+3], d3[i+4] = byte(a>>8), byte(b>>8), byte(c>>8), byte(d>>8), byte(e>>8)
		p3 += uint(a+b+c+d+e) & 255
	}
	for ; i < n; i++ {
		p0 += symbol(&d0[i], src, p0, t)
		p1 += symbol(&d1[i], src, p1, t)
		p2 += symbol(&d2[i], src, p2, t)
		p3 += symbol(&d3[i], src, p3, t)
	}
	*p = [4]uint{p0, p1, p2, p3}
}

// decode1 decodes one string from bit p on and returns where it ends.
func decode1(dst, src []byte, p uint, t *huffTable) uint {
	i := 0
	for ; i < len(dst)-4; i += 5 {
		v := binary.LittleEndian.Uint64(src[p>>3:]) >> (p & 7)
		a := t[v%tableSize]
		v >>= a & 63
		b := t[v%tableSize]
		v >>= b & 63
		c := t[v%tableSize]
		v >>= c & 63
		d := t[v%tableSize]
		v >>= d & 63
		e := t[v%tableSize]
		dst[i], dst[i+1], dst[i+2], dst[i+3], dst[i+4] = byte(a>>8), byte(b>>8), byte(c>>8), byte(d>>8), byte(e>>8)
		p += uint(a+b+c+d+e) & 255
	}
	for ; i < len(dst); i++ {
		p += symbol(&dst[i], src, p, t)
	}
	return p
}

// symbol decodes one symbol at bit p and returns its bits.
func symbol(d *byte, src []byte, p uint, t *huffTable) uint {
	e := t[binary.LittleEndian.Uint64(src[p>>3:])>>(p&7)%tableSize]
	*d = byte(e >> 8)
	return uint(e & 255)
}
