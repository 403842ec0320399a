package contexts

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Run is a range of elements that are masked.
type Run struct{ Start, End int }

// Encoder encodes blocks. It keeps its memory from block to block.
type Encoder[T entropy.Lane] struct {
	Quick   bool      // weights and contexts follow from fewer elements
	whole   Shape     // of the block
	shape   Shape     // of the column that is looked at
	column  int       // which it is
	base    int       // positions before it
	origin  int       // place of its first row in mags and signs
	r       []T       // residuals, in the order of the positions
	turned  []T       // buffer for these
	class   []uint8   // of the positions
	active  []bool    // by position; nil if none is masked
	masks   []bool    // buffer for these
	coded   int       // residuals
	mags    []float32 // rows of these two have two elements more on both sides, and a column a row before its first
	signs   []uint8
	sums    []float32
	context []uint8 // of each position
	zeros   []uint8

	sides  []uint8  // sign contexts of the positions
	row    []uint64 // codes of a row
	codes  codes
	parts  []byte // of the columns
	model  model
	words  []uint16
	bins   [expectRange]uint8
	counts [mostBins][128]uint32
}

// mostBins is how many ranges of E are compared to make contexts.
const mostBins = 48

// model is what an encoder chooses.
type model struct {
	weights    weights
	boundaries []int // the first is 0
	expect     [expectRange]uint8
	tables     [mostTables]table
	signs      [81][3]uint32
}

// table is that of a context.
type table struct {
	first  int
	levels []int
	start  [128]uint32 // the first slot of each class
	size   [128]uint32
}

// place returns the place of element c of a row of the column in mags and signs.
func (e *Encoder[T]) place(row, c int) int { return e.origin + row*(e.shape.row+2*halo) + halo + c }

// first goes to the first column.
func (e *Encoder[T]) first() {
	e.shape, e.column, e.base = e.whole.Column(0), 0, 0
	e.origin = e.shape.row + 2*halo
}

// following goes to the next column, or returns false after the last one.
func (e *Encoder[T]) following() bool {
	if e.column++; e.column == e.whole.Columns() {
		return false
	}
	e.base += e.shape.N()
	e.origin += e.shape.rows * (e.shape.row + 2*halo)
	e.shape = e.whole.Column(e.column)
	e.origin += e.shape.row + 2*halo
	return true
}

// eachColumn visits the columns.
func (e *Encoder[T]) eachColumn(visit func()) {
	e.first()
	for visit(); e.following(); {
		visit()
	}
}

// Load prepares to encode the residuals r of all elements. It refers to r until the next call.
func (e *Encoder[T]) Load(r []T, s Shape, masked []Run) {
	e.whole, e.r, e.active, e.coded = s, r, nil, len(r)
	if s.turned || s.cut {
		e.turned = entropy.Grow(e.turned, len(r))
		arrange(s, e.turned, r)
		e.r = e.turned
	}
	if len(masked) > 0 {
		e.masks = entropy.Grow(e.masks, 2*len(r))
		e.active = e.masks[:len(r)]
		for i := range e.active {
			e.active[i] = true
		}
		for _, m := range masked {
			e.coded -= m.End - m.Start
			clear(e.active[m.Start:m.End])
		}
		if s.turned || s.cut {
			arrange(s, e.masks[len(r):], e.active)
			e.active = e.masks[len(r):]
		}
	}
	size := 0
	e.eachColumn(func() { size += (e.shape.rows + 1) * (e.shape.row + 2*halo) })
	e.class = entropy.Grow(e.class, len(r))
	e.mags, e.signs = entropy.Grow(e.mags, size), entropy.Grow(e.signs, size)
	e.eachColumn(func() {
		from, to := e.place(-1, -halo), e.place(0, -halo)
		clear(e.mags[from:to])
		for i := range e.signs[from:to] {
			e.signs[from+i] = none
		}
		for g := range e.shape.rows {
			e.loadRow(g)
		}
	})
}

// Refer makes e refer to another slice with the residuals of Load.
func (e *Encoder[T]) Refer(r []T) {
	e.r = r
	if e.whole.turned || e.whole.cut {
		e.r = e.turned
	}
}

// arrange copies elements to their positions.
func arrange[V any](s Shape, to, from []V) {
	if s.turned {
		for g := range s.rows {
			line := to[g*s.row : (g+1)*s.row]
			for i := range line {
				line[i] = from[i*s.rows+g]
			}
		}
		return
	}
	for q := range s.Columns() {
		c := s.Column(q)
		for g := 0; g < c.rows; g += c.each {
			first, _ := c.at(g)
			to = to[copy(to, from[first:first+c.each*c.row]):]
		}
	}
}

