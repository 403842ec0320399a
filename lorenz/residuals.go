package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/repeats"
)

// restored decodes the lanes of a window to buf, which it grows. f, m and c are scratch.
func restored[T lane](b *block, buf *[]T, f *feed[T], m **adaptive.Model[T], c **contexts.Decoder[T], w predict.Window) bool {
	*buf = entropy.Grow(*buf, w.Len()+2*masks.Slack)
	y := *buf
	return residuals(b, y, f, m, c, w) && predict.Restore(&b.buf, b.pred, y[:w.Len()], w)
}

// residuals decodes the residuals of a window to y, whose capacity is at least 2*masks.Slack elements more.
func residuals[T lane](b *block, y []T, f *feed[T], m **adaptive.Model[T], c **contexts.Decoder[T], w predict.Window) bool {
	switch {
	case b.mode == modeAdaptive:
		return adapted(b, m, y[:w.Len()])
	case b.mode == modeContexts:
		return inContexts(b, c, y, w)
	case b.mode == modeReferences:
		return referred(b, m, y, w.Len()) && expand(b, y, f, w.Len())
	case b.lz:
		f.open(&b.g, 0, b.g.Groups()*entropy.GroupLen)
		return repeated(b, y, f, w.Len())
	}
	step := 1
	if w.AllPlanes() {
		step = w.Columns()
	}
	for q := 0; q < w.Columns(); q += step {
		if !columns(b, y, f, w, q, q+step) {
			return false
		}
	}
	return true
}

// inContexts decodes the residuals of a window in modeContexts to y.
func inContexts[T lane](b *block, c **contexts.Decoder[T], y []T, w predict.Window) bool {
	if *c == nil {
		*c = new(contexts.Decoder[T])
	}
	if !b.opened && !(*c).Open(&b.rest, b.rows) {
		return false
	}
	b.opened = true
	for q := range w.Columns() {
		start, width := w.Column(q)
		if !(*c).Decode(y[start:start+w.Planes()*width], w.Start/w.Cell+q, b.mask.Masked(), b.stop) {
			return false
		}
	}
	return true
}

// feed reads the values of a group stream in order. It decodes them in pieces, since a constant stream
// can claim any number of values.
type feed[T lane] struct {
	g    *entropy.GroupReader
	at   int // the next group
	end  int // the group after the last one
	buf  []T
	rest []T // decoded and not yet used
}

// mostPeeked is the most values for which peek is called.
const mostPeeked = 1 << 16

// open starts reading the values [lo, hi).
func (f *feed[T]) open(g *entropy.GroupReader, lo, hi int) {
	f.g, f.at, f.end, f.rest = g, lo/entropy.GroupLen, (hi+entropy.GroupLen-1)/entropy.GroupLen, nil
	if before := lo % entropy.GroupLen; before > 0 && f.more() {
		f.rest = f.rest[before:]
	}
}

// more decodes more values. It reports false if there are none, if the stream is damaged, and after a
// stop.
func (f *feed[T]) more() bool {
	k := min(f.end-f.at, entropy.PieceGroups)
	if k == 0 {
		return false
	}
	kept, n := len(f.rest), k*entropy.GroupLen
	if cap(f.buf) < kept+n {
		size := n
		if k < f.end-f.at { // values may be kept later
			size += mostPeeked
		}
		f.buf = make([]T, max(size, kept+n))
	}
	f.buf = f.buf[:kept+n]
	copy(f.buf, f.rest)
	if !entropy.DecodeGroups(f.g, f.buf[kept:], f.at, f.at+k) {
		return false
	}
	f.at += k
	f.rest = f.buf
	return true
}

// peek returns at least the next n values without consuming them, or nil.
func (f *feed[T]) peek(n int) []T {
	for len(f.rest) < n {
		if !f.more() {
			return nil
		}
	}
	return f.rest
}

// next consumes and returns at least one of the next n values. It returns nil if there are none.
func (f *feed[T]) next(n int) []T {
	if len(f.rest) == 0 && !f.more() {
		return nil
	}
	s := f.rest[:min(n, len(f.rest))]
	f.rest = f.rest[len(s):]
	return s
}

