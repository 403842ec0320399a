package matches

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
)

// priceBits: prices are in units of 2^-priceBits bits.
const priceBits = 6

// priceOf is the price of a 1 by its probability in 1/4096.
var priceOf = func() (t [4096]uint32) {
	for i := range t {
		t[i] = uint32(math.Round(-math.Log2((float64(i)+0.5)/4096) * (1 << priceBits)))
	}
	return t
}()

func price1(p arith.Prob) uint32 { return priceOf[p.P12()] }
func price0(p arith.Prob) uint32 { return priceOf[4095-p.P12()] }

func price(p arith.Prob, b uint32) uint32 {
	if b == 0 {
		return price0(p)
	}
	return price1(p)
}

func treePrice(p []arith.Prob, v uint32, n int) (sum uint32) {
	node := uint32(1)
	for i := n - 1; i >= 0; i-- {
		b := v >> i & 1
		sum += price(p[node], b)
		node = node<<1 | b
	}
	return sum
}

func reversePrice(p []arith.Prob, v uint32, n int) (sum uint32) {
	node := uint32(1)
	for i := range n {
		b := v >> i & 1
		sum += price(p[node], b)
		node = node<<1 | b
	}
	return sum
}

// literalPrice returns the price of a byte.
func (m *model) literalPrice(x *context, v uint32) (sum uint32) {
	w := &m.weight[x.kind][x.col]
	node := uint32(1)
	for i := byteBits - 1; i >= 0; i-- {
		p0, p1, p2, p3 := m.probs(x, node, i)
		p := arith.Mix4(w, *p0, *p1, *p2, *p3).P12()
		b := v >> i & 1
		if b == 0 {
			p = 4095 - p
		}
		sum += priceOf[p]
		node = node<<1 | b
	}
	return sum
}

// rankPrice returns the price of one of the distances used last.
func (m *model) rankPrice(history uint32, rank int) uint32 {
	if rank == 0 {
		return price0(m.older[history])
	}
	return price1(m.older[history]) + price(m.oldest[history], uint32(rank-1))
}

// fewPrices is how many of the smallest numbers have a price of their own.
const fewPrices = 1 << (nearSlots / 2)

// prices are the prices of numbers of one sort.
type prices struct {
	few  [fewPrices]uint32
	slot [1 << slotBits]uint32 // of longer numbers, without their lowest bits
	low  [1 << lowBits]uint32
}

// set takes the prices of the slots up to most from a model.
func (p *prices) set(t *numbers, most uint32) {
	for s := range most + 1 {
		p.slot[s] = treePrice(t.slot[:], s, slotBits)
		if s >= nearSlots {
			p.slot[s] += (s>>1 - 1 - lowBits) << priceBits
		}
	}
	for v := range uint32(len(p.few)) {
		s := slotOf(v)
		if s > most {
			break
		}
		p.few[v] = p.slot[s]
		if s >= 4 {
			p.few[v] += reversePrice(t.near[s][:], v, int(s>>1)-1)
		}
	}
	for v := range uint32(len(p.low)) {
		p.low[v] = reversePrice(t.low[:], v, lowBits)
	}
}

func (p *prices) of(v uint32) uint32 {
	if v < fewPrices {
		return p.few[v]
	}
	return p.slot[slotOf(v)] + p.low[v%(1<<lowBits)]
}
