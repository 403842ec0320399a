package contexts

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// grid is how the rows of a column are stored: in steps of 16 elements, one of each stripe. Only in the last step some
// stripes may have ended, so that the elements of a row come first.
type grid struct {
	shape  Shape
	seg    int          // elements of a stripe, without the one more that the first ones have
	longer int          // how many of these there are
	starts [stripes]int // their first columns
	steps  int          // of a row
	stride int          // elements from row to row, with two steps before and two after each
	active []uint16     // whether the elements of a row are coded: 0 or 0xffff; nil if all are
	buffer []uint16     // for active
}

// set prepares for a column.
func (c *grid) set(s Shape) {
	c.shape = s
	c.seg, c.longer = s.row/stripes, s.row%stripes
	for q := range c.starts {
		c.starts[q] = q*c.seg + min(q, c.longer)
	}
	c.steps = c.seg + min(c.longer, 1)
	c.stride = (c.steps + 2*halo) * stripes
}

// length returns the elements of a stripe.
func (c *grid) length(q int) int {
	if q < c.longer {
		return c.seg + 1
	}
	return c.seg
}

// find returns the stripe of an element of a row, and which one of the stripe it is.
func (c *grid) find(element int) (q, j int) {
	if long := c.longer * (c.seg + 1); element >= long {
		return c.longer + (element-long)/c.seg, (element - long) % c.seg
	}
	return element / (c.seg + 1), element % (c.seg + 1)
}

// mask sets the active elements of a row. It reports false if there are none.
func (c *grid) mask(masked []uint64, row int) bool {
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
