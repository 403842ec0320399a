package contexts

import "github.com/cdfz-format/cdfz/lorenz/internal/entropy"

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

// Memory bounds the bytes that a new decoder allocates for blocks of this shape.
func Memory(s Shape, size int) int64 {
	if !s.Valid() {
		return 0
	}
	stride, ring := storage(s)
	memory := int64(ring*stride+slack)*6 + int64(stride)*4 + mostTables*slots*4 + 16<<10
	return memory + int64(s.N()/entropy.GroupLen*5/4) + int64(s.row*max(size, 4))
}
