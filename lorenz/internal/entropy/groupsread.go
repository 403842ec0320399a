package entropy

import "encoding/binary"

// GroupReader decodes what GroupWriter wrote.
type GroupReader struct {
	m       int // values
	flags   byte
	packs   uint16
	streams [nStreams + 1]uint8
	class   []byte
	zeros   []byte
	s       [nStreams]Stream
	side    Stream // of the classes and trailing zeros
	low     []byte
	syms    []byte
	cur     [nStreams]cursor

	// How far the classes have been counted.
	scanned int
	before  [nStreams]int // groups of each stream
	lowAt   int
}

// cursor is where a stream is read.
type cursor struct {
	syms  []byte // unpacked symbols, one a value, of the groups to come
	extra bitReader
	chunk int // of the next group
	left  int // groups before the next chunk
}

// Open parses a group stream of m values.
func (g *GroupReader) Open(r *Reader, m, width int) {
	g.m = m
	n := (m + GroupLen - 1) / GroupLen
	g.class, g.zeros = Grow(g.class, n), Grow(g.zeros, n)
	g.scanned, g.before, g.lowAt = 0, [nStreams]int{}, 0
	if m == 0 {
		g.flags, g.low = 0, nil
		for i := range g.s {
			g.s[i].count = 0
		}
		return
	}
	g.flags = r.Byte()
	if g.flags&4 != 0 {
		r.Bad = true
	}
	g.streams = streamOf(g.flags)
	if p := r.Bytes(2); p != nil {
		g.packs = binary.LittleEndian.Uint16(p)
	}
	g.bytes(r, g.class)
	if g.flags&groupsTZ != 0 {
		g.bytes(r, g.zeros)
	}
	if r.Bad {
		return
	}
	var count [nStreams]int
	low := 0
	var c, zmax byte
	for i, d := range g.class {
		c += d
		if int(c) > width+2 {
			r.Bad = true
			return
		}
		g.class[i] = c
		if c > 0 {
			count[g.streams[min(c, nStreams)]]++
		}
		low += 4 * int(lowBits(c))
	}
	if g.flags&groupsTZ != 0 {
		for _, z := range g.zeros {
			zmax = max(zmax, z)
		}
	}
	if int(zmax) >= width {
		r.Bad = true
		return
	}
	for i := range g.s {
		pack := g.packs >> (2 * i) & 3
		if pack > pack4 {
			r.Bad = true
			return
		}
		g.s[i].Read(r, count[i]*GroupLen>>pack)
	}
	g.low = r.Bytes(low)
}

// bytes reads a stream without extra bits.
func (g *GroupReader) bytes(r *Reader, dst []byte) {
	g.side.Read(r, len(dst))
	if r.Bad {
		return
	}
	if g.side.method&streamExtra != 0 || !g.side.decode(dst, 0, (len(dst)+ChunkSyms-1)/ChunkSyms) {
		r.Bad = true
	}
}

// seek prepares the reading of groups [a, b).
func (g *GroupReader) seek(a, b int) (int, bool) {
	if a < g.scanned {
		g.scanned, g.before, g.lowAt = 0, [nStreams]int{}, 0
	}
	for _, c := range g.class[g.scanned:a] {
		if c > 0 {
			g.before[g.streams[min(c, nStreams)]]++
		}
		g.lowAt += 4 * int(lowBits(c))
	}
	g.scanned = a
	before, low := g.before, g.lowAt
	var count [nStreams]int // groups
	for _, c := range g.class[a:b] {
		if c > 0 {
			count[g.streams[min(c, nStreams)]]++
		}
	}
	need := 0
	var first, chunks [nStreams]int
	for i, n := range count {
		if n == 0 {
			continue
		}
		per := ChunkSyms << (g.packs >> (2 * i) & 3) / GroupLen // groups a chunk
		first[i] = before[i] / per
		chunks[i] = (before[i]+n-1)/per + 1 - first[i]
		need += min(chunks[i]*per, n+per) * GroupLen
	}
	g.syms = Grow(g.syms, 2*need)
	at := 0
	for i, n := range count {
		if n == 0 {
			continue
		}
		s, pack := &g.s[i], g.packs>>(2*i)&3
		per := ChunkSyms << pack / GroupLen
		c0, c1 := first[i], first[i]+chunks[i]
		k := min(c1*ChunkSyms, s.count) - c0*ChunkSyms // symbols
		buf := g.syms[at : at+k]
		at += k
		if !s.decode(buf, c0, c1) {
			return 0, false
		}
		if pack != pack1 {
			w := g.syms[at : at+k<<pack]
			at += len(w)
			unpack(w, buf, pack)
			buf = w
		}
		cur := &g.cur[i]
		*cur = cursor{syms: buf, chunk: c0}
		g.nextChunk(i)
		skip := before[i] - c0*per
		for range skip {
			if !g.skip(i) {
				return 0, false
			}
		}
	}
	return low, true
}

