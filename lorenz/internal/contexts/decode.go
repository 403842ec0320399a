package contexts

import "github.com/cdfz-format/cdfz/lorenz/internal/entropy"

// Decoder decodes blocks. It keeps its memory from block to block.
type Decoder[T entropy.Lane] struct {
	head
	coder  rowCoder
	line   []T // a row
	shape  Shape
	places []byte // of columns that follow: for each the words and the bytes of the low bits
	body   []byte // these columns
	column int    // the first one of them
	list   []byte // places of all columns
	whole  []byte // all of them
}

// Open reads a block up to its columns. The block must fit its shape.
func (d *Decoder[T]) Open(in *entropy.Reader, s Shape) bool {
	if !d.read(in, s, int(entropy.LaneBits[T]())) {
		return false
	}
	d.shape = s
	d.list = in.Buf
	if s.cut {
		sum := int64(0)
		for range s.Columns() {
			words, low := in.Int(len(in.Buf)/2), in.Int(len(in.Buf))
			if in.Bad {
				return false
			}
			sum += 4*stripes + 2*int64(words) + int64(low)
		}
		if sum != int64(len(in.Buf)) {
			return false
		}
	}
	d.whole, in.Buf = in.Buf, nil
	d.rewind()
	return true
}

// rewind goes to the first column.
func (d *Decoder[T]) rewind() { d.column, d.places, d.body = 0, d.list, d.whole }

// next returns the states, words and low bits of the next column.
func (d *Decoder[T]) next() (c parts, ok bool) {
	in := entropy.Reader{Buf: d.body}
	d.column++
	if !d.shape.cut {
		c.states = in.Bytes(4 * stripes)
		c.words = in.Bytes(2 * in.Int(len(in.Buf)/2))
		c.low = in.Buf
		return c, !in.Bad
	}
	at := entropy.Reader{Buf: d.places}
	words, low := at.Int(len(d.body)), at.Int(len(d.body))
	c.states, c.words, c.low = in.Bytes(4*stripes), in.Bytes(2*words), in.Bytes(low)
	d.places, d.body = at.Buf, in.Buf
	return c, true
}

// parts are the parts of a column.
type parts struct{ states, words, low []byte }

// Decode sets r to the residuals of the first elements of a column, those of masked ones to 0. masked has a bit for
// each element of the block, or is nil if none is masked. Turned blocks must be decoded as a whole. It also reports
// false after a stop.
func (d *Decoder[T]) Decode(r []T, column int, masked []uint64, stop *entropy.Stop) bool {
	if column < d.column {
		d.rewind()
	}
	for d.column < column {
		d.next()
	}
	c := &d.coder
	s := d.shape.Column(column)
	parts, ok := d.next()
	if !ok || !c.begin(&d.head, s, parts) {
		return false
	}
	low := lowReader{buf: parts.low}
	zeros := d.zeros
	if d.shape.cut && d.hasZeros {
		b := bitReader{buf: low.buf}
		if !d.readZeros(&b, s.N(), int(entropy.LaneBits[T]())) {
			return false
		}
		zeros, low.pos = d.zeros, b.pos
	}
	rows := (len(r) + s.row - 1) / s.row
	for g := range rows {
		if !c.mask(masked, g) {
			c.skip(g)
		} else if !c.decode(&d.head, g) {
			return false
		}
		if stop.After(rowTime * s.row) {
			return false
		}
		at := g * s.row
		if s.turned || len(r)-at < s.row {
			d.line = entropy.Grow(d.line, s.row)
			residuals(d.line, c.inOrder(g), zeros, at, max(1, int(lowBits(uint8(d.last)))), &low)
			if !s.turned {
				copy(r[at:], d.line)
				break
			}
			for i, v := range d.line {
				r[i*s.rows+g] = v
			}
			continue
		}
		residuals(r[at:at+s.row], c.inOrder(g), zeros, at, max(1, int(lowBits(uint8(d.last)))), &low)
	}
	return rows < s.rows || c.ended() && low.ended()
}

// rowTime is about how many nanoseconds an element takes.
const rowTime = 8

// Memory bounds the bytes that a new decoder allocates for blocks of this shape.
func Memory(s Shape, size int) int64 {
	if s.dims == 0 || s.dims > 1 && s.row > mostRow {
		return 0
	}
	n := s.N()
	s.row = min(s.row, mostRow)
	s.plane = min(s.plane, mostRow/s.row)
	var c grid
	c.set(s)
	stride := c.stride
	memory := int64(ring(s)*stride+slack)*6 + int64(stride)*8 + mostTables*slots*4 + 16<<10
	return memory + int64(n/entropy.GroupLen*5/4) + int64(s.row*max(size, 4))
}
