package contexts

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// mask sets the active elements of a row. It reports false if there are none.
func (c *rowCoder) mask(masked []uint64, row int) bool {
	c.active = nil
	if masked == nil {
		return true
	}
	i, step := c.shape.at(row)
	if step == 1 {
		if n := count(masked, i, c.shape.row); n == 0 || n == c.shape.row {
			return n == 0
		}
	}
	c.buffer = entropy.Grow(c.buffer, c.stride)
	c.active = c.buffer
	done := 0
	if step == 1 {
		var starts [stripes]int
		for q, at := range c.starts {
			starts[q] = i + at
		}
		if kernels.Active(c.active, masked, &starts, c.seg) {
			done = c.seg
		}
	}
	for q, at := range c.starts {
		i := i + (at+done)*step
		for j := done; j < c.length(q); j++ {
			c.active[j*stripes+q] = uint16(masked[i>>6]>>(i&63)&1) - 1
			i += step
		}
	}
	if c.longer > 0 {
		clear(c.active[c.seg*stripes+c.longer : (c.seg+1)*stripes])
	}
	return true
}

// count returns how many of n bits from bit at on are set.
func count(w []uint64, at, n int) (sum int) {
	first, last := at>>6, (at+n-1)>>6
	for i := first; i <= last; i++ {
		sum += bits.OnesCount64(w[i])
	}
	sum -= bits.OnesCount64(w[first] & (1<<(at&63) - 1))
	return sum - bits.OnesCount64(w[last]&^(^uint64(0)>>(63-(at+n-1)&63)))
}

// skip sets the marks and magnitudes of a row of which all elements are masked.
func (c *rowCoder) skip(row int) {
	at, north := c.at(row), c.rowBefore(row, 1)
	before := c.mags[north : north+stripes]
	for j := range (c.shape.row + stripes - 1) / stripes {
		copy(c.mags[at+j*stripes:], before)
	}
	marks := c.marks[at : at+(c.shape.row+stripes-1)/stripes*stripes]
	for i := range marks {
		marks[i] = none << kernels.SignShift
	}
	kernels.Edges(c.mags, c.marks, at, c.seg, c.longer)
}