// nextChunk sets the cursor of stream i to the start of a chunk.
func (g *GroupReader) nextChunk(i int) {
	s, cur := &g.s[i], &g.cur[i]
	cur.left = ChunkSyms << (g.packs >> (2 * i) & 3) / GroupLen
	if s.method&streamExtra != 0 {
		cur.extra = bitReader{buf: s.body[:s.off[cur.chunk+1]], pos: s.end[cur.chunk]}
	}
	cur.chunk++
}

// finish checks that the extra bits of a chunk end where it ends.
func (g *GroupReader) finish(i int) bool {
	s, cur := &g.s[i], &g.cur[i]
	return s.method&streamExtra == 0 || (cur.extra.pos+7)>>3 == s.off[cur.chunk]
}

// next returns the symbols of the next group of stream i.
func (g *GroupReader) next(i uint8) (*[GroupLen]byte, bool) {
	cur := &g.cur[i]
	if cur.left == 0 {
		if !g.finish(int(i)) {
			return nil, false
		}
		g.nextChunk(int(i))
	}
	cur.left--
	p := (*[GroupLen]byte)(cur.syms)
	cur.syms = cur.syms[GroupLen:]
	return p, true
}

// skip passes over a group of stream i and its extra bits.
func (g *GroupReader) skip(i int) bool {
	p, ok := g.next(uint8(i))
	if !ok {
		return false
	}
	if g.s[i].method&streamExtra != 0 {
		for _, y := range p {
			if y >= maxSym {
				g.large(uint8(i), y)
			}
		}
	}
	return true
}

// large reads the value of a symbol that has extra bits.
func (g *GroupReader) large(i uint8, y byte) uint64 {
	r := &g.cur[i].extra
	switch g.packs >> (2 * i) & 3 {
	case pack2:
		return 15 + r.nibbles()
	case pack4:
		return 3 + r.nibbles()
	}
	k := (uint(y) - lenBase - 1) & 63
	return 1<<k | r.get64(k)
}

// unpack expands symbols of several values to one byte a value. Values with
// extra bits become 255.
func unpack(dst, src []byte, pack uint16) {
	if pack == pack2 {
		var t [16]byte
		for i := range t {
			t[i] = byte(i)
		}
		t[15] = 255
		for i, b := range src {
			d := dst[2*i : 2*i+2 : 2*i+2]
			d[0], d[1] = t[b&15], t[b>>4]
		}
		return
	}
	t := [4]byte{0, 1, 2, 255}
	for i, b := range src {
		d := dst[4*i : 4*i+4 : 4*i+4]
		d[0], d[1], d[2], d[3] = t[b&3], t[b>>2&3], t[b>>4&3], t[b>>6]
	}
}

// DecodeGroups decodes groups [a, b) to dst.
func DecodeGroups[T Lane](g *GroupReader, dst []T, a, b int) bool {
	low, ok := g.seek(a, b)
	if !ok {
		return false
	}
	for i := a; i < b; i++ {
		d := (*[GroupLen]T)(dst)
		dst = dst[GroupLen:]
		c := g.class[i]
		if c == 0 {
			*d = [GroupLen]T{}
			continue
		}
		s := g.streams[min(c, nStreams)]
		sym, ok := g.next(s)
		if !ok {
			return false
		}
		k := lowBits(c)
		lows := g.low[low:]
		low += 4 * int(k)
		unsigned := g.flags&groupsUnsigned != 0
		switch {
		case k == 0:
			for j, y := range sym {
				d[j] = T(y)
			}
			unzigzag(d, unsigned)
		case k <= 14 && len(lows) >= 4*14+8 && !unsigned:
			joinFour(d, sym, (*[64]byte)(lows), k)
		case k <= 28 && len(lows) >= 4*28+8 && !unsigned:
			joinTwo(d, sym, (*[120]byte)(lows), k)
		default:
			joinLow(d, sym, lows[:4*k], k)
			unzigzag(d, unsigned)
		}
		if anyLarge(sym) && !patchLarge(g, d, sym, s, lows[:4*k], k) {
			return false
		}
		if g.flags&groupsTZ != 0 {
			t := g.zeros[i]
			for j := range d {
				d[j] <<= t & 63
			}
		}
	}
	if a == 0 && b == len(g.class) {
		for i := range g.s {
			if g.s[i].count > 0 && !g.finish(i) {
				return false
			}
		}
	}
	return true
}

