package entropy

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// PieceGroups is how many groups are decoded at once. More would only take memory: the ends of a
// piece are in chunks that are decoded twice, but these are few.
const PieceGroups = 1 << 12

// pieceNeed bounds the values of the chunks with a piece. A chunk has up to 2048 values.
const pieceNeed = PieceGroups*GroupLen + moreNeed
const moreNeed = nStreams * 2 * (ChunkSyms << pack4)

// PieceMemory bounds the bytes that a GroupReader allocates to decode a piece of n values: symbols,
// unpacked symbols, values too large for them with their places, and places of groups.
func PieceMemory(n int64) int64 { return (n + moreNeed) * (1 + 1 + 8 + 4 + 1) }

// DecodeGroups decodes groups [a, b) to dst. It also reports false after a stop.
func DecodeGroups[T Lane](g *GroupReader, dst []T, a, b int) bool {
	for ; b-a > PieceGroups; a += PieceGroups {
		if !decodePiece(g, dst, a, a+PieceGroups) {
			return false
		}
		dst = dst[PieceGroups*GroupLen:]
	}
	return decodePiece(g, dst, a, b)
}

// decodePiece decodes groups [a, b) to dst, at most PieceGroups.
func decodePiece[T Lane](g *GroupReader, dst []T, a, b int) bool {
	if g.Stop.After((b - a) * GroupLen) {
		return false
	}
	low, ok := g.seek(a, b)
	if !ok {
		return false
	}
	lows, class := g.low[low:], g.class[a:b]
	unsigned := g.flags&groupsUnsigned != 0
	var zeros []byte
	if g.flags&groupsTZ != 0 {
		zeros = g.zeros[a:b]
	}
	at := &g.at
	at.Group, at.Low = 0, 0
	for c := range 32 {
		at.SetStream(c, 1+int(g.streams[min(c, nStreams)]))
	}
	for s := range g.cur {
		at.Streams[s] = kernels.Joined{Sym: g.cur[s].at, Place: g.cur[s].place}
	}
	narrow, _ := any(dst).([]uint32)
	for at.Group < len(class) {
		if narrow != nil && !unsigned {
			if kernels.Join(narrow, class, zeros, lows, g.syms, g.places, at); at.Group == len(class) {
				break
			}
		}
		i := at.Group
		at.Group++
		d := (*[GroupLen]T)(dst[GroupLen*i:])
		c := class[i]
		if c == 0 {
			*d = [GroupLen]T{}
			continue
		}
		stream := &at.Streams[1+g.streams[min(c, nStreams)]]
		k := lowBits(c)
		join(d, (*[GroupLen]byte)(g.syms[stream.Sym:]), lows[at.Low:], k, unsigned)
		if zeros != nil && zeros[i] > 0 {
			for j := range d {
				d[j] <<= zeros[i] & 63
			}
		}
		g.places[stream.Place] = uint64(at.Low)<<32 | uint64(i)
		stream.Sym += GroupLen
		stream.Place++
		at.Low += int(4 * k)
	}
	for s := range g.cur {
		if cur := &g.cur[s]; len(cur.large) > 0 {
			patchLarge(cur, dst, class, zeros, lows, g.places[cur.place:at.Streams[s].Place], unsigned)
		}
	}
	return true
}

// join sets d to the values of symbols and the low bits that follow.
func join[T Lane](d *[GroupLen]T, sym *[GroupLen]byte, lows []byte, k uint, unsigned bool) {
	switch {
	case k == 0 && unsigned:
		for j, y := range sym {
			d[j] = T(y)
		}
	case k == 0:
		for j, y := range sym {
			d[j] = T(signed[y])
		}
	case k <= 14 && len(lows) >= 4*14+8 && !unsigned:
		if d, ok := any(d).(*[GroupLen]uint32); ok {
			joinFour(d, sym, (*[64]byte)(lows), k)
			return
		}
		var narrow [GroupLen]uint32
		joinFour(&narrow, sym, (*[64]byte)(lows), k)
		for j, v := range narrow {
			d[j] = T(int32(v))
		}
	case k <= 28 && len(lows) >= 4*28+8 && !unsigned:
		joinTwo(d, sym, (*[120]byte)(lows), k)
	default:
		joinLow(d, sym, lows[:4*k], k)
		unzigzag(d, unsigned)
	}
}

// patchLarge sets the values of a stream that are too large for a symbol. places has the groups of the
// stream, and in the upper halves where their low bits begin.
func patchLarge[T Lane](cur *cursor, dst []T, class, zeros, lows []byte, places []uint64, unsigned bool) {
	large := cur.large[:len(cur.where)]
	for n, at := range cur.where {
		v := int(at) - cur.next
		if v >= GroupLen*len(places) {
			break
		}
		place, j := places[v/GroupLen], uint(v)%GroupLen
		i := int(uint32(place))
		k := lowBits(class[i])
		low := lows[place>>32:]
		u := T(large[n] << k)
		if p := j * k; k <= 56 && p>>3+8 <= uint(len(low)) {
			u |= T(binary.LittleEndian.Uint64(low[p>>3:]) >> (p & 7) & (1<<k - 1))
		} else {
			u |= T(bitsAt(low[:4*k], int(p), k))
		}
		if !unsigned {
			u = u>>1 ^ -(u & 1)
		}
		if zeros != nil {
			u <<= zeros[i] & 63
		}
		dst[GroupLen*i+int(j)] = u
	}
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

// joinFour sets d to the signed numbers of symbols with k low bits, 1 to 14: four a load, two a word.
func joinFour(d *[GroupLen]uint32, sym *[GroupLen]byte, low *[64]byte, k uint) {
	const both, lower = 1<<32 | 1, 1<<32 - 1
	k &= 15
	mask := (uint64(1)<<k - 1) * both
	for j := 0; j < GroupLen; j += 4 {
		p := uint(j) * k
		v := binary.LittleEndian.Uint64(low[p>>3:]) >> (p & 7)
		s := (*[4]byte)(sym[j:])
		o := (*[4]uint32)(d[j:])
		a := (uint64(s[0])|uint64(s[1])<<32)<<k | (v&lower|v>>k<<32)&mask
		v >>= 2 * k
		b := (uint64(s[2])|uint64(s[3])<<32)<<k | (v&lower|v>>k<<32)&mask
		a = a>>1&^(1<<31) ^ a&both*lower
		b = b>>1&^(1<<31) ^ b&both*lower
		o[0], o[1] = uint32(a), uint32(a>>32)
		o[2], o[3] = uint32(b), uint32(b>>32)
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

// signed has the signed number of each byte.
var signed = func() (t [256]int8) {
	for i := range t {
		t[i] = int8(i>>1 ^ -(i & 1))
	}
	return t
}()

// unzigzag restores the signs unless the values have none.
func unzigzag[T Lane](d *[GroupLen]T, unsigned bool) {
	if unsigned {
		return
	}
	for j, u := range d {
		d[j] = u>>1 ^ -(u & 1)
	}
}
