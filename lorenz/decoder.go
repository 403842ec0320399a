package lorenz

import (
	"fmt"

	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/bytecoder"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/parts"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/repeats"
	"github.com/cdfz-format/cdfz/lorenz/internal/text"
)

// Decoder decodes blocks of one kind. It keeps buffers between calls and must not be
// used concurrently.
type Decoder struct {
	p    Params
	n    int // elements of a block
	size int // bytes of an element

	b   block
	y32 []uint32
	y64 []uint64
	r32 []uint32
	r64 []uint64
	a32 *adaptive.Model[uint32] // of modeAdaptive
	a64 *adaptive.Model[uint64]

	text  text.Decoder     // of modeText
	model *bytecoder.Model // of modeBytes
	whole []byte           // a block in modeBytes or modeText
	span  []byte           // all elements from the first run to the last
	sub   *Decoder         // of parts
	list  []parts.Part
}

// NewDecoder returns a decoder of blocks with these parameters.
func NewDecoder(p Params) (*Decoder, error) {
	d := new(Decoder)
	if err := d.Reset(p); err != nil {
		return nil, err
	}
	return d, nil
}

// Reset makes d a decoder of other blocks. It keeps the buffers.
func (d *Decoder) Reset(p Params) error {
	n, err := p.check()
	if err != nil {
		return err
	}
	d.p, d.n, d.size = p, n, p.Type.Size()
	return nil
}

// Decode restores a block to dst, which must be as long as the block.
func (d *Decoder) Decode(dst, src []byte) error {
	return d.DecodeRange(dst, src, 0, d.n)
}

// DecodeRange restores the elements [i, j) of a block to dst, whose length must be
// theirs. Most blocks are decoded only around the range.
func (d *Decoder) DecodeRange(dst, src []byte, i, j int) error {
	if i < 0 || j < i || j > d.n {
		return fmt.Errorf("lorenz: expected a range of elements within 0 and %d, found %d to %d", d.n, i, j)
	}
	if len(dst) != (j-i)*d.size {
		return fmt.Errorf("lorenz: expected a buffer of %d bytes, found %d", (j-i)*d.size, len(dst))
	}
	if len(src) == 0 {
		return ErrCorrupt
	}
	if i == j && d.n > 0 {
		return nil
	}
	ok := false
	switch body := src[1:]; src[0] {
	case modeRaw:
		ok = len(body) == d.n*d.size
		if ok {
			copy(dst, body[i*d.size:])
		}
		return check(ok)
	case modeConst:
		ok = len(body) == d.size && d.n > 0
		if ok {
			kernels.Fill(dst, body)
		}
		return check(ok)
	case modeParts:
		return check(d.parts(dst, body, i, j, d.part))
	case modeGroups, modeAdaptive, modeReferences:
		d.b.mode = src[0]
		ok = d.n > 0 && d.b.parse(&d.p, d.n, body) && d.groups(dst, i, j)
	case modeBytes, modeText:
		ok = d.n > 0 && d.bytes(dst, src, i, j)
	}
	if ok && d.p.Order == LittleEndian {
		swap(dst, d.size)
	}
	return check(ok)
}

// part decodes elements of a part of a block.
func (d *Decoder) part(p Params, dst, src []byte, i, j int) bool {
	if d.sub == nil {
		d.sub = new(Decoder)
	}
	return d.sub.Reset(p) == nil && d.sub.DecodeRange(dst, src, i, j) == nil
}

func check(ok bool) error {
	if !ok {
		return ErrCorrupt
	}
	return nil
}

// groups decodes elements of a block in modeGroups.
func (d *Decoder) groups(dst []byte, i, j int) bool {
	b := &d.b
	w := b.Full()
	if b.ranged {
		w = widened(b.Window(i, j, b.deep)).Until(j)
	}
	if !d.lanes(w) {
		return false
	}
	if b.wide {
		place(b, dst, d.y64, w, i, j)
	} else {
		place(b, dst, d.y32, w, i, j)
	}
	return true
}

// widened returns the window with all planes if it saves nothing to leave some out. They must
// outweigh the chunks that each column has apart.
func widened(w predict.Window) predict.Window {
	all := w.N / w.Plane
	if w.Columns() > 1 && (all-w.Planes())*w.Width < w.Columns()*entropy.ChunkSyms {
		w.P0, w.P1 = 0, all
	}
	return w
}

// lanes decodes a window to y64 or y32.
func (d *Decoder) lanes(w predict.Window) bool {
	b := &d.b
	if b.wide {
		d.y64 = entropy.Grow(d.y64, w.Len()+masks.Slack)
		if !residuals(b, d.y64, &d.r64, &d.a64, w) {
			return false
		}
		predict.Restore(&b.buf, b.pred, d.y64[:w.Len()], w)
		return true
	}
	d.y32 = entropy.Grow(d.y32, w.Len()+masks.Slack)
	if !residuals(b, d.y32, &d.r32, &d.a32, w) {
		return false
	}
	predict.Restore(&b.buf, b.pred, d.y32[:w.Len()], w)
	return true
}