// loadRow sets the classes of a row, and its magnitudes and signs as neighbours.
func (e *Encoder[T]) loadRow(g int) {
	s := e.shape
	at := e.place(g, 0)
	mags, signs := e.mags[at-halo:at+s.row+halo], e.signs[at-halo:at+s.row+halo]
	p := e.base + g*s.row
	r := e.r[p : p+s.row]
	class, to, sign := e.class[p:p+len(r)], mags[halo:][:len(r)], signs[halo:][:len(r)]
	for c, v := range r {
		x := signed(v)
		neg := x >> 63
		k := classOf(uint64(x^neg) - uint64(neg))
		class[c], to[c] = k, magnitudes[k&127]
		some := uint64(x|-x) >> 63
		sign[c] = uint8(none + some - 2*(uint64(x)>>63))
	}
	if e.active != nil {
		s.eachStripe(func(start, n int) {
			last := e.mags[e.place(g-1, start)]
			for c := start; c < start+n; c++ {
				if !e.active[p+c] {
					class[c], to[c], sign[c] = 0, last, none
				}
				last = to[c]
			}
		})
	}
	for k := range halo {
		mags[k], signs[k] = mags[halo], signs[halo]
		end := halo + s.row
		mags[end+k], signs[end+k] = mags[end-1], signs[end-1]
	}
}

// magnitudes of all classes.
var magnitudes = func() (m [128]float32) {
	for i := range m {
		m[i] = magnitude(uint8(i))
	}
	return m
}()

// eachStripe visits the stripes of a row.
func (s Shape) eachStripe(visit func(start, n int)) {
	seg, longer := s.steps()
	start := 0
	for q := range stripes {
		n := seg
		if q < longer {
			n++
		}
		visit(start, n)
		start += n
	}
}

// Append appends the residuals with the weights and contexts of Estimate.
func (e *Encoder[T]) Append(dst []byte) []byte {
	m := &e.model
	for k := range m.tables {
		clear(m.tables[k].size[:])
	}
	e.context = entropy.Grow(e.context, len(e.r))
	e.eachRow(1, func(g int) {
		sums := e.expectations(g)
		p := e.base + g*e.shape.row
		class, context := e.class[p:p+len(sums)], e.context[p:p+len(sums)]
		for c, v := range sums {
			k := m.expect[expectation(v)]
			context[c] = k
			if e.active == nil || e.active[p+c] {
				m.tables[k].size[class[c]&127]++
			}
		}
	})
	e.drop()
	e.sides = entropy.Grow(e.sides, len(e.r))
	e.signBits(1)
	options := byte(0)
	if len(e.zeros) > 0 {
		options |= hasZeros
	}
	taps := len(e.whole.taps())
	dst = append(dst, options, m.weights.w, m.weights.ww)
	dst = append(append(dst, m.weights.taps[:taps]...), byte(len(m.boundaries)))
	for _, x := range m.boundaries[1:] {
		dst = entropy.AppendUvarint(dst, uint64(x))
	}
	w := bitWriter{buf: dst}
	for k := range m.boundaries {
		m.tables[k].choose()
		m.tables[k].write(&w)
	}
	e.makeCodes()
	for x := range e.whole.signs() {
		for k := 1; k < 3; k++ {
			p := m.signs[x][k]
			if p == signSlots/2 {
				w.put(0, 1)
				continue
			}
			w.put(1|uint64(p)<<1, 1+logSign)
		}
	}
	zeros := e.zeros
	if len(zeros) > 0 && !e.whole.cut {
		w.zeros(zeros)
	}
	dst = w.finish()
	e.parts = e.parts[:0]
	e.eachColumn(func() {
		states, words := e.states()
		for _, x := range states {
			e.parts = binary.LittleEndian.AppendUint32(e.parts, x)
		}
		if !e.whole.cut {
			e.parts = entropy.AppendUvarint(e.parts, uint64(len(words)))
		} else {
			dst = entropy.AppendUvarint(dst, uint64(len(words)))
		}
		at := len(e.parts)
		e.parts = append(e.parts, make([]byte, 2*len(words))...)
		for i, v := range words {
			binary.LittleEndian.PutUint16(e.parts[at+2*i:], v)
		}
		start := len(e.parts)
		w := bitWriter{buf: e.parts}
		groups := min((e.shape.N()+entropy.GroupLen-1)/entropy.GroupLen, len(zeros))
		if groups > 0 && e.whole.cut {
			w.zeros(zeros[:groups])
		}
		e.low(&w, zeros[:groups])
		zeros = zeros[groups:]
		if e.parts = w.finish(); e.whole.cut {
			dst = entropy.AppendUvarint(dst, uint64(len(e.parts)-start))
		}
	})
	return append(dst, e.parts...)
}

// drop removes contexts without residuals: those of a sample may be.
func (e *Encoder[T]) drop() {
	m := &e.model
	var to [mostTables]uint8
	kept := 0
	for k, from := range m.boundaries {
		used := false
		for _, n := range m.tables[k].size {
			used = used || n > 0
		}
		to[k] = uint8(max(kept-1, 0))
		if used {
			to[k] = uint8(kept)
			m.tables[kept].size = m.tables[k].size
			if kept > 0 {
				m.boundaries[kept] = from
			}
			kept++
		}
	}
	if kept == len(m.boundaries) {
		return
	}
	m.boundaries = m.boundaries[:max(kept, 1)]
	for i, k := range e.context {
		e.context[i] = to[k]
	}
}

