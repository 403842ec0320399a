package headers

import (
	"math"
	"slices"
	"sync"
)

// The choice of steps: the cheapest way through the next bytes, by prices of the model as it is before them.

const (
	window    = 1 << 9 // bytes for which steps are chosen at once
	priceBits = 4      // prices are in units of 2^-4 bits
	priceStep = 4      // bits of a probability that prices ignore
	never     = math.MaxUint32 / 2
	few       = 3
	refresh   = 48 // steps with a distance after which their prices are made anew
)

// priceOf is the price of a bit by the probability of that bit.
var priceOf = func() (t [1 << (probBits - priceStep)]uint32) {
	for i := range t {
		p := (float64(i) + 0.5) * (1 << priceStep) / (1 << probBits)
		t[i] = uint32(math.Round(-math.Log2(p) * (1 << priceBits)))
	}
	return t
}()

func price0(p prob) uint32 { return priceOf[p>>priceStep] }
func price1(p prob) uint32 { return priceOf[(1<<probBits-1-p)>>priceStep] }

func price(p prob, b uint32) uint32 {
	if b == 0 {
		return price0(p)
	}
	return price1(p)
}

func treePrice(p []prob, v uint32, bits int) (sum uint32) {
	for m := uint32(1); bits > 0; {
		bits--
		b := v >> bits & 1
		sum += price(p[m], b)
		m = m<<1 | b
	}
	return sum
}

func reversePrice(p []prob, v uint32, bits int) (sum uint32) {
	for m := uint32(1); bits > 0; bits-- {
		b := v & 1
		v >>= 1
		sum += price(p[m], b)
		m = m<<1 | b
	}
	return sum
}

type lenPrices [maxMatch + 1]uint32

func (t *lenPrices) fill(l *lens) {
	low := price0(l.choice)
	mid := price1(l.choice) + price0(l.choice2)
	high := price1(l.choice) + price1(l.choice2)
	for v := range uint32(lowLens) {
		t[minMatch+v] = low + treePrice(l.low[:], v, 3)
		t[minMatch+lowLens+v] = mid + treePrice(l.mid[:], v, 3)
	}
	for v := range uint32(enough - minMatch - 2*lowLens) {
		t[minMatch+2*lowLens+v] = high + treePrice(l.high[:], v, 8)
	}
}

// node is the cheapest way to a byte.
type node struct {
	price uint32
	step  step // the last one
	position
}

type encoder struct {
	finder
	coder rangeCoder
	nodes [window + maxMatch + 1]node
	steps []step
	found []match

	lens, repLens lenPrices
	slots         [lenStates][1 << slotBits]uint32
	near          [lenStates][fullDist]uint32
	align         [1 << alignBits]uint32
	next          match // at nextAt
	nextAt        int
	used          int // steps with a distance since the prices were made
}

// primed is a finder that has read the dictionary.
var primed = sync.OnceValue(func() *finder {
	f := &finder{buf: []byte(dictionary1), prev: make([]uint32, len(dictionary1))}
	for i := range f.buf {
		f.insert(i)
	}
	return f
})

// empty is a finder that has read nothing. It never changes.
var empty finder

// begin starts a block. The part of buf and prev that belongs to the dictionary stays as it is.
func (e *encoder) begin(src []byte, number uint32) {
	d := &empty
	if number != None {
		d = primed()
	}
	if e.from != len(d.buf) || len(e.buf) < e.from {
		e.from = len(d.buf)
		e.buf = append(e.buf[:0], d.buf...)
		e.prev = append(e.prev[:0], d.prev...)
	}
	e.head4, e.head3, e.head2 = d.head4, d.head3, d.head2
	e.buf = append(e.buf[:e.from], src...)
	e.prev = slices.Grow(e.prev[:e.from], len(src))[:len(e.buf)]
	e.used, e.nextAt = refresh, -1
}

func (e *encoder) prices(m *model) {
	e.lens.fill(&m.lens)
	e.repLens.fill(&m.repLens)
	most, _ := slotOf(uint32(len(e.buf)))
	for i := range e.slots {
		for s := range most + 1 {
			e.slots[i][s] = treePrice(m.slot[i][:], s, slotBits)
			if s >= fullSlots {
				e.slots[i][s] += (s>>1 - 1 - alignBits) << priceBits
			}
		}
	}
	for d := range uint32(fullDist) {
		slot, more := slotOf(d)
		p := uint32(0)
		if more > 0 {
			base := (2 | slot&1) << more
			p = reversePrice(m.special[base-slot:], d-base, more)
		}
		for i := range e.near {
			e.near[i][d] = e.slots[i][slot] + p
		}
	}
	for v := range uint32(len(e.align)) {
		e.align[v] = reversePrice(m.align[:], v, alignBits)
	}
	e.used = 0
}

