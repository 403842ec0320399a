package entropy

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// cursor holds the remaining decoded symbols of a stream.
type cursor struct {
	at    int      // of its first symbol, one a value; at least maxSym if the value is in large
	next  int      // values before the first symbol
	place int      // where the places of its groups begin
	large []uint64 // values too large for a symbol
	where []int32  // their places
}

// large prepares the reading of the chunks [c0, c1) of a stream, whose symbols are syms, from at on in
// a buffer.
func (g *GroupReader) large(cur *cursor, s *Stream, pack uint16, syms []byte, at, c0, c1 int) bool {
	cur.at, cur.next, cur.large, cur.where = at, 0, nil, nil
	if s.method&streamExtra == 0 {
		return !s.hasLarge(pack) || !anyLarge(syms)
	}
	// Their number is not stored, but it is at most that of all values.
	if cap(g.vals) < g.need || cap(g.spots) < g.need {
		size := g.need
		if len(g.class) > PieceGroups {
			size = pieceNeed
		}
		g.vals = append(make([]uint64, 0, size), g.vals...)
		g.spots = append(make([]int32, 0, size), g.spots...)
	}
	from, base := len(g.vals), 0
	var tops [4 * ChunkSyms / GroupLen]uint32
	for c := c0; c < c1; c++ {
		n := min(ChunkSyms<<pack, len(syms))
		large := tops[:n/GroupLen]
		kernels.Tops(large, syms)
		ok, end := true, s.end[c]
		if pack == pack1 {
			end, ok = g.numbers(s, syms, large, base, end, s.off[c+1])
		} else {
			end = g.nibbles(s, large, base, end, s.off[c+1], [...]uint64{pack2: 15, pack4: 3}[pack])
		}
		syms, base = syms[n:], base+n
		if !ok || (end+7)>>3 != s.off[c+1] {
			return false
		}
	}
	cur.large, cur.where = g.vals[from:], g.spots[from:]
	return true
}

// numbers reads the extra bits of the symbols that are marked in large, from bit pos of s on. Those of
// the chunk end at byte end. It returns where they end, and whether the symbols are valid.
func (g *GroupReader) numbers(s *Stream, syms []byte, large []uint32, base, pos, end int) (int, bool) {
	n := len(g.vals)
	vals, spots := g.vals[:cap(g.vals)], g.spots[:cap(g.spots)] // which have room for all
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
			vals[n], spots[n] = 1<<k|v, int32(base+at)
			n++
		}
	}
	g.vals, g.spots = vals[:n], spots[:n]
	return pos, true
}

// nibbles is numbers for symbols of several values. Values from least on are marked.
func (g *GroupReader) nibbles(s *Stream, large []uint32, base, pos, end int, least uint64) int {
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
			g.vals, g.spots = append(g.vals, least+v), append(g.spots, int32(base+i*GroupLen+bits.TrailingZeros32(w)))
		}
	}
	return pos
}

// skip passes over n values.
func (cur *cursor) skip(n int) {
	k, _ := slices.BinarySearch(cur.where, int32(n))
	cur.large, cur.where = cur.large[k:], cur.where[k:]
	cur.at, cur.next = cur.at+n, n
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
