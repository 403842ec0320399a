package contexts

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// Decoder decodes blocks. It keeps its memory from block to block.
type Decoder[T entropy.Lane] struct {
	head
	coder rowCoder
	line  []T // a row of a turned block
}

// Decode sets r to the residuals of all elements, those of masked ones to 0. masked has a bit for each element, or
// is nil if none is masked. It also reports false after a stop.
func (d *Decoder[T]) Decode(in *entropy.Reader, r []T, s Shape, masked []uint64, stop *entropy.Stop) bool {
	c := &d.coder
	if !s.Valid() || !d.read(in, s, int(entropy.LaneBits[T]())) || !c.begin(in, &d.head) {
		return false
	}
	low := lowReader{buf: in.Buf}
	in.Buf = nil
	for g := range s.rows {
		if !c.mask(masked, g) {
			c.skip(g)
		} else if !c.decode(&d.head, g) {
			return false
		}
		if stop.After(rowTime * s.row) {
			return false
		}
		line := r
		if s.turned {
			d.line = entropy.Grow(d.line, s.row)
			line = d.line
		} else {
			line = r[g*s.row:]
		}
		residuals(line[:s.row], c.inOrder(g), d.zeros, g*s.row, max(1, int(lowBits(uint8(d.last)))), &low)
		if s.turned {
			for i, v := range line {
				r[i*s.rows+g] = v
			}
		}
	}
	return c.ended() && low.ended()
}

// rowTime is about how many nanoseconds an element takes.
const rowTime = 8

// head is what precedes the residuals.
type head struct {
	shape   Shape
	list    []tap // with a weight that is not 0
	factors []float32
	w, ww   float32
	lut     [expectRange]uint32 // for each E, the first slot of its table
	tables  []uint32            // for each slot: slots of its class << 20 | slots of the class before this one << 8 | class
	signs   [81 * 4]uint32      // for each sign context: all slots, p for class 1, p for others
	zeros   []uint8             // trailing zeros of each group of positions, or nil
	last    int                 // the highest class of all tables
	levels  [2 * 64]int
}

// read reads the head of a block with lanes of width bits.
func (h *head) read(in *entropy.Reader, s Shape, width int) bool {
	options := in.Byte()
	h.shape = s
	taps := s.taps()
	w := in.Bytes(2 + len(taps))
	count := int(in.Byte())
	if in.Bad || options&^hasZeros != 0 || count < 1 || count > mostTables {
		return false
	}
	h.w, h.ww = float32(w[0]), float32(w[1])
	h.list, h.factors = h.list[:0], h.factors[:0]
	for i, t := range taps {
		if w[2+i] != 0 {
			h.list, h.factors = append(h.list, t), append(h.factors, float32(w[2+i]))
		}
	}
	from := 0
	for k := range count {
		to := expectRange
		if k < count-1 {
			if to = in.Int(expectRange - 1); to <= from {
				return false
			}
		}
		for e := from; e < to; e++ {
			h.lut[e] = uint32(k << logSlots)
		}
		from = to
	}
	b := bitReader{buf: in.Buf}
	h.last = 0
	h.tables = entropy.Grow(h.tables, count*slots)
	for k := range count {
		if !h.table(&b, h.tables[k*slots:(k+1)*slots], 2*width) {
			return false
		}
	}
	for i := range s.signs() {
		h.signs[4*i] = signSlots
		for k := 1; k < 3; k++ {
			p := uint32(signSlots / 2)
			if b.get(1) != 0 {
				if p = b.get(logSign); p == 0 {
					return false
				}
			}
			h.signs[4*i+k] = p
		}
	}
	if s.dims == 1 { // the other three signs are always none
		for w := 2; w >= 0; w-- {
			copy(h.signs[4*(27*w+9+3+1):][:4], h.signs[4*w:4*w+4])
		}
	}
	if h.zeros = h.zeros[:0]; options&hasZeros != 0 {
		k, t := b.get(3), 0
		for range (s.N() + entropy.GroupLen - 1) / entropy.GroupLen {
			if t += b.difference(uint(k)); t < 0 || t >= width {
				return false
			}
			h.zeros = append(h.zeros, uint8(t))
		}
	}
	in.Bytes((b.pos + 7) / 8)
	return !in.Bad
}

