package matches

import (
	"math"
	"math/bits"

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

// treePrices returns the prices of all numbers of n bits, most significant bit first, from element 1<<n on. Before these
// are those of their first bits.
func treePrices(t *[1 << slotBits * 2]uint32, p []arith.Prob, n int) []uint32 {
	t[1] = 0
	for node := 1; node < 1<<n; node++ {
		t[2*node], t[2*node+1] = t[node]+price0(p[node]), t[node]+price1(p[node])
	}
	return t[1<<n : 2<<n]
}

// literalPrice returns the price of a byte.
func (m *model) literalPrice(x *context, v uint32) (sum uint32) {
	w, t := &m.weight[x.kind][x.col], &m.tables
	node := uint32(1)
	for i := byteBits - 1; i >= 0; i-- {
		p := arith.Mix4(w, t.peek(0, x.keys[0], node), t.peek(1, x.keys[1], node), t.peek(2, x.keys[2], node), *m.agreed(x, node, i)).P12()
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
	var tree [1 << slotBits * 2]uint32
	copy(p.slot[:most+1], treePrices(&tree, t.slot[:], slotBits))
	copy(p.few[:4], p.slot[:])
	for s := range most + 1 {
		if s < 4 || s >= nearSlots {
			continue
		}
		n := int(s>>1) - 1
		first := (2 | s&1) << n
		for low, price := range treePrices(&tree, t.near[s][:], n) { // coded from the lowest bit on
			p.few[first|bits.Reverse32(uint32(low))>>(32-n)] = p.slot[s] + price
		}
	}
	for s := uint32(nearSlots); s <= most; s++ {
		p.slot[s] += (s>>1 - 1 - lowBits) << priceBits
	}
	for low, price := range treePrices(&tree, t.low[:], lowBits) {
		p.low[bits.Reverse32(uint32(low))>>(32-lowBits)] = price
	}
}

func (p *prices) of(v uint32) uint32 {
	if v < fewPrices {
		return p.few[v]
	}
	return p.slot[slotOf(v)] + p.low[v%(1<<lowBits)]
}
