package adaptive

import (
	"encoding/binary"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// mostCoded is more bytes than the coder writes for a residual: at most 66 bits, of at most 11 bits each.
const mostCoded = 96

// code codes the sizes and signs of n residuals of a group, from place i of the window on. Their lowest t
// bits are 0, and lanes have most bits. An encoder has them in the window, a decoder puts them there. The
// mode spends nearly all its time here. All functions that the loop calls are short enough to become part of it.
func (m *model) code(c *arith.Coder, i, n, t, most int) {
	s, buf, decoding := c.Begin(n * mostCoded)
	mag, small, near := m.mag, m.small, m.near
	for end := i + n; i < end; i++ {
		before, north := (*[2]uint8)(mag[i-2:]), (*[3]uint8)(mag[i-near.North-1:])
		sum := expect(before, north)
		start, part := (sum+8)>>4, sum>>1&7 // the size that neighbours suggest, in bits, and the next three bits of that
		z := min(start, noisy)
		sw, sn, sb := int(small[i-1]), int(small[i-near.North]), int(small[i-near.Below])
		rel := func(mag uint8) int { return clamp(int(mag)-2*start+4, 0, 8) }
		row := func(k, context int) *[nNodes]arith.Prob { return &m.size[k][context&(maxContexts-1)] }
		r0, r1 := row(0, min(start, 11)*8+part), row(1, z*81+rel(before[1])*9+rel(north[1]))
		r2, r3 := r0, r1 // of noisy ones, only the first two count
		if z < noisy {
			r2 = row(2, z*81+rel(mag[i-near.Below])*9+rel(before[0]))
			r3 = row(3, z*75+(sw+2)*15+(sn+2)*3+sign(sb)+1)
		}

		// The bits b of the absolute value are found by questions whether b > k.
		mix, b := &m.mix[z&3], -1
		k, step := min(start, most-1), 0
		known := (int(mag[i]) + 1) >> 1 // b of an encoder
		if z == noisy && start+1 < most {
			// There is a second question after any answer to the first. It is mixed for both answers
			// before that is known.
			const mid = nNodes / 2
			v0, v1 := r0[mid], r1[mid]
			p, below, above := arith.Mix2(&mix[mid], v0, v1), arith.Mix2(&mix[mid-1], r0[mid-1], r1[mid-1]), arith.Mix2(&mix[mid+1], r0[mid+1], r1[mid+1])
			var first, second uint32
			s, first = s.Code(p.P16(), less(k, known), decoding)
			s = s.Shift(buf, decoding)
			w, err := &mix[mid], p.Miss(first)*mixRate
			w[0], w[1] = w[0].Next(v0, err), w[1].Next(v1, err)
			r0[mid], r1[mid] = v0.Next(first), v1.Next(first)

			step = 2*int(first&1) - 1
			k += step
			node := (mid + step) & (nNodes - 1)
			p = below ^ (below^above)&arith.Mixture(first)
			v0, v1 = r0[node], r1[node]
			s, second = s.Code(p.P16(), less(k, known), decoding)
			s = s.Shift(buf, decoding)
			w, err = &mix[node], p.Miss(second)*mixRate
			w[0], w[1] = w[0].Next(v0, err), w[1].Next(v1, err)
			r0[node], r1[node] = v0.Next(second), v1.Next(second)
			if first != second {
				b = k + (1-step)>>1
			} else if k += step; k == most {
				b = k
			}
		}
		for b < 0 {
			node := clamp(k-start+nNodes/2, 0, nNodes-1)
			w, one := &mix[node], less(k, known)
			if v0, v1 := r0[node], r1[node]; z == noisy {
				p := arith.Mix2(w, v0, v1)
				s, one = s.Code(p.P16(), one, decoding)
				err := p.Miss(one) * mixRate
				w[0], w[1] = w[0].Next(v0, err), w[1].Next(v1, err)
				r0[node], r1[node] = v0.Next(one), v1.Next(one)
			} else {
				v2, v3 := r2[node], r3[node]
				p := arith.Mix4(w, v0, v1, v2, v3)
				s, one = s.Code(p.P16(), one, decoding)
				err := p.Miss(one) * mixRate
				w[0], w[1], w[2], w[3] = w[0].Next(v0, err), w[1].Next(v1, err), w[2].Next(v2, err), w[3].Next(v3, err)
				r0[node], r1[node], r2[node], r3[node] = v0.Next(one), v1.Next(one), v2.Next(one), v3.Next(one)
			}
			s = s.Shift(buf, decoding)
			if step == 0 {
				step = 2*int(one&1) - 1
			} else if int(one&1) != (step+1)>>1 {
				b = k + (1-step)>>1
				break
			}
			if k += step; k < 0 || k == most {
				b = k + (1-step)>>1
			}
		}
		if b == 0 {
			mag[i], small[i] = 0, 0
			continue
		}

		p := &m.sign[((sign(sw)*9+sign(sn)*3+sign(sb)+13)*4+min(b, 3))&(nSigns-1)]
		v, neg := *p, uint32(int32(small[i])>>31)
		s, neg = s.Code(v.P16(), neg, decoding)
		*p = v.Next(neg)
		s = s.Shift(buf, decoding)
		second := uint32(0) // the bit after the first
		if b-1 > t {
			p := &m.lead[((min(b, 8)-1)*64+clamp(b-start+3, 0, 7)*8+part)&(nLeads-1)]
			v := *p
			s, second = s.Code(v.P16(), uint32(mag[i]&1)-1, decoding)
			*p = v.Next(second)
			s = s.Shift(buf, decoding)
		}
		mag[i] = uint8(2*b-1) + uint8(second&1)
		small[i] = int8((uint32(min(b, 2)) ^ neg) - neg)
	}
	c.End(s)
}

// expect returns the size that neighbours suggest for a residual, in sixteenths of bits: the two before it,
// and those around the one to the north.
func expect(before *[2]uint8, north *[3]uint8) int {
	return 3*int(before[1]) + int(before[0]) + 2*int(north[1]) + int(north[2]) + int(north[0])
}

func clamp(v, lo, hi int) int { return min(max(v, lo), hi) }

// sign returns -1, 0 or 1, without a branch. v is a short number.
func sign(v int) int { return v>>31 - -v>>31 }

// less returns whether a < b, as a mask. Both are short numbers.
func less(a, b int) uint32 { return uint32(int32(a-b) >> 31) }

// measure puts the sizes of residuals in the window, from place i on.
func (m *Model[T]) measure(r []T, i int) {
	mag, small := m.mag[i:i+len(r)], m.small[i:i+len(r)]
	shift := 64 - entropy.LaneBits[T]()
	for k, v := range r {
		x := int64(uint64(v)<<shift) >> shift
		neg := uint64(x >> 63)
		abs := (uint64(x) ^ neg) - neg
		b := bits.Len64(abs)
		mag[k] = uint8(max(2*b-1, 0)) + uint8(abs<<(64-b)>>62&1)
		small[k] = int8((min(abs, 2) ^ neg) - neg)
	}
}

// split returns the parts of a size: b, the bits of an absolute value, and this value without the bits that
// are not part of the size.
func split(mag uint8) (b int, top uint64) {
	b = (int(mag) + 1) >> 1
	return b, uint64(mag&1^3) << 62 >> (64 - b)
}

// lowest returns how many bits of an absolute value of b bits are low bits. Branches on this would be
// unpredictable.
func lowest(b, t int) int { return max(b-2-t, 0) }

// putLow writes the low bits of residuals of a group, from place i of the window on.
func (m *Model[T]) putLow(r []T, i, t int) {
	mag, small := m.mag[i:i+len(r)], m.small[i:i+len(r)]
	for k, v := range r {
		b, _ := split(mag[k])
		n, neg := lowest(b, t), T(small[k]>>7)
		m.low.put(uint64((v^neg)-neg)>>t&(1<<n-1), n)
	}
}

// getLow reads the low bits of residuals of a group, from place i of the window on, and sets the residuals.
func (m *Model[T]) getLow(r []T, i, t int) {
	mag, small := m.mag[i:i+len(r)], m.small[i:i+len(r)]
	low, at := m.low.buf, m.low.pos
	for k := range r {
		b, abs := split(mag[k])
		n := lowest(b, t)
		if n <= 56 && at>>3+8 <= len(low) {
			abs |= binary.LittleEndian.Uint64(low[at>>3:]) >> (at & 7) & (1<<(n&63) - 1) << (t & 63)
		} else {
			abs |= m.low.get(at, n) << t
		}
		at += n
		neg := T(small[k] >> 7)
		r[k] = (T(abs) ^ neg) - neg
	}
	m.low.pos = at
}
