package contexts

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Run is a range of elements that are masked.
type Run struct{ Start, End int }

// Encoder encodes blocks. It keeps its memory from block to block.
type Encoder[T entropy.Lane] struct {
	whole   Shape   // of the block
	shape   Shape   // of the column that is looked at
	column  int     // which it is
	base    int     // positions before it
	origin  int     // place of its first row in mags, signs and logs
	r       []T     // residuals, in the order of the positions
	turned  []T     // buffer for these
	class   []uint8 // of the positions
	active  []bool  // by position; nil if none is masked
	masks   []bool  // buffer for these
	coded   int     // residuals
	mags    []float32
	signs   []uint8
	logs    []uint8 // classes; rows of these three have two elements more on both sides, and a column a row before its first
	sums    []float32
	context []uint8 // of each position
	zeros   []uint8

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

// place returns the place of element c of a row of the column in mags, signs and logs.
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
	e.mags, e.signs, e.logs = entropy.Grow(e.mags, size), entropy.Grow(e.signs, size), entropy.Grow(e.logs, size)
	e.eachColumn(func() {
		from, to := e.place(-1, -halo), e.place(0, -halo)
		clear(e.mags[from:to])
		clear(e.logs[from:to])
		for i := range e.signs[from:to] {
			e.signs[from+i] = none
		}
		for g := range e.shape.rows {
			e.loadRow(g)
		}
	})
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
	logs, mags, signs := e.logs[at-halo:at+s.row+halo], e.mags[at-halo:at+s.row+halo], e.signs[at-halo:at+s.row+halo]
	p := e.base + g*s.row
	for c, v := range e.r[p : p+s.row] {
		x := signed(v)
		neg := x >> 63
		k := classOf(uint64(x^neg) - uint64(neg))
		e.class[p+c] = k
		sign := uint8(none)
		if x != 0 {
			sign = uint8(positive + positive*neg)
		}
		logs[halo+c], mags[halo+c], signs[halo+c] = k, magnitudes[k], sign
	}
	if e.active != nil {
		s.eachStripe(func(start, n int) {
			last := e.logs[e.place(g-1, start)]
			for c := start; c < start+n; c++ {
				if !e.active[p+c] {
					e.class[p+c] = 0
					logs[halo+c], mags[halo+c], signs[halo+c] = last, magnitudes[last], none
				}
				last = logs[halo+c]
			}
		})
	}
	for k := range halo {
		logs[k], mags[k], signs[k] = logs[halo], mags[halo], signs[halo]
		end := halo + s.row
		logs[end+k], mags[end+k], signs[end+k] = logs[end-1], mags[end-1], signs[end-1]
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
		for c, v := range sums {
			if e.active == nil || e.active[p+c] {
				k := m.expect[expectation(v)]
				e.context[p+c] = k
				m.tables[k].size[e.class[p+c]]++
			}
		}
	})
	e.drop()
	e.lowBits()
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
		for _, v := range words {
			e.parts = binary.LittleEndian.AppendUint16(e.parts, v)
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

// signContext returns the number of the sign context of a place but for the sign of W.
func (s Shape) signContext(signs []uint8, north, below int) int {
	if s.dims == 1 {
		return 0
	}
	return 9*int(signs[north]) + 3*int(signs[below]) + int(signs[north-1])
}

// eachSign visits the residuals of a row that are not 0 with their sign contexts.
func (e *Encoder[T]) eachSign(g int, visit func(p, context int)) {
	s := e.shape
	each := 27
	if s.dims == 1 {
		each = 1
	}
	at, north, below := e.place(g, 0), e.place(g-1, 0), e.place(before(g, s.below()), 0)
	s.eachStripe(func(start, n int) {
		west := none
		for c := start; c < start+n; c++ {
			if e.class[e.base+g*s.row+c] > 0 {
				visit(e.base+g*s.row+c, each*west+s.signContext(e.signs, north+c, below+c))
			}
			west = int(e.signs[at+c])
		}
	})
}

// signOf returns 1 for a negative residual, and 0 for a positive one.
func (e *Encoder[T]) signOf(p int) int {
	return int(e.r[p]>>(entropy.LaneBits[T]()-1)) & 1
}

// states returns the states and the words of the column. The words are valid until the next call.
func (e *Encoder[T]) states() (x [stripes]uint32, words []uint16) {
	s, m := e.shape, &e.model
	for q := range x {
		x[q] = leastState
	}
	sign := make([]uint8, s.row) // p of each element of the row that is not 0
	if cap(e.words) < s.N() {
		e.words = make([]uint16, s.N())
	}
	words = e.words[:s.N()]
	at := len(words)
	seg, longer := s.steps()
	for g := s.rows - 1; g >= 0; g-- {
		p := e.base + g*s.row
		e.eachSign(g, func(p, context int) { sign[p-e.base-g*s.row] = uint8(m.signs[context][min(e.class[p], 2)]) })
		for j := seg; j >= 0; j-- {
			width := stripes
			if j == seg {
				width = longer
			}
			for q := width - 1; q >= 0; q-- {
				c := q*seg + min(q, longer) + j
				if e.active != nil && !e.active[p+c] {
					continue
				}
				k := e.class[p+c]
				t := &m.tables[e.context[p+c]]
				size, start := t.size[k], t.start[k]
				part, skip := uint32(signSlots), uint32(0)
				if k > 0 {
					if part = uint32(sign[c]); e.signOf(p+c) == 0 {
						part, skip = signSlots-part, part
					}
				}
				y := x[q]
				if uint64(y) >= uint64(size*part)<<16 {
					at--
					words[at] = uint16(y)
					y >>= 16
				}
				if k > 0 {
					y = y/part<<logSign + skip + y%part
				}
				x[q] = y/size<<logSlots + start + y%size
			}
		}
	}
	return x, words[at:]
}
