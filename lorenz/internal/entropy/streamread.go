package entropy

import "encoding/binary"

// Stream is a stream as the decoder sees it.
type Stream struct {
	count  int
	method byte
	value  byte   // the symbol of a constant stream
	body   []byte // all chunks
	off    []int  // where chunks start, and the end; nil if the body needs no table
	end    []int  // where the extra bits of decoded chunks start, in bits of body
	table  huffTable
}

// Read parses a stream of count symbols up to its chunks.
func (s *Stream) Read(r *Reader, count int) {
	s.count, s.method, s.body, s.off = count, streamConst, nil, s.off[:0]
	if count == 0 {
		return
	}
	s.method = r.Byte()
	switch s.method &^ streamExtra {
	case streamConst:
		s.value = r.Byte()
	case streamRaw:
	case streamHuff:
		br := bitReader{buf: r.Buf}
		var lens [256]uint8
		if !readLengths(&br, &lens) {
			r.Bad = true
			return
		}
		r.Bytes((br.pos + 7) / 8)
		s.table.fill(&lens)
	default:
		r.Bad = true
	}
	switch s.method {
	case streamConst:
	case streamRaw:
		s.body = r.Bytes(count)
	default:
		s.chunks(r)
	}
}

// chunks reads the table of chunk lengths.
func (s *Stream) chunks(r *Reader) {
	n := (s.count + ChunkSyms - 1) / ChunkSyms
	const most = 1<<16 - 1 // a chunk is never longer
	lo := r.Int(most)
	s.off = append(s.off, 0)
	if n == 1 {
		s.off = append(s.off, lo)
	} else {
		width := uint(r.Byte())
		if width > 16 {
			r.Bad = true
			return
		}
		br := bitReader{buf: r.Bytes((n*int(width) + 7) / 8)}
		if r.Bad {
			return
		}
		at := 0
		for range n {
			at += lo + int(br.get(width))
			s.off = append(s.off, at)
		}
	}
	if cap(s.end) < n {
		s.end = make([]int, n)
	}
	s.end = s.end[:n]
	s.body = r.Bytes(s.off[n])
}

// decode decodes the chunks [c0, c1) to dst, which is as long as their symbols.
func (s *Stream) decode(dst []byte, c0, c1 int) bool {
	switch s.method {
	case streamConst:
		fillBytes(dst, s.value)
		return true
	case streamRaw:
		copy(dst, s.body[c0*ChunkSyms:])
		return true
	}
	c := c0
	if s.method&^streamExtra == streamHuff {
		for c+4 <= c1 && len(dst) >= 4*ChunkSyms && s.off[c+3]+longest+8 <= len(s.body) {
			p := [4]int{8 * s.off[c], 8 * s.off[c+1], 8 * s.off[c+2], 8 * s.off[c+3]}
			huffDecode4((*[4 * ChunkSyms]byte)(dst), s.body, &p, &s.table)
			for i, e := range p {
				if !s.ended(c+i, e) {
					return false
				}
			}
			dst = dst[4*ChunkSyms:]
			c += 4
		}
	}
	for ; c < c1; c++ {
		n := min(ChunkSyms, len(dst))
		body := s.body[s.off[c]:s.off[c+1]]
		e := 8 * s.off[c]
		switch s.method &^ streamExtra {
		case streamConst:
			fillBytes(dst[:n], s.value)
		case streamRaw:
			if copy(dst[:n], body) < n {
				return false
			}
			e += 8 * n
		case streamHuff:
			e += huffDecode1(dst[:n], body, &s.table)
		}
		if !s.ended(c, e) {
			return false
		}
		dst = dst[n:]
	}
	return true
}

// ended notes where the symbols of chunk c ended. It reports false if that
// contradicts the table.
func (s *Stream) ended(c, bit int) bool {
	s.end[c] = bit
	if s.method&streamExtra != 0 {
		return bit <= 8*s.off[c+1]
	}
	return (bit+7)>>3 == s.off[c+1]
}