// table reads a table of slots for some classes.
func (h *head) table(b *bitReader, t []uint32, classes int) bool {
	first, count := int(b.get(7)), int(b.get(7))+1
	if first+count > classes {
		return false
	}
	levels := h.levels[:count]
	if count > 1 {
		k, level := uint(b.get(3)), firstLevel
		for i := range levels {
			if level += b.difference(k); level < 0 || level > mostLevel {
				return false
			}
			levels[i] = level
		}
	}
	var sizes [128]int
	if !share(levels, &sizes) {
		return false
	}
	h.last = max(h.last, first+count-1)
	for i, n := range sizes[:count] {
		entry := uint32(n<<20 | (first + i))
		part := t[:n]
		for k := range part {
			part[k] = entry
			entry += 1 << 8
		}
		t = t[n:]
	}
	return true
}

// share sets the slots of classes from their levels. It reports false if they are too many.
func share(levels []int, sizes *[128]int) bool {
	sum, top := 0, 0
	for i, v := range levels {
		sizes[i] = slotsOf(v)
		sum += sizes[i]
		if v > levels[top] {
			top = i
		}
	}
	if len(levels) == 1 {
		sum, sizes[0] = 0, 0
	}
	sizes[top] += slots - sum
	return sizes[top] > 0
}

// rowCoder decodes the classes and signs of rows.
type rowCoder struct {
	shape  Shape
	stride int // of a row in mags and marks
	ring   int // rows in them
	row    kernels.Row
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

// begin reads states and words.
func (c *rowCoder) begin(in *entropy.Reader, h *head) bool {
	s := h.shape
	states := in.Bytes(4 * stripes)
	n := in.Int(len(in.Buf) / 2)
	c.words = in.Bytes(2 * n)
	if in.Bad {
		return false
	}
	c.row = kernels.Row{Lut: &h.lut, Slots: &h.tables[0], Signs: &h.signs, Taps: len(h.list)}
	for i := range c.row.States {
		c.row.States[i] = binary.LittleEndian.Uint32(states[4*i:])
		if c.row.States[i] < leastState {
			return false
		}
	}
	c.row.Factors[0], c.row.Factors[1] = h.w, h.ww
	copy(c.row.Factors[2:], h.factors)
	c.shape = s
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

// Memory bounds the bytes that a new decoder allocates for blocks of this shape.
func Memory(s Shape, size int) int64 {
	if !s.Valid() {
		return 0
	}
	stride, ring := storage(s)
	memory := int64(ring*stride+slack)*6 + int64(stride)*4 + mostTables*slots*4 + 16<<10
	return memory + int64(s.N()/entropy.GroupLen*5/4) + int64(s.row*max(size, 4))
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
	for q := range stripes {
		for j := range c.length(q) {
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
		marks[i] = none << 8
	}
	c.edges(at)
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
	for i, t := range h.list {
		from[i] = c.rowBefore(row, t.rows) + t.col*stripes
	}
	done := 0
	if len(c.words) > 0 {
		k.Mags, k.Marks, k.North, k.Below = &c.mags[at], &c.marks[at], &c.marks[north], &c.marks[below]
		k.Active = nil
		if c.active != nil {
			k.Active = &c.active[0]
		}
		for i := range h.list {
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
			for i := range h.list {
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

// addTimes adds a multiple of from to sums.
func addTimes(sums, from []float32, factor float32) {
	from = from[:len(sums)]
	for i, v := range from {
		sums[i] += factor * v
	}
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

// residuals reads the low bits of a row and sets its residuals. zeros are the trailing zeros of all groups, or
// empty, at is the position of the first element, and most is the most low bits of a residual.
func residuals[T entropy.Lane](r []T, marks []uint16, zeros []uint8, at, most int, low *lowReader) {
	if len(zeros) == 0 {
		someResiduals(r, marks, 0, most, low)
		return
	}
	for len(r) > 0 {
		k := min(entropy.GroupLen-at%entropy.GroupLen, len(r))
		someResiduals(r[:k], marks, uint(zeros[at/entropy.GroupLen]), most, low)
		r, marks, at = r[k:], marks[k:], at+k
	}
}

// someResiduals is residuals for a part of a row with t trailing zeros.
func someResiduals[T entropy.Lane](r []T, marks []uint16, t uint, most int, low *lowReader) {
	done := 0
	switch r := any(r).(type) {
	case []uint32:
		done, low.pos = kernels.LowBits32(r, marks, low.buf, low.pos, int(t), most)
	case []uint64:
		for done < len(r) {
			n := len(r) - done
			if most > kernels.MostLowBits { // perhaps not here
				n = min(n, 64)
			}
			if most > kernels.MostLowBits && mostLowBits(marks[done:done+n]) > kernels.MostLowBits {
				break
			}
			k, end := kernels.LowBits64(r[done:done+n], marks[done:], low.buf, low.pos, int(t), min(most, kernels.MostLowBits))
			done, low.pos = done+k, end
			if k < n {
				break
			}
		}
	}
	for i := done; i < len(r); i++ {
		mark := marks[i]
		class := uint(mark & 0xff)
		x := T(class)
		if class >= 4 {
			b := class>>1 - 1
			x = T(2+class&1) << b
			if b > t {
				x += T(low.get(b-t)) << t
			}
		}
		neg := -T(1 - min(mark>>8, 1))
		r[i] = (x ^ neg) - neg
	}
}

// mostLowBits returns the most low bits of some elements.
func mostLowBits(marks []uint16) int {
	most := uint8(0)
	for _, m := range marks {
		most = max(most, uint8(m))
	}
	return int(lowBits(most))
}

// lowReader reads bits, zeros past the end.
type lowReader struct {
	buf []byte
	pos int
}

// get returns n bits, at most 62.
func (l *lowReader) get(n uint) uint64 {
	i, shift := l.pos>>3, uint(l.pos&7)
	l.pos += int(n)
	if i+9 <= len(l.buf) {
		v := binary.LittleEndian.Uint64(l.buf[i:]) >> shift
		if shift+n > 64 {
			v |= uint64(l.buf[i+8]) << (64 - shift)
		}
		return v & (1<<n - 1)
	}
	var part [16]byte
	if i < len(l.buf) {
		copy(part[:9], l.buf[i:])
	}
	v := binary.LittleEndian.Uint64(part[:])>>shift | uint64(part[8])<<(64-shift)
	return v & (1<<n - 1)
}

func (l *lowReader) ended() bool { return (l.pos+7)/8 == len(l.buf) }

// bitReader reads the tables.
type bitReader struct {
	buf []byte
	pos int
}

// peek returns at least the next 24 bits, zeros past the end.
func (b *bitReader) peek() uint32 {
	i := b.pos >> 3
	if i+4 <= len(b.buf) {
		return binary.LittleEndian.Uint32(b.buf[i:]) >> (b.pos & 7)
	}
	var part [4]byte
	if i < len(b.buf) {
		copy(part[:], b.buf[i:])
	}
	return binary.LittleEndian.Uint32(part[:]) >> (b.pos & 7)
}

// get returns n bits, at most 16, zeros past the end.
func (b *bitReader) get(n uint) uint32 {
	v := b.peek() & (1<<n - 1)
	b.pos += int(n)
	return v
}

// difference returns a difference of levels or of trailing zeros.
func (b *bitReader) difference(k uint) int {
	u := 0
	for {
		ones := min(bits.TrailingZeros32(^b.peek()), 16)
		b.pos += ones
		u += ones
		if ones < 16 || u > 2*64 { // more than any difference is, or the end of a damaged block
			break
		}
	}
	b.pos++
	u = u<<k | int(b.get(k))
	return u>>1 ^ -(u & 1)
}
