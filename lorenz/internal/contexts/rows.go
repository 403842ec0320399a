package contexts

import (
	"encoding/binary"
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// rowCoder decodes the classes and signs of rows.
type rowCoder struct {
	shape  Shape
	stride int // of a row in mags and marks
	ring   int // rows in them
	row    kernels.Row
	list   []tap     // neighbours in earlier rows with a weight
	words  []byte    // which are left
	mags   []float32 // magnitudes: 16 for each step, and two steps before and after a row
	marks  []uint16  // sign << 8 | class, likewise
	active []uint16  // whether the elements of a row are coded: 0 or 0xffff; nil if all are
	buffer []uint16  // for active
	line   []uint16  // marks of a row, in order
	starts [stripes]int
	seg    int // elements of a stripe, without the one more that the first ones have
	longer int // how many of these there are
}

// begin prepares to decode a column.
func (c *rowCoder) begin(h *head, s Shape, p parts) bool {
	c.words = p.words
	c.row = kernels.Row{Lut: &h.lut, Slots: &h.tables[0], Signs: &h.signs, Taps: len(h.used)}
	for i := range c.row.States {
		c.row.States[i] = binary.LittleEndian.Uint32(p.states[4*i:])
		if c.row.States[i] < leastState {
			return false
		}
	}
	c.row.Factors[0], c.row.Factors[1] = h.w, h.ww
	copy(c.row.Factors[2:], h.factors)
	c.shape = s
	taps := s.taps()
	c.list = c.list[:0]
	for _, i := range h.used {
		c.list = append(c.list, taps[i])
	}
	c.seg, c.longer = s.steps()
	for q := range c.starts {
		c.starts[q] = q*c.seg + min(q, c.longer)
	}
	c.stride, c.ring = storage(s)
	size := c.ring*c.stride + slack
	c.mags, c.marks = entropy.Grow(c.mags, size), entropy.Grow(c.marks, size)
	last := c.at(c.ring-1) - halo*stripes // row -1
	clear(c.mags[last : last+c.stride])
	for i := range c.marks[last : last+c.stride] {
		c.marks[last+i] = none << 8
	}
	return true
}

// slack is how many elements after the last row kernels may read.
const slack = 64

// storage returns the elements that a row takes in the ring, and its rows.
func storage(s Shape) (stride, ring int) {
	seg, longer := s.steps()
	if longer > 0 {
		seg++
	}
	return (seg + 2*halo) * stripes, [...]int{0, 2, 3, s.plane + 2}[s.dims]
}

// at returns the place of the first element of a row in mags and marks.
func (c *rowCoder) at(row int) int { return row%c.ring*c.stride + halo*stripes }

// rowBefore returns the place of the row that is some rows before another one.
func (c *rowCoder) rowBefore(row, rows int) int {
	if row = before(row, rows); row < 0 {
		row = c.ring - 1
	}
	return c.at(row)
}

// ended reports whether the words end as they must.
func (c *rowCoder) ended() bool {
	for _, x := range c.row.States {
		if x != leastState {
			return false
		}
	}
	return len(c.words) == 0
}

// length returns the elements of a stripe.
func (c *rowCoder) length(q int) int {
	if q < c.longer {
		return c.seg + 1
	}
	return c.seg
}

// decode decodes the classes and signs of a row.
func (c *rowCoder) decode(h *head, row int) bool {
	k := &c.row
	at, north := c.at(row), c.rowBefore(row, 1)
	below := north
	if c.shape.dims > 1 {
		below = c.rowBefore(row, c.shape.below())
	}
	copy(k.M1[:], c.mags[north:])
	k.M2 = k.M1
	for q := range k.West {
		k.West[q] = 27 * none
	}
	var from [mostTaps]int
	for i, t := range c.list {
		from[i] = c.rowBefore(row, t.rows) + t.col*stripes
	}
	done := 0
	if len(c.words) > 0 {
		k.Mags, k.Marks, k.North, k.Below = &c.mags[at], &c.marks[at], &c.marks[north], &c.marks[below]
		k.Active = nil
		if c.active != nil {
			k.Active = &c.active[0]
		}
		for i := range c.list {
			k.From[i] = &c.mags[from[i]]
		}
		k.N, k.Words, k.Left = c.seg, &c.words[0], len(c.words)
		done = k.Steps()
		c.words = c.words[len(c.words)-k.Left:]
		if done == c.seg && c.longer > 0 && len(c.words) > 0 {
			// The other stripes are as if masked. What that writes is replaced by edges.
			o := done * stripes
			k.Mags, k.Marks, k.North, k.Below = &c.mags[at+o], &c.marks[at+o], &c.marks[north+o], &c.marks[below+o]
			k.Active = &tails[c.longer][0]
			if c.active != nil {
				k.Active = &c.active[o]
			}
			for i := range c.list {
				k.From[i] = &c.mags[from[i]+o]
			}
			k.N, k.Words = 1, &c.words[0]
			done += k.Steps()
			c.words = c.words[len(c.words)-k.Left:]
		}
	}
	for j := done; j < c.seg; j++ {
		if !c.step(h, j, stripes, at, north, below, &from) {
			return false
		}
	}
	if done <= c.seg && c.longer > 0 && !c.step(h, c.seg, c.longer, at, north, below, &from) {
		return false
	}
	c.edges(at)
	return true
}

// tails are the active stripes in the last step of rows, for each number of longer stripes.
var tails = func() (t [stripes][stripes]uint16) {
	for n := range t {
		for q := range n {
			t[n][q] = 0xffff
		}
	}
	return t
}()

// step decodes the elements j of the first stripes of a row. What differs from element to element is computed
// without branches, which would be predicted badly.
func (c *rowCoder) step(h *head, j, width, at, north, below int, from *[mostTaps]int) bool {
	k, o := &c.row, j*stripes
	var sums [stripes]float32
	for i, factor := range h.factors {
		addTimes(sums[:], c.mags[from[i]+o:], factor)
	}
	mags, marks := (*[stripes]float32)(c.mags[at+o:]), (*[stripes]uint16)(c.marks[at+o:])
	n, nw, b := (*[stripes]uint16)(c.marks[north+o:]), (*[stripes]uint16)(c.marks[north+o-stripes:]), (*[stripes]uint16)(c.marks[below+o:])
	words, used := c.words, 0
	plenty := len(words) >= 2*stripes
	for q := range min(width, stripes) {
		if c.active != nil && c.active[o+q] == 0 {
			mags[q], marks[q] = k.M1[q], none<<8
			k.M2[q], k.West[q] = k.M1[q], 27*none
			continue
		}
		// Products are exact, so that it does not matter whether they are fused with sums.
		v := sums[q] + h.ww*k.M2[q]
		v += 1
		v += h.w * k.M1[q]
		x := k.States[q]
		t := h.tables[h.lut[(math.Float32bits(v)>>19-octaves)%expectRange]+x%slots]
		class := t & 0xff
		x = t>>20*(x>>logSlots) + t>>8&0xfff
		context := k.West[q] + 9*uint32(n[q]>>8) + 3*uint32(b[q]>>8) + uint32(nw[q]>>8)
		p := h.signs[(4*context+min(class, 2))%uint32(len(h.signs))]
		z := x % signSlots
		neg, some := uint32(int32(z-p)>>31), uint32(-int32(class)>>31) // all bits or none
		part := signSlots - p
		part ^= (part ^ p) & neg
		x = part*(x>>logSign) + z - p&^neg
		sign := positive&^neg&some | none&^some
		if need := uint32(int32(x>>16-1) >> 31); plenty {
			x = x<<(need&16) | uint32(binary.LittleEndian.Uint16(words[used:]))&need
			used += int(need & 2)
		} else if need != 0 {
			if len(words)-used < 2 {
				return false
			}
			x = x<<16 | uint32(binary.LittleEndian.Uint16(words[used:]))
			used += 2
		}
		k.States[q] = x
		k.M2[q], k.M1[q] = k.M1[q], magnitudes[class%128]
		k.West[q] = 27 * sign
		mags[q], marks[q] = k.M1[q], uint16(sign<<8|class)
	}
	c.words = words[used:]
	return true
}

// addTimes adds a multiple of from to sums.
func addTimes(sums, from []float32, factor float32) {
	from = from[:len(sums)]
	for i, v := range from {
		sums[i] += factor * v
	}
}

// inOrder returns the marks of a row.
func (c *rowCoder) inOrder(row int) []uint16 {
	marks := c.marks[c.at(row):]
	c.line = entropy.Grow(c.line, c.shape.row)
	done := 0
	if kernels.Stripes(c.line, &c.starts, marks, c.seg) {
		done = c.seg
	}
	for q, at := range c.starts {
		line := c.line[at : at+c.length(q)]
		for j := done; j < len(line); j++ {
			line[j] = marks[j*stripes+q]
		}
	}
	return c.line
}

// edges copies the columns next to each stripe of a row beside it.
func (c *rowCoder) edges(at int) {
	long := c.longer
	for k := 1; k <= halo; k++ {
		// Of the stripe before, the last elements; of the first one, its first.
		to, from := at-k*stripes, at+(c.seg-k)*stripes
		c.mags[to], c.marks[to] = c.mags[at], c.marks[at]
		c.move(to+1, from+stripes, long)
		c.move(to+1+long, from+long, stripes-1-long)
	}
	for k := range halo {
		// Of the stripe after, the first elements; of the last one, its last.
		from, end := at+k*stripes, at+(c.seg+k)*stripes
		c.move(end+long, from+long+1, stripes-1-long)
		c.move(end+stripes, from+1, long)
		last := at + c.seg*stripes - 1
		c.mags[end+stripes-1], c.marks[end+stripes-1] = c.mags[last], c.marks[last]
	}
}

// move copies n elements.
func (c *rowCoder) move(to, from, n int) {
	copy(c.mags[to:to+n], c.mags[from:from+n])
	copy(c.marks[to:to+n], c.marks[from:from+n])
}
