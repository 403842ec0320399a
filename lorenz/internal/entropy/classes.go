package entropy

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// symbolCosts holds the costs of the symbols of a stream with their extra bits, in
// units of 2^-costFrac bits.
type symbolCosts [256]uint32

const costFrac = 4

// set sets c to the costs of symbols with these frequencies. A symbol that does not occur counts
// as an eighth of one.
func (c *symbolCosts) set(freq *[256]uint32, total int) {
	all := scaledLog(uint64(total)*8 + 256)
	rare := min(uint32(all), maxCode<<costFrac)
	for y, f := range freq {
		if c[y] = rare; f > 0 {
			c[y] = min(uint32(all-scaledLog(uint64(f)*8+1)), maxCode<<costFrac)
		}
	}
}

// setValues is set for the symbols of values, whose costs include their extra bits.
func (c *symbolCosts) setValues(freq *[256]uint32, total int) {
	c.set(freq, total)
	for y := maxSym; y < 256; y++ {
		c[y] += uint32(y-lenBase-1) << costFrac
	}
}

// scaledLog approximates the logarithm of v ≥ 1 in units of 2^-costFrac.
func scaledLog(v uint64) int {
	n := bits.Len64(v)
	return (n-1)<<costFrac + int(v<<(64-n)<<1>>(64-costFrac))
}

// classCosts are the costs of values in each stream, and of steps from one class to the
// next.
type classCosts struct {
	values [nStreams]*symbolCosts // in used, or unused
	used   [nStreams]symbolCosts
	steps  symbolCosts
}

// unused are the costs of values in a stream that has none yet.
var unused = func() *symbolCosts {
	c := new(symbolCosts)
	c.setValues(new([256]uint32), 0)
	return c
}()

// refine chooses classes by the bits that the values take with codes that fit these
// classes. It fits the codes to a sample of the groups, which takes several rounds, and
// then chooses the classes of all groups. If the first round saves less than a 512th of the
// bits of the sample, it changes nothing.
func (w *GroupWriter[T]) refine() {
	const part, rounds = 8, 2
	every := part
	if len(w.class) < 32*part {
		every = 1
	}
	w.coarse = append(w.coarse[:0], w.class...)
	for round := range rounds {
		cost := w.costs(every)
		before, after := 0, 0
		for g := 0; g < len(w.class); g += every {
			if w.class[g] > 0 {
				class, now, least := w.cheapest(g, cost)
				w.class[g] = class
				before, after = before+now, after+least
			}
		}
		if after > before-before/512 {
			if round == 0 {
				copy(w.class, w.coarse)
				return
			}
			break
		}
	}
	cost := w.costs(every)
	for g, c := range w.class {
		if c > 0 {
			w.class[g], _, _ = w.cheapest(g, cost)
		}
	}
}

// costs returns the costs with codes that fit one group of every, until the next call.
func (w *GroupWriter[T]) costs(every int) *classCosts {
	var freq [nStreams][256]uint32
	var total [nStreams]int
	var steps [256]uint32
	seen := 0
	for g := 0; g < len(w.class); g += every {
		c := w.class[g]
		steps[c-w.before(g)]++
		seen++
		if c == 0 {
			continue
		}
		s := min(int(c), nStreams) - 1
		k := lowBits(c)
		total[s] += GroupLen
		for _, v := range w.u[g*GroupLen : (g+1)*GroupLen] {
			y, _ := symbolOf(uint64(v >> k))
			freq[s][y]++
		}
	}
	cost := &w.cost
	cost.steps.set(&steps, seen)
	for s := range freq {
		cost.values[s] = unused
		if total[s] > 0 {
			cost.values[s] = &cost.used[s]
			cost.values[s].setValues(&freq[s], total[s])
		}
	}
	return cost
}

// before returns the class of the previous group.
func (w *GroupWriter[T]) before(g int) byte {
	if g == 0 {
		return 0
	}
	return w.class[g-1]
}

// cheapest returns the class in which a group that is not all zeros takes the fewest
// bits, the bits of its present class, and the fewest bits.
func (w *GroupWriter[T]) cheapest(g int, cost *classCosts) (class byte, now, least int) {
	u := (*[GroupLen]T)(w.u[g*GroupLen:])
	var or T
	for _, v := range u {
		or |= v
	}
	class = w.class[g]
	prev := w.before(g)
	// Values of 64 bits are looked at without their lowest bits, which few classes leave to symbols.
	lowest := uint(0)
	narrow, _ := any(u).(*[GroupLen]uint32)
	if narrow == nil {
		lowest = uint(max(bits.Len64(uint64(or))-31, 0)) // vectors price numbers of 31 bits
		narrow = new([GroupLen]uint32)
		for i, v := range u {
			narrow[i] = uint32(v >> lowest)
		}
	}
	bitsOf := func(c byte) int {
		k := lowBits(c)
		table := cost.values[min(c, nStreams)-1]
		sum := uint32(k)*GroupLen<<costFrac + cost.steps[c-prev]
		if k >= lowest && k-lowest < 32 {
			return int(sum + kernels.Price(narrow, k-lowest, (*[256]uint32)(table)))
		}
		for _, v := range u {
			y := uint64(v >> k)
			symbol := uint8(y)
			if large := uint8(lenBase + bits.Len64(y)); y >= maxSym { // without a branch: classes are of any size here
				symbol = large
			}
			sum += table[symbol]
		}
		return int(sum)
	}
	now = bitsOf(class)
	least = now
	better := func(c byte) bool {
		b := bitsOf(c)
		if b < least {
			class, least = c, b
			return true
		}
		return false
	}
	first := class
	if bits.Len64(uint64(or)) > int(first)+6 { // values of very different magnitude
		for c := byte(1); c < first; c++ {
			better(c)
		}
	} else {
		for c := first - 1; c > 0 && better(c); c-- {
		}
	}
	for c := first + 1; int(c) <= int(LaneBits[T]())+2 && better(c); c++ {
	}
	return class, now, least
}
