package contexts

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// expectations sets dst to what the weights say of the elements of a row.
func (e *Encoder[T]) expectations(g int, dst []uint16) {
	w := &e.model.weights
	var from [mostTaps][]float32
	var factors [mostTaps]float32
	n := 0
	for i, t := range e.taps {
		if w.taps[i] > 0 {
			from[n], factors[n] = e.mags[e.place(before(g, t.rows))+t.col*stripes:], float32(w.taps[i])
			n++
		}
	}
	e.sums = entropy.Grow(e.sums, len(dst))
	kernels.Neighbours(e.sums, from[:n], factors[:n])
	kernels.Expectations(dst, e.sums, e.mags[e.place(g):], e.mags[e.place(g-1):], float32(w.w), float32(w.ww))
}

// contexts replaces expectations by symbols.
func (e *Encoder[T]) contexts(y, marks []uint16) {
	m := &e.model
	if kernels.Symbols(y, marks, &m.bounds, len(m.boundaries)-1) {
		return
	}
	marks = marks[:len(y)]
	for i, x := range y {
		y[i] = uint16(m.expect[x%expectRange])<<7 | marks[i]&127
		if marks[i]&kernels.Hidden != 0 {
			y[i] = kernels.Certain
		}
	}
}

// signContexts sets the sign contexts and signs of a row.
func (e *Encoder[T]) signContexts(g int) []uint16 {
	sides := e.of(e.sides, g)
	at, north, below := e.place(g), e.place(g-1), e.place(before(g, e.shape.below()))
	factors := &planeSides
	if e.shape.dims == 1 {
		factors = &lineSides
	}
	kernels.Sides(sides, e.marks[at:], e.marks[north-stripes:], e.marks[below:], factors)
	return sides
}

// planeSides and lineSides are what the signs of W, N, B and NW count in a sign context, times 9.
var (
	planeSides = [4][stripes]uint16{every[uint16](27 * 9), every[uint16](9 * 9), every[uint16](3 * 9), every[uint16](9)}
	lineSides  = [4][stripes]uint16{every[uint16](9)}
)

// every returns a number for all stripes.
func every[V int16 | uint16](v V) (a [stripes]V) {
	for i := range a {
		a[i] = v
	}
	return a
}

// codes are those of symbols, and of sides.
type codes struct {
	class [kernels.Certain + 1]uint64
	sign  [81 * 9]uint64
}

// makeCodes sets the codes from the tables and signs.
func (e *Encoder[T]) makeCodes() {
	m := &e.model
	for k, to := range m.kept {
		t := &m.tables[to]
		for class, n := range t.size {
			if n > 0 {
				e.codes.class[k<<7|class] = kernels.Code(n, t.start[class])
			}
		}
	}
	e.codes.class[kernels.Certain] = kernels.Code(slots, 0)
	for x := range e.whole.signs() {
		codes := e.codes.sign[9*x : 9*x+9]
		for i := range codes {
			codes[i] = signCodes[signSlots] // of class 0, which has no sign
		}
		for k := 1; k < 3; k++ {
			p := m.signs[x][k]
			codes[3*k+negative] = signCodes[p]
			codes[3*k+positive] = signCodes[signSlots-p] | uint64(p)<<32
		}
	}
}

// signCodes are codes of each number of slots, from the first one on.
var signCodes = func() (c [signSlots + 1]uint64) {
	for n := range uint32(signSlots) {
		c[n+1] = kernels.Code(n+1, 0)
	}
	return c
}()

// states returns the states and the words of the column. The words are valid until the next call.
func (e *Encoder[T]) states() (x [stripes]uint32, words []byte) {
	for q := range x {
		x[q] = leastState
	}
	const before = 16 // bytes that kernels.Encode may write to
	row := e.shape.row
	e.words = entropy.Grow(e.words, 2*e.shape.rows*e.steps*stripes+before)
	at := len(e.words)
	for g := e.shape.rows - 1; g >= 0; g-- {
		symbols, sides := e.of(e.symbols, g), e.of(e.sides, g)
		for i := range symbols[row:] { // of stripes that have ended
			symbols[row+i], sides[row+i] = kernels.Certain, 0
		}
		start, ok := kernels.Encode(&x, symbols, sides, e.codes.class[:], e.codes.sign[:], e.words, at)
		if !ok {
			start = e.encode(&x, symbols, sides, at)
		}
		at = start
	}
	return x, e.words[at:]
}

// encode is kernels.Encode.
func (e *Encoder[T]) encode(x *[stripes]uint32, symbols, sides []uint16, at int) int {
	for i := len(symbols) - 1; i >= 0; i-- {
		class, sign := e.codes.class[symbols[i]], e.codes.sign[sides[i]]
		y := x[i%stripes]
		// A word that is not needed is overwritten by the next one.
		e.words[at-2], e.words[at-1] = byte(y), byte(y>>8)
		full := (uint64(class>>48)*uint64(sign>>48)<<16 - 1 - uint64(y)) >> 63
		at -= 2 * int(full)
		y >>= full * 16 & 31
		x[i%stripes] = encoded(encoded(y, sign, logSign), class, logSlots)
	}
	return at
}

// encoded returns a state after a symbol with a code, of 1 << log slots.
func encoded(x uint32, code uint64, log int) uint32 {
	slots, first := uint32(code>>48), uint32(code>>32)&math.MaxUint16
	q := uint32(uint64(x) * (code & math.MaxUint32) >> 32)
	q += 1 - (x-q*slots-slots)>>31 // it may be 1 too small
	return x + q*(1<<log-slots) + first
}
