package text

import "math/bits"

// Costs are in units of 2^-costFrac bits.
const costFrac = 6

// log2 approximates the logarithm of v ≥ 1 as a cost.
func log2(v int) int32 {
	n := bits.Len64(uint64(v))
	return int32(n-1)<<costFrac + int32(uint64(v)<<(64-n)<<1>>(64-costFrac))
}

// numberCosts are the costs of numbers of a stream.
type numberCosts [256]int32

// of returns the cost of a number.
func (c *numberCosts) of(v uint64) int32 {
	if v < 192 {
		return c[v]
	}
	return c[184+bits.Len64(v)]
}

// numberFreq counts numbers of a stream.
type numberFreq [256]int

func (f *numberFreq) add(v uint64) {
	if v < 192 {
		f[v]++
	} else {
		f[184+bits.Len64(v)]++
	}
}

// costs returns the costs that fit the numbers counted.
func (f *numberFreq) costs() (c numberCosts) {
	total := 0
	for _, n := range f {
		total += n
	}
	for y, n := range f {
		c[y] = min(log2(8*total+64)-log2(8*n+1), 11<<costFrac)
		if y >= 192 {
			c[y] += int32(y-185) << costFrac
		}
	}
	return c
}
