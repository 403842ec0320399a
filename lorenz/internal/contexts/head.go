package contexts

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// head is what precedes the residuals.
type head struct {
	used    []int     // neighbours in earlier rows with a weight that is not 0
	factors []float32 // these
	w, ww   float32
	lut     [expectRange]uint32 // for each E, the first slot of its table
	bounds  [mostTables - 1][stripes]int16
	count   int        // of these
	tables  []uint32   // as in kernels.Row
	signs   [32]uint32 // likewise
	zeros   []uint8    // trailing zeros of each group of positions of a column; empty if there are none

	hasZeros bool
	last     int // the highest class of all tables
	levels   [2 * 64]int
}

// read reads the head of a block with lanes of width bits.
func (h *head) read(in *entropy.Reader, s Shape, width int) bool {
	options := in.Byte()
	var buf [mostTaps]tap
	taps := s.taps(buf[:0])
	w := in.Bytes(2 + len(taps))
	count := int(in.Byte())
	if in.Bad || options&^hasZeros != 0 || count < 1 || count > mostTables {
		return false
	}
	h.w, h.ww = float32(w[0]), float32(w[1])
	h.used, h.factors = h.used[:0], h.factors[:0]
	for i := range taps {
		if w[2+i] != 0 {
			h.used, h.factors = append(h.used, i), append(h.factors, float32(w[2+i]))
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
		if k > 0 {
			h.bounds[k-1] = every(kernels.Bound(from))
		}
		from = to
	}
	h.count = count - 1
	for k := h.count; k < len(h.bounds); k++ {
		h.bounds[k] = every[int16](math.MaxInt16)
	}
	b := bitReader{buf: in.Buf}
	h.last = 0
	h.tables = entropy.Grow(h.tables, count*slots+8)
	for k := range count {
		if !h.table(&b, h.tables[k*slots:], 2*width) {
			return false
		}
	}
	h.signs = [32]uint32{}
	for i := range s.signs() {
		at, west := i%27, i/27
		if s.dims == 1 { // the other three signs are always none
			at, west = 13, i
		}
		for k := range 2 { // class 1, others
			p := uint32(signSlots / 2)
			if b.get(1) != 0 {
				if p = b.get(logSign); p == 0 {
					return false
				}
			}
			h.signs[at] |= p << (logSign*west + 16*k)
		}
	}
	h.zeros, h.hasZeros = h.zeros[:0], options&hasZeros != 0
	if h.hasZeros && !s.cut && !h.readZeros(&b, s.N(), width) {
		return false
	}
	in.Bytes((b.pos + 7) / 8)
	return !in.Bad
}

// readZeros reads the trailing zeros of the groups of n positions.
func (h *head) readZeros(b *bitReader, n, width int) bool {
	h.zeros = h.zeros[:0]
	k, t := uint(b.get(3)), 0
	groups := (n + entropy.GroupLen - 1) / entropy.GroupLen
	if groups*int(k+1)/8 > len(b.buf)-b.pos/8 {
		return false // before memory is taken for them
	}
	for range groups {
		if t += b.difference(k); t < 0 || t >= width {
			return false
		}
		h.zeros = append(h.zeros, uint8(t))
	}
	return true
}

// table reads a table of slots for some classes, with a few elements after it that may be set.
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
		if n > 0 {
			kernels.Ramp(t, math.Float32bits(magnitude(uint8(first+i)))|uint32(n-1)<<logSlots, n)
			t = t[n:]
		}
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
