package contexts

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// Run is a range of elements that are masked.
type Run struct{ Start, End int }

// Encoder encodes blocks. It keeps its memory from block to block.
type Encoder[T entropy.Lane] struct {
	Quick  bool // weights and contexts follow from fewer elements
	grid        // of the column that is looked at
	whole  Shape
	column int // which it is
	base   int // positions before it
	origin int // where its first row begins in mags and marks, which have a row before it, too
	first  int // where its first row begins in symbols and sides
	taps   []tap

	r      []T      // residuals, in the order of the positions
	masked []uint64 // a bit for each element; nil if none is masked
	bits   []uint64 // buffer for these
	coded  int      // residuals
	line   []T      // a row, with those beside it

	// In steps, as in grid:
	mags    []float32
	marks   []uint16
	sums    []float32 // of a row
	symbols []uint16  // expectations, then as in kernels.Symbols
	sides   []uint16  // as in kernels.Sides

	zeros  []uint8
	fitted [2 + mostTaps + 2][]int16
	model  model
	bins   [expectRange]uint8
	counts [mostBins][128]uint32
	seen   [2][kernels.Certain + 1]uint32 // symbols
	codes  codes
	words  []byte
	parts  []byte // of the columns
}

// mostBins is how many ranges of E are compared to make contexts.
const mostBins = 48

// model is what an encoder chooses.
type model struct {
	weights    weights
	boundaries []int                          // the first is 0
	bounds     [mostTables - 1][stripes]int16 // as in kernels.Symbols
	expect     [expectRange]uint8             // the context of each expectation
	kept       [mostTables]uint8              // what contexts become without those that have no residuals
	tables     [mostTables]table
	signs      [81][3]uint32
}

// setBoundaries sets what follows from the boundaries.
func (m *model) setBoundaries() {
	k := 0
	for x := range m.expect {
		if k+1 < len(m.boundaries) && x >= m.boundaries[k+1] {
			k++
		}
		m.expect[x] = uint8(k)
	}
	for k := range m.bounds {
		m.bounds[k] = every[int16](math.MaxInt16)
		if k+1 < len(m.boundaries) {
			m.bounds[k] = every(int16(m.boundaries[k+1] - 1))
		}
	}
}

// Model has the weights and contexts of a block.
type Model struct {
	weights    weights
	boundaries []int
}

// Model returns those of the block that was appended last.
func (e *Encoder[T]) Model() *Model {
	return &Model{e.model.weights, slices.Clone(e.model.boundaries)}
}

// Use takes weights and contexts of a block of the same shape instead of those that Estimate finds.
func (e *Encoder[T]) Use(m *Model) {
	e.model.weights = m.weights
	e.model.boundaries = append(e.model.boundaries[:0], m.boundaries...)
	e.model.setBoundaries()
	e.lowBits()
}

// table is that of a context.
type table struct {
	first  int
	levels []int
	start  [128]uint32 // the first slot of each class
	size   [128]uint32
}

// place returns where a row of the column begins in mags and marks.
func (e *Encoder[T]) place(row int) int { return e.origin + row*e.stride + halo*stripes }

// of returns the part of symbols or sides that a row of the column has.
func (e *Encoder[T]) of(all []uint16, row int) []uint16 {
	n := e.steps * stripes
	return all[e.first+row*n:][:n]
}

// enter goes to a column.
func (e *Encoder[T]) enter(column int) {
	e.column = column
	e.set(e.whole.Column(column))
	e.taps = e.shape.taps(e.taps[:0])
	e.origin += e.stride
}

// begin goes to the first column.
func (e *Encoder[T]) begin() {
	e.base, e.origin, e.first = 0, 0, 0
	e.enter(0)
}

// following goes to the next column, or returns false after the last one.
func (e *Encoder[T]) following() bool {
	if e.column+1 == e.whole.Columns() {
		return false
	}
	e.base += e.shape.N()
	e.origin += e.shape.rows * e.stride
	e.first += e.shape.rows * e.steps * stripes
	e.enter(e.column + 1)
	return true
}

// eachColumn visits the columns.
func (e *Encoder[T]) eachColumn(visit func()) {
	e.begin()
	for visit(); e.following(); {
		visit()
	}
}

// Load prepares to encode the residuals r of all elements, which are 0 where they are masked.
func (e *Encoder[T]) Load(r []T, s Shape, masked []Run) {
	e.whole = s
	e.r = entropy.Grow(e.r, len(r))
	arrange(s, e.r, r)
	e.hide(masked)
	size, steps := 0, 0
	e.eachColumn(func() {
		size += (e.shape.rows + 1) * e.stride
		steps += e.shape.rows * e.steps
	})
	const more = 7 * stripes // elements that kernels.Classes may set
	e.mags, e.marks = entropy.Grow(e.mags, size+more), entropy.Grow(e.marks, size+more)
	e.symbols, e.sides = entropy.Grow(e.symbols, steps*stripes), entropy.Grow(e.sides, steps*stripes)
	e.eachColumn(func() {
		clear(e.mags[e.origin-e.stride : e.origin])
		marks := e.marks[e.origin-e.stride : e.origin]
		for i := range marks {
			marks[i] = none << kernels.SignShift
		}
		for g := range e.shape.rows {
			e.loadRow(g)
		}
	})
}

