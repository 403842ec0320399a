package adaptive

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// hasZeros is the option of a stream whose groups have trailing zeros. Part of the format.
const hasZeros = 1 << 0

// Decode sets r to the residuals, those outside of the spans to 0. It also reports false after a stop.
func (m *Model[T]) Decode(in *entropy.Reader, r []T, spans func(visit func(start, end int) bool), near Neighbours, stop *entropy.Stop) bool {
	flags := in.Byte()
	body := in.Bytes(in.Int(len(in.Buf)))
	if in.Bad || flags&^hasZeros != 0 || !near.Valid() {
		return false
	}
	m.reset(len(r), near)
	m.low = lowBits{buf: in.Buf}
	in.Buf = nil
	c := arith.NewDecoder(body)
	s := state{zeros: flags&hasZeros != 0, decoding: true, stop: stop}
	ok := true
	spans(func(start, end int) bool {
		ok = m.span(&c, &s, r, Span{start, end}, nil)
		return ok
	})
	return ok && m.skip(&s, r, s.at, len(r)) && c.Ended() && m.low.ended()
}

// Encode appends the residuals and reports whether they take fewer than most bytes. If not, what it appends has
// no meaning.
func (m *Encoder[T]) Encode(dst []byte, r []T, spans []Span, near Neighbours, most int) ([]byte, bool) {
	start := len(dst)
	zeros := trailing(r, spans)
	flags := byte(0)
	if zeros {
		flags |= hasZeros
	}
	dst = append(dst, flags)
	m.reset(len(r), near)
	m.low = lowBits{buf: m.low.buf[:0]}
	c := arith.NewEncoder(nil)
	st := state{zeros: zeros, most: most}
	for k, s := range spans {
		if !m.span(&c, &st, r, s, spans[k+1:]) {
			return dst, false
		}
	}
	m.skip(&st, r, st.at, len(r))
	body := c.Finish()
	dst = append(entropy.AppendUvarint(dst, uint64(len(body))), body...)
	dst = append(dst, m.low.finish()...)
	return dst, len(dst)-start < most
}

// state is the progress of coding.
type state struct {
	zeros    bool // groups have trailing zeros
	decoding bool
	stop     *entropy.Stop
	most     int // an encoder ends once it has so many bytes

	at      int // the next element
	left    int // residuals of the group
	t       int // its trailing zeros
	flat    int // whether all are 0
	history int
}

// span codes the residuals of the next span, in groups. An encoder looks ahead into the spans after it.
func (m *Model[T]) span(c *arith.Coder, st *state, r []T, s Span, after []Span) bool {
	width := entropy.LaneBits[T]()
	if !m.skip(st, r, st.at, s.Start) {
		return false
	}
	at := s.Start
	for at < s.End {
		if st.left == 0 {
			st.left = entropy.GroupLen
			or, zero := T(0), 0
			if !st.decoding {
				or = ahead(r, Span{at, s.End}, after)
			}
			if or == 0 {
				zero = 1
			}
			st.flat = c.Bit(&m.zero[st.history], zero)
			st.history = st.history<<1&7 | st.flat
			if st.zeros && st.flat == 0 {
				z := st.t
				if or != 0 {
					z = bits.TrailingZeros64(uint64(or))
				}
				if st.t = c.Tree(m.tz[64*st.t:][:64], 6, z); st.t >= int(width) {
					return false
				}
			}
			if !st.decoding && len(c.Buf)+len(m.low.buf) >= st.most {
				return false
			}
			if c.Exhausted() || m.low.pos > 8*len(m.low.buf) && st.decoding || st.stop.After(groupTime) {
				return false
			}
		}
		n := min(st.left, s.End-at)
		st.left -= n
		i := m.place(at, n)
		if st.flat != 0 {
			m.skipZeros(st, r, at, i, n)
			at += n
			continue
		}
		if group := r[at : at+n]; st.decoding {
			m.code(c, i, n, st.t, int(width))
			m.getLow(group, i, st.t)
		} else {
			m.measure(group, i)
			m.code(c, i, n, st.t, int(width))
			m.putLow(group, i, st.t)
		}
		at += n
	}
	st.at = at
	return true
}

// groupTime is about how many nanoseconds a group takes.
const groupTime = 20 * entropy.GroupLen

// skip advances over elements without a residual. As neighbours they have the size of the element
// before them.
func (m *Model[T]) skip(st *state, r []T, from, to int) bool {
	for from < to {
		n := min(to-from, leastWindow)
		if st.decoding {
			clear(r[from : from+n])
		}
		i := m.place(from, n)
		before := m.mag[i-1]
		mag := m.mag[i : i+n]
		for j := range mag {
			mag[j] = before
		}
		clear(m.small[i : i+n])
		if from += n; st.stop.After(n) {
			return false
		}
	}
	return true
}

// skipZeros advances over n residuals that are 0, from place i of the window on.
func (m *Model[T]) skipZeros(st *state, r []T, at, i, n int) {
	if st.decoding {
		clear(r[at : at+n])
	}
	clear(m.mag[i : i+n])
	clear(m.small[i : i+n])
}

// ahead returns all bits of the residuals of the group that starts at a span.
func ahead[T entropy.Lane](r []T, s Span, after []Span) (or T) {
	for left := entropy.GroupLen; ; s, after = after[0], after[1:] {
		n := min(left, s.End-s.Start)
		for _, v := range r[s.Start : s.Start+n] {
			or |= v
		}
		if left -= n; left == 0 || len(after) == 0 {
			return or
		}
	}
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