func (e *encoder) distPrice(d uint32, n int) uint32 {
	i := lenState(n)
	if d < fullDist {
		return e.near[i][d]
	}
	slot, _ := slotOf(d)
	return e.slots[i][slot] + e.align[d&(1<<alignBits-1)]
}

func (e *encoder) literalPrice(m *model, at int, p *node) (sum uint32) {
	before := byte(0)
	if at > 0 {
		before = e.buf[at-1]
	}
	q, v, k := m.literals(before), uint32(1), 8
	b := uint32(e.buf[at])
	if p.state >= literalStates {
		other := uint32(e.buf[at-1-int(p.reps[0])])
		for k > 0 {
			k--
			o, bit := other>>k&1, b>>k&1
			sum += price(q[(1+o)<<8+v], bit)
			v = v<<1 | bit
			if o != bit {
				break
			}
		}
	}
	for k > 0 {
		k--
		bit := b >> k & 1
		sum += price(q[v], bit)
		v = v<<1 | bit
	}
	return sum
}

// parse sets steps to the cheapest ones from a byte on, up to the next where all ways meet, or to the end of the window.
// It inserts the bytes of these steps into the finder.
func (e *encoder) parse(m *model, at int, p position) {
	if e.used >= refresh {
		e.prices(m)
	}
	end := min(window, len(e.buf)-at)
	e.nodes[0] = node{position: p}
	reach := 0 // the last node with a price
	extend := func(to int) {
		for reach < to {
			reach++
			e.nodes[reach].price = never
		}
	}
	i := 0
	for {
		n := &e.nodes[i]
		if i > 0 {
			// A place inside a long repeat may have no way to it. Its step is that of an earlier
			// window, and the window must not end there.
			if n.price < never {
				n.position = e.nodes[i-int(n.step.n)].after(n.step)
				if i == reach || i >= end {
					break
				}
			}
			if n.price >= e.nodes[reach].price {
				e.insert(at + i)
				i++
				continue
			}
		}
		pos := at + i
		left := min(len(e.buf)-pos, maxMatch)
		e.found = e.find(e.found[:0], pos, tries, enough)
		e.insert(pos)
		extend(i + 1)
		offer := func(to int, price uint32, s step) {
			if t := &e.nodes[to]; price < t.price {
				t.price, t.step = price, s
			}
		}
		offer(i+1, n.price+price0(m.match[n.state])+e.literalPrice(m, pos, n), step{1, isLiteral, 0})
		any := n.price + price1(m.match[n.state])
		rep := any + price1(m.rep[n.state])
		longest := 0
		for k, d := range n.reps {
			from := pos - 1 - int(d)
			if from < 0 || e.buf[from] != e.buf[pos] {
				continue
			}
			var base uint32
			switch k {
			case 0:
				base = rep + price0(m.rep0[n.state])
				offer(i+1, base+price0(m.rep0Long[n.state]), step{1, isShort, 0})
				base += price1(m.rep0Long[n.state])
			case 1:
				base = rep + price1(m.rep0[n.state]) + price0(m.rep1[n.state])
			default:
				base = rep + price1(m.rep0[n.state]) + price1(m.rep1[n.state]) + price(m.rep2[n.state], uint32(k-2))
			}
			c := common(e.buf[from:], e.buf[pos:pos+left])
			if c < minMatch {
				continue
			}
			extend(i + c)
			for l := c; l >= max(minMatch, c-few); l-- {
				offer(i+l, base+e.repLens[l], step{int32(l), int32(k), 0})
			}
			longest = max(longest, c)
		}
		if longest < enough && len(e.found) > 0 {
			base := any + price0(m.rep[n.state])
			l := minMatch
			extend(i + e.found[len(e.found)-1].n)
			for _, f := range e.found {
				l = max(l, f.n-few)
				for ; l <= f.n; l++ {
					offer(i+l, base+e.lens[l]+e.distPrice(f.dist, l), step{int32(l), isMatch, f.dist})
				}
			}
			longest = max(longest, l-1)
		}
		if longest >= enough { // take it
			i += longest
			n := &e.nodes[i]
			n.position = e.nodes[i-int(n.step.n)].after(n.step)
			for j := 1; j < longest; j++ {
				e.insert(pos + j)
			}
			break
		}
		i++
	}
	// The steps, from the last to the first.
	e.steps = e.steps[:0]
	for j := i; j > 0; j -= int(e.nodes[j].step.n) {
		s := e.nodes[j].step
		if s.kind >= 0 {
			e.used++
		}
		e.steps = append(e.steps, s)
	}
	for a, b := 0, len(e.steps)-1; a < b; a, b = a+1, b-1 {
		e.steps[a], e.steps[b] = e.steps[b], e.steps[a]
	}
}
