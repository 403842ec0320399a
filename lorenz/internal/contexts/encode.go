package contexts

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Run is a range of elements that are masked.
type Run struct{ Start, End int }

// Encoder encodes blocks. It keeps its memory from block to block.
type Encoder[T entropy.Lane] struct {
	shape   Shape
	r       []T     // residuals, in the order of the positions
	turned  []T     // buffer for these
	class   []uint8 // of the positions
	active  []bool  // by position; nil if none is masked
	masks   []bool  // buffer for these
	coded   int     // residuals
	mags    []float32
	signs   []uint8
	logs    []uint8 // classes; these three have two columns on both sides, and a row before the first
	sums    []float32
	context []uint8 // of each position
	zeros   []uint8

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

// place returns the place of element c of a row in mags, signs and logs.
func (e *Encoder[T]) place(row, c int) int { return (row+1)*(e.shape.row+2*halo) + halo + c }

// Load prepares to encode the residuals r of all elements. It refers to r until the next call.
func (e *Encoder[T]) Load(r []T, s Shape, masked []Run) {
	e.shape, e.r, e.active, e.coded = s, r, nil, len(r)
	if s.turned {
		e.turned = entropy.Grow(e.turned, len(r))
		for g := range s.rows {
			line := e.turned[g*s.row : (g+1)*s.row]
			for i := range line {
				line[i] = r[i*s.rows+g]
			}
		}
		e.r = e.turned
	}
	if len(masked) > 0 {
		e.masks = entropy.Grow(e.masks, len(r))
		e.active = e.masks
		for i := range e.active {
			e.active[i] = true
		}
		for _, m := range masked {
			e.coded -= m.End - m.Start
			for i := m.Start; i < m.End; i++ {
				p := i
				if s.turned {
					p = i%s.rows*s.row + i/s.rows
				}
				e.active[p] = false
			}
		}
	}
	size := (s.rows + 1) * (s.row + 2*halo)
	e.class = entropy.Grow(e.class, len(r))
	e.mags, e.signs, e.logs = entropy.Grow(e.mags, size), entropy.Grow(e.signs, size), entropy.Grow(e.logs, size)
	clear(e.mags[:s.row+2*halo])
	clear(e.logs[:s.row+2*halo])
	for i := range e.signs[:s.row+2*halo] {
		e.signs[i] = none
	}
	for g := range s.rows {
		e.loadRow(g)
	}
}

// loadRow sets the classes of a row, and its magnitudes and signs as neighbours.
func (e *Encoder[T]) loadRow(g int) {
	s := e.shape
	at := e.place(g, 0)
	logs, mags, signs := e.logs[at-halo:at+s.row+halo], e.mags[at-halo:at+s.row+halo], e.signs[at-halo:at+s.row+halo]
	p := g * s.row
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
	s, m := e.shape, &e.model
	for k := range m.tables {
		clear(m.tables[k].size[:])
	}
	e.context = entropy.Grow(e.context, s.N())
	for g := range s.rows {
		sums := e.expectations(g)
		p := g * s.row
		for c, v := range sums {
			if e.active == nil || e.active[p+c] {
				k := m.expect[expectation(v)]
				e.context[p+c] = k
				m.tables[k].size[e.class[p+c]]++
			}
		}
	}
	e.drop()
	e.lowBits()
	e.signBits(1)
	options := byte(0)
	if len(e.zeros) > 0 {
		options |= hasZeros
	}
	taps := len(s.taps())
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
	for x := range s.signs() {
		for k := 1; k < 3; k++ {
			p := m.signs[x][k]
			if p == signSlots/2 {
				w.put(0, 1)
				continue
			}
			w.put(1|uint64(p)<<1, 1+logSign)
		}
	}
	if len(e.zeros) > 0 {
		diffs := make([]int, len(e.zeros))
		last := 0
		for i, t := range e.zeros {
			diffs[i] = int(t) - last
			last = int(t)
		}
		w.differences(diffs)
	}
	dst = w.finish()
	dst = e.states(dst)
	return e.appendLow(dst)
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
			if e.class[g*s.row+c] > 0 {
				visit(g*s.row+c, each*west+s.signContext(e.signs, north+c, below+c))
			}
			west = int(e.signs[at+c])
		}
	})
}

// signOf returns 1 for a negative residual, and 0 for a positive one.
func (e *Encoder[T]) signOf(p int) int {
	return int(e.r[p]>>(entropy.LaneBits[T]()-1)) & 1
}

// states appends the states and the words.
func (e *Encoder[T]) states(dst []byte) []byte {
	s, m := e.shape, &e.model
	var x [stripes]uint32
	for q := range x {
		x[q] = leastState
	}
	sign := make([]uint8, s.row) // p of each element of the row that is not 0
	if cap(e.words) < s.N() {
		e.words = make([]uint16, s.N())
	}
	words := e.words[:s.N()]
	at := len(words)
	seg, longer := s.steps()
	for g := s.rows - 1; g >= 0; g-- {
		p := g * s.row
		e.eachSign(g, func(p, context int) { sign[p-g*s.row] = uint8(m.signs[context][min(e.class[p], 2)]) })
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
	for _, v := range x {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	dst = entropy.AppendUvarint(dst, uint64(len(words)-at))
	for _, v := range words[at:] {
		dst = binary.LittleEndian.AppendUint16(dst, v)
	}
	return dst
}
