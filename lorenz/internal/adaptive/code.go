package adaptive

import (
	"encoding/binary"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Options of a stream. Part of the format.
const (
	hasZeros   = 1 << 0 // groups have trailing zeros
	hasWeights = 1 << 1
)

// Decode sets r to the residuals, those outside of the spans to 0.
func (m *Model[T]) Decode(in *entropy.Reader, r []T, spans []Span, near Neighbours) bool {
	flags := in.Byte()
	m.sum = weights{used: flags&hasWeights != 0}
	if m.sum.used {
		m.sum.limit = uint(in.Int(most))
		if p := in.Bytes(2 * nTaps); p != nil {
			for i := range m.sum.w {
				m.sum.w[i] = int32(int16(binary.LittleEndian.Uint16(p[2*i:])))
			}
		}
	}
	body := in.Bytes(in.Int(len(in.Buf)))
	if in.Bad || flags > 3 {
		return false
	}
	m.reset(len(r), near)
	m.low = lowBits{buf: in.Buf, decoding: true}
	in.Buf = nil
	c := arith.NewDecoder(body)
	return m.code(&c, r, spans, flags&hasZeros != 0, true) && c.Ended() && m.low.ended()
}

// encode appends the residuals.
func (m *Model[T]) encode(dst []byte, r []T, spans []Span, near Neighbours) []byte {
	zeros := trailing(r, spans)
	flags := byte(0)
	if zeros {
		flags |= hasZeros
	}
	if m.sum.used {
		flags |= hasWeights
	}
	dst = append(dst, flags)
	if m.sum.used {
		dst = append(dst, byte(m.sum.limit))
		for _, w := range m.sum.w {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(w))
		}
	}
	m.reset(len(r), near)
	m.low = lowBits{buf: m.low.buf[:0]}
	c := arith.NewEncoder(nil)
	m.code(&c, r, spans, zeros, false)
	body := c.Finish()
	dst = append(entropy.AppendUvarint(dst, uint64(len(body))), body...)
	return append(dst, m.low.finish()...)
}

// code codes the residuals, in groups.
func (m *Model[T]) code(c *arith.Coder, r []T, spans []Span, zeros, decoding bool) bool {
	if m.sum.used {
		m.vals = entropy.Grow(m.vals, len(r)+m.pad)
		clear(m.vals[:m.pad])
	}
	width := entropy.LaneBits[T]()
	left, t, flat, history := 0, 0, 0, 0
	at := 0
	for k, s := range spans {
		m.skip(r, at, s.Start, decoding)
		for at = s.Start; at < s.End; {
			if left == 0 {
				left = entropy.GroupLen
				or, zero := T(0), 0
				if !decoding {
					or = m.ahead(r, spans[k:], at)
				}
				if !m.sum.used {
					if or == 0 {
						zero = 1
					}
					flat = c.Bit(&m.zero[history], zero)
					history = history<<1&7 | flat
				}
				if zeros && flat == 0 {
					z := t
					if or != 0 {
						z = bits.TrailingZeros64(uint64(or))
					}
					if t = c.Tree(m.tz[64*t:][:64], 6, z); t >= int(width) {
						return false
					}
				}
				if c.Exhausted() || m.low.pos > 8*len(m.low.buf) && decoding {
					return false
				}
			}
			n := min(left, s.End-at)
			left -= n
			if flat != 0 {
				m.skipZeros(r, at, at+n, decoding)
				at += n
				continue
			}
			for end := at + n; at < end; at++ {
				m.one(c, r, at, uint(t), width, decoding)
			}
		}
	}
	m.skip(r, at, len(r), decoding)
	return true
}

// one codes a residual.
func (m *Model[T]) one(c *arith.Coder, r []T, at int, t, width uint, decoding bool) {
	i := at + m.pad
	var p T
	if m.sum.used {
		p = T(m.predict(i)) >> t << t
	}
	v, neg := T(0), 0
	if !decoding {
		v = r[at] - p
		if v>>(width-1) != 0 {
			v, neg = -v, 1
		}
	}
	x, neg := m.residual(c, i, uint64(v), neg, t, width)
	v = negate(T(x), neg) + p
	if decoding {
		r[at] = v
	}
	if m.sum.used {
		m.vals[i] = v
	}
}

// skip passes elements that have no residual. They look like the one before
// them.
func (m *Model[T]) skip(r []T, from, to int, decoding bool) {
	if from >= to {
		return
	}
	if decoding {
		clear(r[from:to])
	}
	before := m.mag[from+m.pad-1]
	mag := m.mag[from+m.pad : to+m.pad]
	for i := range mag {
		mag[i] = before
	}
	clear(m.small[from+m.pad : to+m.pad])
	if m.sum.used {
		clear(m.vals[from+m.pad : to+m.pad])
	}
}

// skipZeros passes residuals that are 0.
func (m *Model[T]) skipZeros(r []T, from, to int, decoding bool) {
	if decoding {
		clear(r[from:to])
	}
	clear(m.mag[from+m.pad : to+m.pad])
	clear(m.small[from+m.pad : to+m.pad])
}

// ahead returns all bits of the residuals of the group that starts at an
// element.
func (m *Model[T]) ahead(r []T, spans []Span, at int) (or T) {
	left := entropy.GroupLen
	for _, s := range spans {
		at = max(at, s.Start)
		n := min(left, s.End-at)
		for _, v := range r[at : at+n] {
			or |= v
		}
		if left -= n; left == 0 {
			break
		}
	}
	return or
}

// trailing reports whether groups have trailing zeros often enough.
func trailing[T entropy.Lane](r []T, spans []Span) bool {
	sum, groups := 0, 0
	for _, s := range spans {
		for at := s.Start; at < s.End; at += entropy.GroupLen {
			var or T
			for _, v := range r[at:min(at+entropy.GroupLen, s.End)] {
				or |= v
			}
			if or != 0 {
				sum += bits.TrailingZeros64(uint64(or))
				groups++
			}
		}
	}
	return 4*sum > groups
}
