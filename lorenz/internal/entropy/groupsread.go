package entropy

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// GroupReader decodes the output of GroupWriter.
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
	src     []byte // the block from the group stream on
	syms    []byte
	huff    huffReader
	cur     [nStreams + 1]cursor

	// How far the classes have been counted.
	scanned int
	before  [nStreams]int // groups of each stream
	lowAt   int
}

// cursor holds the remaining decoded symbols of a stream.
type cursor struct {
	syms  []byte   // one a value; at least maxSym if the value is in large
	next  int      // values before the first of syms
	large []uint64 // values too large for a symbol
	where []int32  // their places
	vals  []uint64 // buffers of large and where
	spots []int32
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
	g.src = r.Buf
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

// seek prepares for reading groups [a, b).
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
	g.huff.jobs = g.huff.jobs[:0]
	var bufs [nStreams][]byte
	for i, n := range count {
		if n == 0 {
			continue
		}
		s, pack := &g.s[i], g.packs>>(2*i)&3
		c0, c1 := first[i], first[i]+chunks[i]
		k := min(c1*ChunkSyms, s.count) - c0*ChunkSyms // symbols
		if s.method&streamExtra == 0 {
			k = (before[i]+n)*GroupLen>>pack - c0*ChunkSyms // the rest of the last chunk is not needed
		}
		bufs[i] = g.syms[at : at+k]
		at += k
		if s.method&^streamExtra == streamHuff {
			s.prepare(&g.huff, bufs[i], c0, c1, g.src)
		} else if !s.decode(bufs[i], c0, c1) {
			return 0, false
		}
	}
	g.huff.run(g.src)
	for i, n := range count {
		if n == 0 {
			continue
		}
		s, pack, buf := &g.s[i], g.packs>>(2*i)&3, bufs[i]
		c0, c1 := first[i], first[i]+chunks[i]
		if s.method&^streamExtra == streamHuff && !s.whole(len(buf), c0, c1) {
			return 0, false
		}
		if pack != pack1 {
			w := g.syms[at : at+len(buf)<<pack]
			at += len(w)
			unpack(w, buf, pack)
			buf = w
		}
		if !g.cur[i+1].set(s, pack, buf, c0, c1) {
			return 0, false
		}
		g.cur[i+1].skip((before[i] - c0*(ChunkSyms<<pack/GroupLen)) * GroupLen)
	}
	return low, true
}

// set prepares the reading of the chunks [c0, c1), whose symbols are syms.
func (cur *cursor) set(s *Stream, pack uint16, syms []byte, c0, c1 int) bool {
	cur.syms, cur.next, cur.large, cur.where, cur.vals, cur.spots = syms, 0, nil, nil, cur.vals[:0], cur.spots[:0]
	if s.method&streamExtra == 0 {
		return !s.hasLarge(pack) || !anyLarge(syms)
	}
	base := 0
	var tops [4 * ChunkSyms / GroupLen]uint32
	for c := c0; c < c1; c++ {
		n := min(ChunkSyms<<pack, len(syms))
		large := tops[:n/GroupLen]
		kernels.Tops(large, syms)
		ok, end := true, s.end[c]
		if pack == pack1 {
			end, ok = cur.numbers(s, syms, large, base, end, s.off[c+1])
		} else {
			end = cur.nibbles(s, large, base, end, s.off[c+1], [...]uint64{pack2: 15, pack4: 3}[pack])
		}
		syms, base = syms[n:], base+n
		if !ok || (end+7)>>3 != s.off[c+1] {
			return false
		}
	}
	cur.large, cur.where = cur.vals, cur.spots
	return true
}

// numbers reads the extra bits of the symbols that are marked in large, from bit pos of s on. Those of
// the chunk end at byte end. It returns where they end, and whether the symbols are valid.
func (cur *cursor) numbers(s *Stream, syms []byte, large []uint32, base, pos, end int) (int, bool) {
	for i, w := range large {
		for ; w != 0; w &= w - 1 {
			at := i*GroupLen + bits.TrailingZeros32(w)
			y := syms[at]
			if y > lenBase+64 {
				return pos, false
			}
			k := uint(y) - lenBase - 1
			var v uint64
			if p := pos >> 3; k <= 56 && p+8 <= len(s.rest) {
				// What follows the chunk may be read, since its end is checked.
				v = binary.LittleEndian.Uint64(s.rest[p:]) >> (pos & 7) & (1<<k - 1)
			} else {
				r := bitReader{buf: s.rest[:end], pos: pos}
				v = r.get64(k)
			}
			pos += int(k)
			cur.vals, cur.spots = append(cur.vals, 1<<k|v), append(cur.spots, int32(base+at))
		}
	}
	return pos, true
}

// nibbles is numbers for symbols of several values, of which those from least on are marked.
func (cur *cursor) nibbles(s *Stream, large []uint32, base, pos, end int, least uint64) int {
	for i, w := range large {
		for ; w != 0; w &= w - 1 {
			var v uint64
			p := pos >> 3
			if p < len(s.rest)-1 {
				v = uint64(binary.LittleEndian.Uint16(s.rest[p:])) >> (pos & 7) & 15
			} else {
				v = 8 // near the end of the block
			}
			if v < 8 {
				pos += 4
			} else {
				r := bitReader{buf: s.rest[:end], pos: pos}
				v = r.nibbles()
				pos = r.pos
			}
			cur.vals, cur.spots = append(cur.vals, least+v), append(cur.spots, int32(base+i*GroupLen+bits.TrailingZeros32(w)))
		}
	}
	return pos
}

