package entropy

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

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
