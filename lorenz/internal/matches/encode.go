package matches

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// The choice of steps: the cheapest way through the next bytes, by prices of the model as it is before them.

const (
	window  = 1 << 9 // bytes for which steps are chosen at once
	enough  = 64     // a copy of so many bytes is taken at once
	shorter = 3      // bytes by which a copy may end earlier than it could
	refresh = 48     // copies after which prices are made anew
	never   = math.MaxUint32 / 2

	// The same for a quick encoder, which does not ask the model for the prices of literals: in headers they take about
	// five and a half bits.
	quickEnough = 32
	anyLiteral  = 11 << priceBits / 2
)

// node is the cheapest way to a byte.
type node struct {
	price uint32
	step  step // the last one
	position
}

// Encoder encodes blocks. It keeps buffers between calls.
type Encoder struct {
	finder
	tries int
	quick bool
	long  int // a copy of so many bytes is taken at once
	model model
	nodes [window + enough + 1]node
	reach int // the last node with a price
	steps []step
	found []found

	lens  [2]prices
	dists [lengths]prices
	used  int // copies since the prices were made
}

// primed is a finder that has read the dictionary.
var primed = sync.OnceValue(func() *finder {
	f := &finder{buf: dictionary, base: len(dictionary), prev: make([]uint32, len(dictionary))}
	for i := range f.buf {
		f.insert(i)
	}
	return f
})

// empty is a finder that has read nothing. It never changes.
var empty finder

// begin starts a block. The part of buf and prev that belongs to the dictionary stays as it is.
func (e *Encoder) begin(src []byte, header bool) {
	f := &empty
	if header {
		f = primed()
	}
	if e.base != f.base || len(e.buf) < e.base {
		e.base = f.base
		e.buf = append(e.buf[:0], f.buf...)
		e.prev = append(e.prev[:0], f.prev...)
	}
	e.head4, e.head3, e.head2 = f.head4, f.head3, f.head2
	e.buf = append(e.buf[:e.base], src...)
	e.prev = slices.Grow(e.prev[:e.base], len(src))[:len(e.buf)]
	e.used = refresh
}

// Effort is what an encoder may spend on a block.
type Effort struct {
	Tries int  // earlier places that it compares at each byte
	Quick bool // all literals have one price, and copies of half the length are taken at once
	// Most is the length of a block, in bytes, which is of no use. The encoder gives up when the block gets as long, 0
	// for never.
	Most int
}

// Encode appends a block to dst whose coded bytes are src, at most MaxLen of them. It returns false, and dst with some
// bytes more, if it has given up.
func (e *Encoder) Encode(dst, src []byte, f Form, effort Effort) ([]byte, bool) {
	before := len(dst)
	options := byte(f.Unit - 1)
	if f.Header {
		options |= hasDictionary
	}
	if len(f.Table) > 0 {
		options |= hasTable
	}
	dst = append(dst, options)
	if len(f.Table) > 0 {
		dst = append(binary.AppendUvarint(dst, uint64(len(f.Table)/f.Size)), f.Table...)
	}
	e.begin(src, f.Header)
	e.tries, e.quick, e.long = effort.Tries, effort.Quick, enough
	if e.quick {
		e.long = quickEnough
	}
	m := &e.model
	m.reset(f.Unit, len(src))
	p := start(f.Unit)
	c := arith.NewEncoder(dst)
	for at := e.base; at < len(e.buf); {
		if effort.Most > 0 && len(c.Buf)-before >= effort.Most {
			return c.Buf, false
		}
		e.parse(at, p)
		for _, s := range e.steps {
			m.next(&c, e.buf, e.base, at, &p, s)
			p = p.after(s)
			at += int(s.n)
		}
	}
	return c.Finish(), true
}

// price makes the prices of lengths and distances.
func (e *Encoder) price() {
	for i := range e.lens {
		e.lens[i].set(&e.model.lens[i], slotOf(enough))
	}
	for i := range e.dists {
		e.dists[i].set(&e.model.dists[i], slotOf(uint32(len(e.buf))))
	}
	e.used = 0
}

