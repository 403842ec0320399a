package contexts

import (
	"encoding/binary"
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// rowCoder decodes the classes and signs of rows.
type rowCoder struct {
	grid
	ring  int // rows in mags and marks
	row   kernels.Row
	list  []tap  // neighbours in earlier rows with a weight
	words []byte // which are left
	last  bool   // words are the last ones, with others after them
	ends  [4 * spare]byte
	mags  []float32 // magnitudes: 16 for each step, and two steps before and after a row
	marks []uint16  // sign << kernels.SignShift | class, likewise
	sums  []float32 // of the neighbours of a row in earlier rows
	line  []uint16  // marks of a row, in order
}

// begin prepares to decode a column.
func (c *rowCoder) begin(h *head, s Shape, p parts) bool {
	c.words = p.words
	c.row = kernels.Row{Slots: &h.tables[0], Signs: h.signs, Bounds: h.bounds, Count: h.count}
	for i := range c.row.States {
		c.row.States[i] = binary.LittleEndian.Uint32(p.states[4*i:])
		if c.row.States[i] < leastState {
			return false
		}
	}
	for i := range c.row.W {
		c.row.W[i], c.row.WW[i] = h.w, h.ww
	}
	c.last = false
	c.set(s)
	var buf [mostTaps]tap
	taps := s.taps(buf[:0])
	c.list = c.list[:0]
	for _, i := range h.used {
		c.list = append(c.list, taps[i])
	}
	c.ring = ring(s)
	size := c.ring*c.stride + slack
	c.mags, c.marks = entropy.Grow(c.mags, size), entropy.Grow(c.marks, size)
	last := c.at(c.ring-1) - halo*stripes // row -1
	clear(c.mags[last : last+c.stride])
	for i := range c.marks[last : last+c.stride] {
		c.marks[last+i] = none << kernels.SignShift
	}
	return true
}

// slack is how many elements after the last row kernels may read.
const slack = 64

// ring returns how many rows are kept.
func ring(s Shape) int { return [...]int{0, 2, 3, s.plane + 2}[s.dims] }

// at returns the place of the first element of a row in mags and marks.
func (c *rowCoder) at(row int) int { return row%c.ring*c.stride + halo*stripes }

// rowBefore returns the place of the row that is some rows before another one.
func (c *rowCoder) rowBefore(row, rows int) int {
	if row = before(row, rows); row < 0 {
		row = c.ring - 1
	}
	return c.at(row)
}

// spare is how many bytes of words a step may take.
const spare = 2 * stripes

// ready sees to it that a step can read words without looking where they end. It reports false if they have ended.
func (c *rowCoder) ready() bool {
	if len(c.words) >= spare {
		return true
	}
	if c.last {
		return false
	}
	c.lastWords()
	return true
}

// lastWords moves the words to where others follow.
func (c *rowCoder) lastWords() {
	c.last = true
	c.words = c.ends[:copy(c.ends[:], c.words)+spare]
}

// ended reports whether the words end as they must.
func (c *rowCoder) ended() bool {
	for _, x := range c.row.States {
		if x != leastState {
			return false
		}
	}
	left := len(c.words)
	if c.last {
		left -= spare
	}
	return left == 0
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
		k.West[q] = 5 * none
	}
	steps := c.steps
	var from [mostTaps][]float32
	for i, t := range c.list {
		from[i] = c.mags[c.rowBefore(row, t.rows)+t.col*stripes:]
	}
	c.sums = entropy.Grow(c.sums, steps*stripes)
	kernels.Neighbours(c.sums, from[:len(c.list)], h.factors)
	if len(c.words) <= len(c.ends)-spare && !c.last {
		c.lastWords()
	}
	done := 0
	if len(c.words) > 0 {
		k.Sums, k.Mags, k.Marks, k.North, k.Below = &c.sums[0], &c.mags[at], &c.marks[at], &c.marks[north], &c.marks[below]
		k.N, k.Active, k.Tail = c.seg, nil, nil
		if c.active != nil {
			k.N, k.Active = steps, &c.active[0]
		} else if c.longer > 0 {
			k.Tail = &tails[c.longer][0]
		}
		k.Words, k.Left = &c.words[0], len(c.words)
		done = k.Steps()
		c.words = c.words[len(c.words)-k.Left:]
	}
	for j := done; j < steps; j++ {
		if !c.ready() {
			return false
		}
		width := stripes
		if j == c.seg {
			width = c.longer
		}
		c.step(h, j, width, at, north, below)
	}
	kernels.Edges(c.mags, c.marks, at, c.seg, c.longer)
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
func (c *rowCoder) step(h *head, j, width, at, north, below int) {
	k, o := &c.row, j*stripes
	sums := (*[stripes]float32)(c.sums[o:])
	mags, marks := (*[stripes]float32)(c.mags[at+o:]), (*[stripes]uint16)(c.marks[at+o:])
	n, nw, b := (*[stripes]uint16)(c.marks[north+o:]), (*[stripes]uint16)(c.marks[north+o-stripes:]), (*[stripes]uint16)(c.marks[below+o:])
	words, used := (*[spare]byte)(c.words), 0
	for q := range min(width, stripes) {
		if c.active != nil && c.active[o+q] == 0 {
			mags[q], marks[q] = k.M1[q], none<<kernels.SignShift
			k.M2[q], k.West[q] = k.M1[q], 5*none
			continue
		}
		// Products are exact, so that it does not matter whether they are fused with sums.
		v := sums[q] + h.ww*k.M2[q]
		v += 1
		v += h.w * k.M1[q]
		x := k.States[q]
		t := h.tables[h.lut[(math.Float32bits(v)>>19-octaves)%expectRange]+x%slots]
		x = (t>>logSlots%slots+1)*(x>>logSlots) + t%slots
		m := t >> 22 // 254 more than the class, or 0
		context := 9*(n[q]>>kernels.SignShift) + 3*(b[q]>>kernels.SignShift) + nw[q]>>kernels.SignShift
		p := h.signs[context%32] >> (k.West[q] + m>>8<<4) % signSlots
		some := uint32(-int32(m) >> 31) // all bits or none
		z := x % signSlots
		// Class 0 is as if positive and sure.
		p &= some
		neg := uint32(int32(z-p) >> 31)
		part := signSlots - p
		part ^= (part ^ p) & neg
		x = part*(x>>logSign) + z - p&^neg
		sign := positive&^neg&some | none&^some
		need := uint32(int32(x>>16-1) >> 31)
		x = x<<(need&16) | uint32(binary.LittleEndian.Uint16(words[used%spare:]))&need
		used += int(need & 2)
		k.States[q] = x
		k.M2[q], k.M1[q] = k.M1[q], math.Float32frombits(m<<22)
		k.West[q] = 5 * sign
		mags[q], marks[q] = k.M1[q], uint16(sign<<kernels.SignShift|(m-254)&some)
	}
	c.words = c.words[used:]
}

// skip sets the marks and magnitudes of a row of which all elements are masked.
func (c *rowCoder) skip(row int) {
	at, north := c.at(row), c.rowBefore(row, 1)
	before := c.mags[north : north+stripes]
	for j := range c.steps {
		copy(c.mags[at+j*stripes:], before)
	}
	marks := c.marks[at : at+c.steps*stripes]
	for i := range marks {
		marks[i] = none << kernels.SignShift
	}
	kernels.Edges(c.mags, c.marks, at, c.seg, c.longer)
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