// hide sets which elements are masked.
func (e *Encoder[T]) hide(masked []Run) {
	if e.masked, e.coded = nil, len(e.r); len(masked) == 0 {
		return
	}
	e.bits = entropy.Grow(e.bits, (len(e.r)+63)/64)
	clear(e.bits)
	e.masked = e.bits
	for _, m := range masked {
		e.coded -= m.End - m.Start
		for i := m.Start; i < m.End; {
			end := min(m.End, i|63+1)
			e.masked[i>>6] |= (1<<(end-i) - 1) << (i & 63)
			i = end
		}
	}
}

// Sample appends the residuals of about one row of part to dst.
func (e *Encoder[T]) Sample(dst []T, part int) []T {
	e.eachRow(max(1, min(part, e.rows()/8)), func(g int) {
		row := e.r[e.base+g*e.shape.row:][:e.shape.row]
		if e.masked == nil {
			dst = append(dst, row...)
			return
		}
		at, step := e.shape.at(g)
		for _, v := range row {
			if e.masked[at>>6]>>(at&63)&1 == 0 {
				dst = append(dst, v)
			}
			at += step
		}
	})
	return dst
}

// arrange copies elements to their positions.
func arrange[V any](s Shape, to, from []V) {
	if !s.turned && !s.cut {
		copy(to, from)
		return
	}
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

// loadRow sets the magnitudes and marks of a row and beside it.
func (e *Encoder[T]) loadRow(g int) {
	const more = 16 // elements that kernels.Classes may read
	n := e.shape.row
	line := entropy.Grow(e.line, n+2*halo+more)
	e.line = line
	copy(line[halo:], e.r[e.base+g*n:][:n])
	for k := range halo {
		line[k], line[halo+n+k] = line[halo], line[halo+n-1]
	}
	at := e.place(g)
	mags, marks := e.mags[at-halo*stripes:], e.marks[at-halo*stripes:]
	if line, ok := any(line).([]uint32); !ok || !kernels.Classes(mags, marks, line, &e.starts, e.steps+2*halo) {
		e.classes(mags, marks)
	}
	mags, marks = e.mags[at:], e.marks[at:]
	if !e.mask(e.masked, g) {
		e.buffer = entropy.Grow(e.buffer, e.stride)
		e.active = e.buffer
		clear(e.active)
	}
	if e.active != nil {
		kernels.Cover(mags, marks, e.active[:e.steps*stripes], e.mags[e.place(g-1):])
		kernels.Edges(e.mags, e.marks, at, e.seg, e.longer)
	}
}

// classes sets the magnitudes and marks of the elements of line.
func (e *Encoder[T]) classes(mags []float32, marks []uint16) {
	for q, from := range e.starts {
		for j, v := range e.line[from : from+e.steps+2*halo] {
			x := signed(v)
			class := classOf(uint64(max(x, -x)))
			some := uint64(x|-x) >> 63
			i := j*stripes + q
			mags[i] = magnitude(class)
			marks[i] = uint16(none+some-2*(uint64(x)>>63))<<kernels.SignShift | uint16(class)
		}
	}
}

// Append appends the residuals with the weights and contexts of Estimate or Use.
func (e *Encoder[T]) Append(dst []byte) []byte {
	m := &e.model
	clear(e.seen[0][:])
	clear(e.seen[1][:])
	e.eachRow(1, func(g int) {
		y := e.of(e.symbols, g)
		e.expectations(g, y)
		e.contexts(y, e.marks[e.place(g):])
		y = y[:e.shape.row]
		a, b := &e.seen[0], &e.seen[1] // a count would wait for itself where symbols recur
		for ; len(y) >= 2; y = y[2:] {
			a[y[0]]++
			b[y[1]]++
		}
		for _, x := range y {
			a[x]++
		}
	})
	for x, n := range e.seen[1][:kernels.Certain] {
		m.tables[x>>7].size[x&127] = e.seen[0][x] + n
	}
	e.drop()
	e.signBits(1)
	options := byte(0)
	if len(e.zeros) > 0 {
		options |= hasZeros
	}
	taps := len(e.taps)
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
			e.parts = entropy.AppendUvarint(e.parts, uint64(len(words)/2))
		} else {
			dst = entropy.AppendUvarint(dst, uint64(len(words)/2))
		}
		e.parts = append(e.parts, words...)
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
	kept := 0
	for k, from := range m.boundaries {
		used := false
		for _, n := range m.tables[k].size {
			used = used || n > 0
		}
		if m.kept[k] = uint8(kept); used {
			m.tables[kept].size = m.tables[k].size
			if kept > 0 {
				m.boundaries[kept] = from
			}
			kept++
		}
	}
	m.boundaries = m.boundaries[:max(kept, 1)]
}