// parse sets steps to the cheapest ones from a byte on, up to the next where all ways meet, or to the end of the window.
// It inserts the bytes of these steps into the finder.
func (e *Encoder) parse(at int, p position) {
	if e.used >= refresh {
		e.price()
	}
	end := min(window, len(e.buf)-at)
	e.nodes[0] = node{position: p}
	e.reach = 0
	e.steps = e.steps[:0]
	i, long := 0, e.look(0, at)
	for long.n == 0 {
		i++
		// A place inside a copy may have no way to it. The window must not end there.
		n := &e.nodes[i]
		if n.price < never {
			n.position = e.nodes[i-int(n.step.n)].after(n.step)
			if i == e.reach || i >= end {
				break
			}
		}
		if n.price >= e.nodes[e.reach].price {
			e.insert(at + i)
			continue
		}
		long = e.look(i, at+i)
	}
	if long.n > 0 {
		e.take(long, at+i)
	}
	e.trace(i)
}

// look offers all steps from node i, which is byte pos, unless it returns a copy that is taken at once. It inserts the
// byte.
func (e *Encoder) look(i, pos int) (long step) {
	e.found = e.find(e.found[:0], pos, e.tries, e.long)
	e.insert(pos)
	isCopy := e.offerLiteral(i, pos)
	copied := e.nodes[i].price + price1(isCopy)
	if long = e.offerAgain(i, pos, copied); long.n > 0 {
		return long
	}
	if k := len(e.found); k > 0 && e.found[k-1].n >= e.long {
		return step{n: int32(e.found[k-1].n), kind: match, dist: e.found[k-1].dist}
	}
	e.offerMatches(i, copied)
	return step{}
}

// offer offers a step to a node for a price.
func (e *Encoder) offer(to int, price uint32, s step) {
	for e.reach < to {
		e.reach++
		e.nodes[e.reach].price = never
	}
	if t := &e.nodes[to]; price < t.price {
		t.price, t.step = price, s
	}
}

// offerLiteral offers the byte itself. It returns the probability of a copy.
func (e *Encoder) offerLiteral(i, pos int) arith.Prob {
	m, n := &e.model, &e.nodes[i]
	isCopy := m.copies[n.history][m.column(pos-e.base)]
	cost := uint32(anyLiteral)
	if !e.quick {
		x := m.context(e.buf, e.base, pos, &n.position)
		cost = m.literalPrice(&x, uint32(e.buf[pos]))
	}
	e.offer(i+1, n.price+price0(isCopy)+cost, step{n: 1, kind: literal})
	return isCopy
}

// offerAgain offers copies at the distances used last, or returns the longest that is taken at once. copied is the price
// up to the length of a copy.
func (e *Encoder) offerAgain(i, pos int, copied uint32) (long step) {
	m, n := &e.model, &e.nodes[i]
	for k, d := range n.last {
		from := pos - int(d)
		if from < 0 || e.buf[from] != e.buf[pos] {
			continue
		}
		s := step{kind: again, rank: uint8(k)}
		c := int32(kernels.CommonPrefix(e.buf[from:], e.buf[pos:]))
		if int(c) >= e.long {
			if s.n = c; s.n > long.n {
				long = s
			}
			continue
		}
		cost := copied + price1(m.again[n.history]) + m.rankPrice(n.history, k)
		s.n = 1
		e.offer(i+1, cost+e.lens[0].of(0), s)
		for s.n = max(2, c-shorter); s.n <= c; s.n++ {
			e.offer(i+int(s.n), cost+e.lens[0].of(uint32(s.n)-minAgain), s)
		}
	}
	return long
}

// offerMatches offers the copies that were found.
func (e *Encoder) offerMatches(i int, copied uint32) {
	copied += price0(e.model.again[e.nodes[i].history])
	l := minMatch
	for _, f := range e.found {
		for l = max(l, f.n-shorter); l <= f.n; l++ {
			d := &e.dists[min(l-minMatch, lengths-1)]
			e.offer(i+l, copied+e.lens[1].of(uint32(l-minMatch))+d.of(f.dist-1), step{int32(l), match, 0, f.dist})
		}
	}
}

// take appends a copy from a byte on, whose other bytes it inserts.
func (e *Encoder) take(s step, pos int) {
	for j := 1; j < int(s.n); j++ {
		e.insert(pos + j)
	}
	e.steps = append(e.steps, s)
}

// trace prepends the steps to node i, from the last to the first.
func (e *Encoder) trace(i int) {
	for ; i > 0; i -= int(e.nodes[i].step.n) {
		e.steps = append(e.steps, e.nodes[i].step)
	}
	slices.Reverse(e.steps)
	for _, s := range e.steps {
		e.used += one(s.kind != literal)
	}
}