// patchLarge sets the values whose symbols have extra bits.
func patchLarge[T Lane](g *GroupReader, d *[GroupLen]T, sym *[GroupLen]byte, s uint8, low []byte, k uint) bool {
	if g.s[s].method&streamExtra == 0 {
		return false
	}
	for j, y := range sym {
		if y < maxSym {
			continue
		}
		if y > lenBase+64 && g.packs>>(2*s)&3 == pack1 {
			return false
		}
		u := T(g.large(s, y)<<k | bitsAt(low, j*int(k), k))
		if g.flags&groupsUnsigned == 0 {
			u = u>>1 ^ -(u & 1)
		}
		d[j] = u
	}
	return true
}

// bitsAt returns n bits at bit p.
func bitsAt(b []byte, p int, n uint) uint64 {
	r := bitReader{buf: b, pos: p}
	return r.get64(n)
}

// anyLarge reports whether a symbol is at least maxSym.
func anyLarge(s *[GroupLen]byte) bool {
	const top = 0x8080808080808080
	var or uint64
	for i := 0; i < GroupLen; i += 8 {
		w := binary.LittleEndian.Uint64(s[i : i+8])
		or |= w & (w << 1)
	}
	return or&top != 0
}

// joinLow sets d to the symbols followed by k low bits each.
func joinLow[T Lane](d *[GroupLen]T, sym *[GroupLen]byte, low []byte, k uint) {
	mask := uint64(1)<<k - 1
	if k > 56 {
		for j, y := range sym {
			d[j] = T(uint64(y)<<k | bitsAt(low, j*int(k), k))
		}
		return
	}
	p := uint(0)
	j := 0
	for ; j < GroupLen && p>>3+8 <= uint(len(low)); j++ {
		v := binary.LittleEndian.Uint64(low[p>>3:]) >> (p & 7) & mask
		d[j] = T(uint64(sym[j])<<(k&63) | v)
		p += k
	}
	for ; j < GroupLen; j++ {
		v := load64(low, int(p>>3)) >> (p & 7) & mask
		d[j] = T(uint64(sym[j])<<(k&63) | v)
		p += k
	}
}

// joinFour is joinLow and unzigzag for k up to 14, four values a load.
func joinFour[T Lane](d *[GroupLen]T, sym *[GroupLen]byte, low *[64]byte, k uint) {
	k &= 15
	mask := T(1)<<k - 1
	for j := 0; j < GroupLen; j += 4 {
		p := uint(j) * k
		v := binary.LittleEndian.Uint64(low[p>>3:]) >> (p & 7)
		s := (*[4]byte)(sym[j:])
		o := (*[4]T)(d[j:])
		a := T(s[0])<<k | T(v)&mask
		b := T(s[1])<<k | T(v>>k)&mask
		c := T(s[2])<<k | T(v>>(2*k))&mask
		e := T(s[3])<<k | T(v>>(3*k))&mask
		o[0] = a>>1 ^ -(a & 1)
		o[1] = b>>1 ^ -(b & 1)
		o[2] = c>>1 ^ -(c & 1)
		o[3] = e>>1 ^ -(e & 1)
	}
}

// joinTwo is joinLow and unzigzag for k up to 28, two values a load.
func joinTwo[T Lane](d *[GroupLen]T, sym *[GroupLen]byte, low *[120]byte, k uint) {
	k &= 31
	mask := T(1)<<k - 1
	for j := 0; j < GroupLen; j += 2 {
		p := uint(j) * k
		v := binary.LittleEndian.Uint64(low[p>>3:]) >> (p & 7)
		a := T(sym[j])<<k | T(v)&mask
		b := T(sym[j+1])<<k | T(v>>k)&mask
		d[j] = a>>1 ^ -(a & 1)
		d[j+1] = b>>1 ^ -(b & 1)
	}
}

// unzigzag restores the signs unless the values have none.
func unzigzag[T Lane](d *[GroupLen]T, unsigned bool) {
	if unsigned {
		return
	}
	for j, u := range d {
		d[j] = u>>1 ^ -(u & 1)
	}
}

// Groups returns the number of groups.
func (g *GroupReader) Groups() int { return len(g.class) }

// Unsigned reports whether the values are stored without a sign.
func (g *GroupReader) Unsigned() bool { return g.flags&groupsUnsigned != 0 }
