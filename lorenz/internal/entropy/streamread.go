package entropy

// Stream is a stream as the decoder sees it.
type Stream struct {
	count  int
	method byte
	value  byte   // the symbol of a constant stream
	body   []byte // all chunks
	off    []int  // where chunks start, and the end; nil if the body needs no table
	end    []int  // where the extra bits of decoded chunks start, in bits of body
	rest   []byte // the block from body on
	code   huffCode
	filled bool // whether table is that of code
	table  *huffTable
	huff   huffReader
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
		s.filled = false
		if !s.code.read(&br) {
			r.Bad = true
			return
		}
		r.Bytes((br.pos + 7) / 8)
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
	s.off = Grow(s.off, n+1)
	s.off[0], s.off[1] = 0, lo
	if n > 1 {
		width := uint(r.Byte())
		if width > 16 {
			r.Bad = true
			return
		}
		table := r.Bytes((n*int(width) + 7) / 8)
		if r.Bad {
			return
		}
		at, p, mask := 0, 0, uint64(1)<<width-1
		for i := range s.off[1:] {
			at += lo + int(load64(table, p>>3)>>(p&7)&mask)
			if at > len(r.Buf) { // before the sum can overflow 32 bits
				r.Bad = true
				return
			}
			s.off[1+i] = at
			p += int(width)
		}
	}
	if cap(s.end) < n {
		s.end = make([]int, n)
	}
	s.end = s.end[:n]
	s.rest = r.Buf
	s.body = r.Bytes(s.off[n])
}

// decode decodes the chunks [c0, c1) to dst, which is as long as their symbols. It
// may be shorter if there are no extra bits: the last chunk is decoded in part.
func (s *Stream) decode(dst []byte, c0, c1 int) bool {
	switch s.method {
	case streamConst:
		fillBytes(dst, s.value)
		return true
	case streamRaw:
		copy(dst, s.body[c0*ChunkSyms:])
		return true
	}
	if s.method&^streamExtra == streamHuff {
		s.prepare(&s.huff, dst, c0, c1, s.rest)
		s.huff.run(s.rest)
		return s.whole(len(dst), c0, c1)
	}
	// Reading the extra bits checks where the chunks end.
	for c := c0; c < c1; c++ {
		n := min(ChunkSyms, len(dst))
		s.end[c] = 8 * s.off[c]
		if s.method&^streamExtra == streamConst {
			fillBytes(dst[:n], s.value)
		} else {
			copy(dst[:n], s.body[s.off[c]:s.off[c+1]])
			s.end[c] += 8 * n
		}
		dst = dst[n:]
	}
	return true
}

// prepare decodes as many of the chunks [c0, c1) as can be decoded side by side, and adds the others
// to the jobs of h. src ends where the block does.
func (s *Stream) prepare(h *huffReader, dst []byte, c0, c1 int, src []byte) {
	if s.table == nil {
		s.table = new(huffTable)
	}
	if !s.filled {
		s.table.fill(&s.code)
		s.filled = true
	}
	c := c0
	for ; len(dst) >= 8*ChunkSyms; c += 8 {
		if !decode8(dst, s.rest, s.off[c:c+9], s.end[c:c+8], s.table) {
			break
		}
		dst = dst[8*ChunkSyms:]
	}
	from := len(src) - len(s.rest)
	for ; c < c1; c++ {
		n := min(ChunkSyms, len(dst))
		h.jobs = append(h.jobs, job{dst[:n], from + s.off[c], from, &s.end[c], s.table})
		dst = dst[n:]
	}
}

// whole reports whether the chunks [c0, c1), of which n symbols were decoded, end where they must.
func (s *Stream) whole(n, c0, c1 int) bool {
	part := n < min(c1*ChunkSyms, s.count)-c0*ChunkSyms
	for c := c0; c < c1; c++ {
		if !s.ended(c) && !(part && c == c1-1 && s.end[c] <= 8*s.off[c1]) {
			return false
		}
	}
	return true
}

// ended reports whether the symbols of chunk c end where the table of lengths has their end.
func (s *Stream) ended(c int) bool {
	if s.method&streamExtra != 0 {
		return s.end[c] <= 8*s.off[c+1]
	}
	return (s.end[c]+7)>>3 == s.off[c+1]
}

// fillBytes sets all of dst to v.
func fillBytes(dst []byte, v byte) {
	for i := range dst {
		dst[i] = v
	}
}