// skip passes over n values.
func (cur *cursor) skip(n int) {
	k, _ := slices.BinarySearch(cur.where, int32(n))
	cur.large, cur.where = cur.large[k:], cur.where[k:]
	cur.syms, cur.next = cur.syms[n:], n
}

// hasLarge reports whether symbols that need extra bits are possible.
func (s *Stream) hasLarge(pack uint16) bool {
	if s.method&^streamExtra != streamHuff || pack != pack1 {
		return true
	}
	return s.code.last() >= maxSym
}

// anyLarge reports whether some symbol is at least maxSym.
func anyLarge(syms []byte) bool {
	var tops [ChunkSyms / GroupLen]uint32
	for len(syms) > 0 {
		large := tops[:min(len(tops), len(syms)/GroupLen)]
		kernels.Tops(large, syms)
		for _, w := range large {
			if w != 0 {
				return true
			}
		}
		syms = syms[len(large)*GroupLen:]
	}
	return false
}

// unpacked holds what symbols of several values expand to. Values with extra bits
// become 255.
var unpacked = func() (t struct {
	two  [256]uint16
	four [256]uint32
}) {
	for i := range 256 {
		for j := range 2 {
			v := i >> (4 * j) & 15
			if v == 15 {
				v = 255
			}
			t.two[i] |= uint16(v) << (8 * j)
		}
		for j := range 4 {
			v := i >> (2 * j) & 3
			if v == 3 {
				v = 255
			}
			t.four[i] |= uint32(v) << (8 * j)
		}
	}
	return t
}()

// unpack expands symbols of several values to one byte a value.
func unpack(dst, src []byte, pack uint16) {
	if pack == pack2 {
		dst = dst[:2*len(src)]
		for i, b := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], unpacked.two[b])
		}
		return
	}
	dst = dst[:4*len(src)]
	for i, b := range src {
		binary.LittleEndian.PutUint32(dst[4*i:], unpacked.four[b])
	}
}

// DecodeGroups decodes groups [a, b) to dst.
func DecodeGroups[T Lane](g *GroupReader, dst []T, a, b int) bool {
	low, ok := g.seek(a, b)
	if !ok {
		return false
	}
	lows := g.low[low:]
	unsigned := g.flags&groupsUnsigned != 0
	var of [256]uint8 // for each class its cursor
	for c := 1; c < len(of); c++ {
		of[c] = 1 + g.streams[min(c, nStreams)]
	}
	narrow, _ := any(dst).([]uint32)
	for i := a; i < b; i++ {
		d := (*[GroupLen]T)(dst)
		dst = dst[GroupLen:]
		c := g.class[i]
		if c == 0 {
			*d = [GroupLen]T{}
			continue
		}
		cur := &g.cur[of[c]]
		sym := (*[GroupLen]byte)(cur.syms)
		cur.syms = cur.syms[GroupLen:]
		k := lowBits(c)
		shift := uint8(0)
		if g.flags&groupsTZ != 0 {
			shift = g.zeros[i] & 63
		}
		if narrow == nil || unsigned || !kernels.Join((*[GroupLen]uint32)(narrow[(i-a)*GroupLen:]), sym, lows, k, uint(shift)) {
			join(d, sym, lows, k, unsigned)
			if shift > 0 {
				for j := range d {
					d[j] <<= shift
				}
			}
		}
		if len(cur.where) > 0 && int(cur.where[0]) < cur.next+GroupLen {
			patchLarge(cur, d, lows, k, unsigned, shift)
		}
		cur.next += GroupLen
		lows = lows[4*k:]
	}
	return true
}

// join sets d to the values of symbols and the low bits that follow.
func join[T Lane](d *[GroupLen]T, sym *[GroupLen]byte, lows []byte, k uint, unsigned bool) {
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
}

// patchLarge sets the values of a group that are too large for a symbol.
func patchLarge[T Lane](cur *cursor, d *[GroupLen]T, low []byte, k uint, unsigned bool, shift uint8) {
	n := 0
	for n < len(cur.where) && int(cur.where[n]) < cur.next+GroupLen {
		j := uint(int(cur.where[n])-cur.next) % GroupLen
		u := T(cur.large[n] << k)
		if p := j * k; k > 0 && k <= 56 && p>>3+8 <= uint(len(low)) {
			u |= T(binary.LittleEndian.Uint64(low[p>>3:]) >> (p & 7) & (1<<k - 1))
		} else {
			u |= T(bitsAt(low[:4*k], int(p), k))
		}
		if !unsigned {
			u = u>>1 ^ -(u & 1)
		}
		d[j] = u << (shift & 63)
		n++
	}
	cur.large, cur.where = cur.large[n:], cur.where[n:]
}

// bitsAt returns n bits at bit p.
func bitsAt(b []byte, p int, n uint) uint64 {
	r := bitReader{buf: b, pos: p}
	return r.get64(n)
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