// columns decodes the residuals of columns that are adjacent in the block.
func columns[T lane](b *block, y []T, f *feed[T], w predict.Window, q0, q1 int) bool {
	start, _ := w.Column(q0)
	last, width := w.Column(q1 - 1)
	lo := b.rank(w.Start/w.Cell+q0, w.P0)
	if !b.mask.Used {
		n := last - start + w.Planes()*width
		a, z := lo/entropy.GroupLen, (lo+n+entropy.GroupLen-1)/entropy.GroupLen
		if lo%entropy.GroupLen == 0 && len(y)-start >= (z-a)*entropy.GroupLen {
			return entropy.DecodeGroups(&b.g, y[start:], a, z)
		}
		f.open(&b.g, lo, lo+n)
		for to := y[start : start+n]; len(to) > 0; {
			s := f.next(len(to))
			if s == nil {
				return false
			}
			to = to[copy(to, s):]
		}
		return true
	}
	hi := lo
	if w.Len() == b.N {
		hi = b.mask.Rank(b.N)
	} else {
		w.EachPiece(b.stop, q0, q1, func(e, _, n int) bool {
			hi += b.mask.Rank(e+n) - b.mask.Rank(e)
			return true
		})
	}
	f.open(&b.g, lo, hi)
	return w.EachPiece(b.stop, q0, q1, func(e, at, n int) bool {
		for n > 0 {
			k := min(n, mostPeeked)
			used := b.mask.Rank(e+k) - b.mask.Rank(e)
			res := f.rest
			if len(res) < used {
				if res = f.peek(used); res == nil {
					return false
				}
			}
			masks.Expand(b.mask, y[at:], k, res, e)
			f.rest = res[used:]
			e, at, n = e+k, at+k, n-k
			if n > 0 && b.stop.After(k) {
				return false
			}
		}
		return true
	})
}

// planeTime is about how many nanoseconds rank takes for a plane.
const planeTime = 16

// rank returns how many unmasked elements are before cell q of plane p in the order of the
// residuals: the cells before q of all planes, and cell q of the planes before p. After a stop it returns less.
func (b *block) rank(q, p int) int {
	c := q * b.Cell
	width := min(b.Cell, b.Plane-c)
	if !b.mask.Used {
		return c*(b.N/b.Plane) + p*width
	}
	if q == 0 && p == 0 {
		return 0
	}
	sum := 0
	for at := 0; at < b.N && !b.stop.After(planeTime); at += b.Plane {
		sum += b.mask.Rank(at+c) - b.mask.Rank(at)
		if at < p*b.Plane {
			sum += b.mask.Rank(at+c+width) - b.mask.Rank(at+c)
		}
	}
	return sum
}

// repeated decodes residuals with repeats to y, whose capacity is at least n + 2*masks.Slack.
func repeated[T lane](b *block, y []T, f *feed[T], n int) bool {
	if !b.mask.Used {
		return repeats.Copy(b.tokens, y[:n], f.next)
	}
	return repeats.Copy(b.tokens, unmasked(b, y, n), f.next) && expand(b, y, f, n)
}

// unmasked returns the part of y that holds the residuals of the unmasked elements before expand. It is
// at the end of y, with a distance of masks.Slack, so that masks.Expand does not overwrite residuals
// that it has not read.
func unmasked[T lane](b *block, y []T, n int) []T {
	return y[n-b.mask.Rank(n)+masks.Slack : n+masks.Slack]
}

// expand moves the residuals from unmasked to the places of their elements. f has a scratch buffer.
func expand[T lane](b *block, y []T, f *feed[T], n int) bool {
	res := unmasked(b, y, n)
	f.buf = entropy.Grow(f.buf, min(len(res), mostPeeked))
	for e := 0; e < n; {
		k := min(n-e, mostPeeked)
		used := k
		if !b.mask.Used {
			copy(y[e:e+k], res)
		} else {
			used = b.mask.Rank(e+k) - b.mask.Rank(e)
			masks.Expand(b.mask, y[e:], k, f.buf[:copy(f.buf, res[:used])], e)
		}
		res = res[used:]
		if e += k; b.stop.After(k) {
			return false
		}
	}
	return true
}