// Numbers decodes the numbers of a whole stream.
func (s *Stream) Numbers(dst []uint64, syms []byte) ([]uint64, []byte, bool) {
	dst, syms = Grow(dst, s.count), Grow(syms, s.count)
	n := (s.count + ChunkSyms - 1) / ChunkSyms
	if s.count == 0 || !s.decode(syms, 0, n) {
		return dst, syms, s.count == 0
	}
	for c := range n {
		lo, hi := c*ChunkSyms, min((c+1)*ChunkSyms, s.count)
		if s.method&streamExtra == 0 {
			for i, y := range syms[lo:hi] {
				if y >= maxSym {
					return dst, syms, false
				}
				dst[lo+i] = uint64(y)
			}
			continue
		}
		r := bitReader{buf: s.body[:s.off[c+1]], pos: s.end[c]}
		for i, y := range syms[lo:hi] {
			v := uint64(y)
			if y >= maxSym {
				if y > lenBase+64 {
					return dst, syms, false
				}
				k := uint(y) - lenBase - 1
				v = 1<<k | r.get64(k)
			}
			dst[lo+i] = v
		}
		if (r.pos+7)>>3 != s.off[c+1] {
			return dst, syms, false
		}
	}
	return dst, syms, true
}

// longest is the most bytes that the code words of a chunk can take.
const longest = ChunkSyms * maxCode / 8

// huffDecode4 decodes four adjacent chunks side by side. p holds the bit where
// each starts, then where it ends.
func huffDecode4(dst *[4 * ChunkSyms]byte, src []byte, p *[4]int, t *huffTable) {
	d0 := (*[ChunkSyms]byte)(dst[0:])
	d1 := (*[ChunkSyms]byte)(dst[ChunkSyms:])
	d2 := (*[ChunkSyms]byte)(dst[2*ChunkSyms:])
	d3 := (*[ChunkSyms]byte)(dst[3*ChunkSyms:])
	p0, p1, p2, p3 := uint(p[0]), uint(p[1]), uint(p[2]), uint(p[3])
	i := 0
	for ; i < ChunkSyms-4; i += 5 {
		p0 += decode5((*[5]byte)(d0[i:]), src, p0, t)
		p1 += decode5((*[5]byte)(d1[i:]), src, p1, t)
		p2 += decode5((*[5]byte)(d2[i:]), src, p2, t)
		p3 += decode5((*[5]byte)(d3[i:]), src, p3, t)
	}
	for ; i < ChunkSyms; i++ {
		p0 += decode1(&d0[i], src, p0, t)
		p1 += decode1(&d1[i], src, p1, t)
		p2 += decode1(&d2[i], src, p2, t)
		p3 += decode1(&d3[i], src, p3, t)
	}
	*p = [4]int{int(p0), int(p1), int(p2), int(p3)}
}

// decode5 decodes five symbols at bit p and returns their bits.
func decode5(d *[5]byte, src []byte, p uint, t *huffTable) uint {
	v := binary.LittleEndian.Uint64(src[p>>3:]) >> (p & 7)
	e0 := t[v%tableSize]
	v >>= e0 >> 8 & 63
	e1 := t[v%tableSize]
	v >>= e1 >> 8 & 63
	e2 := t[v%tableSize]
	v >>= e2 >> 8 & 63
	e3 := t[v%tableSize]
	v >>= e3 >> 8 & 63
	e4 := t[v%tableSize]
	d[0], d[1], d[2], d[3], d[4] = byte(e0), byte(e1), byte(e2), byte(e3), byte(e4)
	return uint(e0>>8) + uint(e1>>8) + uint(e2>>8) + uint(e3>>8) + uint(e4>>8)
}

// decode1 decodes one symbol at bit p and returns its bits.
func decode1(d *byte, src []byte, p uint, t *huffTable) uint {
	e := t[binary.LittleEndian.Uint64(src[p>>3:])>>(p&7)%tableSize]
	*d = byte(e)
	return uint(e >> 8)
}

// huffDecode1 decodes symbols and returns their bits. The source may end early.
func huffDecode1(dst []byte, src []byte, t *huffTable) int {
	p := 0
	for len(dst) >= 5 && p>>3+8 <= len(src) {
		p += int(decode5((*[5]byte)(dst), src, uint(p), t))
		dst = dst[5:]
	}
	for i := range dst {
		e := t[load64(src, p>>3)>>(uint(p)&7)%tableSize]
		dst[i] = byte(e)
		p += int(e >> 8)
	}
	return p
}

// fillBytes sets all of dst to v.
func fillBytes(dst []byte, v byte) {
	for i := range dst {
		dst[i] = v
	}
}