// residuals decodes the residuals of a window to y, which has room for masks.Slack more.
// tmp and m are buffers.
func residuals[T lane](b *block, y []T, tmp *[]T, m **adaptive.Model[T], w predict.Window) bool {
	switch b.mode {
	case modeAdaptive:
		return adapted(b, m, y[:w.Len()])
	case modeReferences:
		return referred(b, y, tmp, w.Len())
	}
	if b.lz || b.transposed > 0 {
		return reordered(b, y, tmp, w.Len())
	}
	step := 1
	if w.AllPlanes() {
		step = w.Columns()
	}
	for q := 0; q < w.Columns(); q += step {
		if !columns(b, y, tmp, w, q, q+step) {
			return false
		}
	}
	return true
}

// columns decodes the residuals of columns that are adjacent in the block.
func columns[T lane](b *block, y []T, tmp *[]T, w predict.Window, q0, q1 int) bool {
	start, _ := w.Column(q0)
	last, width := w.Column(q1 - 1)
	lo := b.rank(w.Start/w.Cell+q0, w.P0)
	if !b.mask.Used {
		hi := lo + last - start + w.Planes()*width
		a, z := lo/entropy.GroupLen, (hi+entropy.GroupLen-1)/entropy.GroupLen
		if lo%entropy.GroupLen == 0 && len(y)-start >= (z-a)*entropy.GroupLen {
			return entropy.DecodeGroups(&b.g, y[start:], a, z)
		}
		*tmp = entropy.Grow(*tmp, (z-a)*entropy.GroupLen)
		if !entropy.DecodeGroups(&b.g, *tmp, a, z) {
			return false
		}
		copy(y[start:start+hi-lo], (*tmp)[lo-a*entropy.GroupLen:])
		return true
	}
	hi := lo
	w.EachPiece(q0, q1, func(e, _, n int) { hi += b.mask.Rank(e+n) - b.mask.Rank(e) })
	a, z := lo/entropy.GroupLen, (hi+entropy.GroupLen-1)/entropy.GroupLen
	*tmp = entropy.Grow(*tmp, (z-a)*entropy.GroupLen)
	if !entropy.DecodeGroups(&b.g, *tmp, a, z) {
		return false
	}
	res := (*tmp)[lo-a*entropy.GroupLen:]
	w.EachPiece(q0, q1, func(e, at, n int) {
		masks.Expand(b.mask, y[at:], n, res, e)
		res = res[b.mask.Rank(e+n)-b.mask.Rank(e):]
	})
	return true
}

// rank returns how many unmasked elements are before cell q of plane p in the order of the
// residuals: the cells before q of all planes, and cell q of the planes before p.
func (b *block) rank(q, p int) int {
	c := q * b.Cell
	width := min(b.Cell, b.Plane-c)
	if !b.mask.Used {
		return c*(b.N/b.Plane) + p*width
	}
	sum := 0
	for at := 0; at < b.N; at += b.Plane {
		sum += b.mask.Rank(at+c) - b.mask.Rank(at)
		if at < p*b.Plane {
			sum += b.mask.Rank(at+c+width) - b.mask.Rank(at+c)
		}
	}
	return sum
}

// reordered decodes residuals that are stored in another order or with repeats.
func reordered[T lane](b *block, y []T, tmp *[]T, n int) bool {
	g := b.g.Groups()
	m := b.mask.Rank(n)
	*tmp = entropy.Grow(*tmp, g*entropy.GroupLen+m)
	vals, out := (*tmp)[:g*entropy.GroupLen], (*tmp)[g*entropy.GroupLen:]
	if !entropy.DecodeGroups(&b.g, vals, 0, g) {
		return false
	}
	if b.lz {
		repeats.Copy(&b.tokens, out, vals)
		vals = out
	}
	if b.transposed > 0 {
		transposeBack(y[:n], vals, b.transposed)
		return true
	}
	masks.Expand(b.mask, y, n, vals, 0)
	return true
}

// transposeBack undoes the order of every s-th element.
func transposeBack[T lane](dst, src []T, s int) {
	for j := range s {
		for i := j; i < len(dst); i += s {
			dst[i] = src[0]
			src = src[1:]
		}
	}
}

// place writes the elements [i, j) of a window.
func place[T lane](b *block, dst []byte, y []T, w predict.Window, i, j int) {
	w.EachPiece(0, w.Columns(), func(e, at, n int) {
		from, to := max(e, i), min(e+n, j)
		if from < to {
			b.mask.EachUseful(from, to-from, func(from, n int) {
				put(b, dst[(from-i)*b.size:(from+n-i)*b.size], y[at+from-e:at+from+n-e])
			})
		}
	})
	b.mask.Stamp(dst, b.size, i)
	b.patch(dst, i)
}

// put writes the elements whose lanes are y.
func put[T lane](b *block, dst []byte, y []T) {
	switch y := any(y).(type) {
	case []uint32:
		if b.pred.IsFloat() {
			putBits32(dst, y)
			return
		}
		b.put32(dst, y)
	case []uint64:
		if b.pred.IsFloat() {
			putBits64(dst, y)
			return
		}
		b.put64(dst, y)
	}
}