// signContexts sets the sign contexts of a row.
func (e *Encoder[T]) signContexts(g int, contexts []uint8) {
	s := e.shape
	at, north, below := e.place(g, 0), e.place(g-1, 0), e.place(before(g, s.below()), 0)
	west := e.signs[at-1:][:len(contexts)]
	if s.dims == 1 {
		copy(contexts, west)
		s.eachStripe(func(start, _ int) { contexts[start] = none })
		return
	}
	nw, n, b := e.signs[north-1:][:len(contexts)], e.signs[north:][:len(contexts)], e.signs[below:][:len(contexts)]
	for c, w := range west {
		contexts[c] = 27*w + 9*n[c] + 3*b[c] + nw[c]
	}
	s.eachStripe(func(start, _ int) { contexts[start] = 27*none + 9*n[start] + 3*b[start] + nw[start] })
}

// codes are what encodes a value in a context: slots of the class and those before it, and the same of the sign.
type codes struct {
	class [mostTables << 7]uint32 // by context and class: slots << 16 | first slot
	sign  [81 * 9]uint16          // by sign context, class and sign: slots << 8 | first slot
}

// makeCodes sets the codes from the tables and signs.
func (e *Encoder[T]) makeCodes() {
	m := &e.model
	for k := range m.boundaries {
		t := &m.tables[k]
		for class, n := range t.size {
			e.codes.class[k<<7|class] = n<<16 | t.start[class]
		}
	}
	for x := range e.whole.signs() {
		for sign := range uint32(3) {
			e.codes.sign[9*x+int(sign)] = signSlots << 8 // class 0 has no sign
		}
		for k := 1; k < 3; k++ {
			p := m.signs[x][k]
			e.codes.sign[9*x+3*k+negative] = uint16(p << 8)
			e.codes.sign[9*x+3*k+none] = signSlots << 8
			e.codes.sign[9*x+3*k+positive] = uint16((signSlots-p)<<8 | p)
		}
	}
}

// kinds are the classes that signs distinguish, times 3.
var kinds = func() (k [128]uint8) {
	for class := range k {
		k[class] = uint8(3 * min(class, 2))
	}
	return k
}()

// reciprocals are such that the upper half of their product with a state is its quotient, plus the state itself for the
// divisor 1.
var reciprocals = func() (r [slots + 1]uint64) {
	for d := uint64(2); d <= slots; d++ {
		r[d] = math.MaxUint64/d + 1
	}
	return r
}()

// divided returns x / d. d is at most slots.
func divided(x, d uint32) uint32 {
	q, _ := bits.Mul64(uint64(x), reciprocals[d])
	return uint32(q) + x&uint32(int32(d-2)>>31)
}

// states returns the states and the words of the column. The words are valid until the next call.
func (e *Encoder[T]) states() (x [stripes]uint32, words []uint16) {
	s := e.shape
	for q := range x {
		x[q] = leastState
	}
	n := s.N()
	if cap(e.words) < n {
		e.words = make([]uint16, n)
	}
	words = e.words[:n]
	at := n
	seg, longer := s.steps()
	var starts [stripes]int
	for q := range starts {
		starts[q] = q*seg + min(q, longer)
	}
	e.row = entropy.Grow(e.row, s.row)
	row := e.row
	for g := s.rows - 1; g >= 0; g-- {
		p := e.base + g*s.row
		class, context, side := e.class[p:p+s.row], e.context[p:p+s.row], e.sides[p:p+s.row]
		signs := e.signs[e.place(g, 0):][:s.row]
		for c, k := range class {
			k &= 127
			sign := e.codes.sign[9*int(side[c])+int(kinds[k])+int(signs[c])]
			row[c] = uint64(e.codes.class[int(context[c])<<7|int(k)])<<16 | uint64(sign)
		}
		if e.active != nil {
			for c, active := range e.active[p : p+s.row] {
				if !active {
					row[c] = 0
				}
			}
		}
		for j := seg; j >= 0; j-- {
			width := stripes
			if j == seg {
				width = longer
			}
			for q := width - 1; q >= 0; q-- {
				v := row[starts[q]+j]
				size, part := uint32(v>>32), uint32(v>>8)&0xff
				if size == 0 { // masked
					continue
				}
				y := x[q]
				// A word that is not needed is overwritten by the next one.
				words[at-1] = uint16(y)
				full := (uint64(size*part)<<16 - 1 - uint64(y)) >> 63
				at -= int(full)
				y >>= full * 16 & 31
				z := divided(y, part)
				y = z<<logSign + uint32(v)&0xff + y - z*part
				z = divided(y, size)
				x[q] = z<<logSlots + uint32(v>>16)&0xffff + y - z*size
			}
		}
	}
	return x, words[at:]
}
