package lorenz

import (
	"fmt"

	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/bytecoder"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
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
			fillElements(dst, body)
		}
		return check(ok)
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

func check(ok bool) error {
	if !ok {
		return ErrCorrupt
	}
	return nil
}

// fillElements repeats an element.
func fillElements(dst, element []byte) {
	n := copy(dst, element)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// groups decodes elements of a block in modeGroups.
func (d *Decoder) groups(dst []byte, i, j int) bool {
	b := &d.b
	w := b.layout.full()
	if b.ranged {
		if r := b.window(i, j, b.deep); (r.p1-r.p0)*entropy.ChunkSyms < d.n {
			w = r
		}
	}
	if b.wide {
		d.y64 = entropy.Grow(d.y64, w.len()+entropy.GroupLen)
		if !residuals(b, d.y64, &d.r64, &d.a64, w) {
			return false
		}
		b.restore64(d.y64[:w.len()], w)
		place(b, dst, d.y64, w, i, j)
		return true
	}
	d.y32 = entropy.Grow(d.y32, w.len()+entropy.GroupLen)
	if !residuals(b, d.y32, &d.r32, &d.a32, w) {
		return false
	}
	b.restore32(d.y32[:w.len()], w)
	place(b, dst, d.y32, w, i, j)
	return true
}

// restore32 turns residuals into lanes, or with a float predictor into bits.
func (b *block) restore32(y []uint32, w window) {
	if b.isFloat {
		b.float.restore32(y, w, &b.sums)
		return
	}
	integrate(y, w, b.chain)
}

func (b *block) restore64(y []uint64, w window) {
	if b.isFloat {
		b.float.restore64(y, w)
		return
	}
	integrate(y, w, b.chain)
}

// residuals decodes the residuals of a window to y, which has room for one more group.
// tmp and m are buffers.
func residuals[T lane](b *block, y []T, tmp *[]T, m **adaptive.Model[T], w window) bool {
	switch b.mode {
	case modeAdaptive:
		return adapted(b, m, y[:w.len()])
	case modeReferences:
		return referred(b, y, tmp, w.len())
	}
	if b.lz || b.transposed > 0 {
		return reordered(b, y, tmp, w.len())
	}
	for p := w.p0; p < w.p1; p++ {
		e0 := p*w.plane + w.start
		e1 := e0 + w.width
		out := y[(p-w.p0)*w.width:]
		if w.width == w.plane { // the remaining planes are adjacent
			e1 = w.p1 * w.plane
			p = w.p1
		}
		lo, hi := b.mask.rank(e0), b.mask.rank(e1)
		a, z := lo/entropy.GroupLen, (hi+entropy.GroupLen-1)/entropy.GroupLen
		if !b.mask.used && lo%entropy.GroupLen == 0 && len(out) >= (z-a)*entropy.GroupLen {
			if !entropy.DecodeGroups(&b.g, out, a, z) {
				return false
			}
			continue
		}
		*tmp = entropy.Grow(*tmp, (z-a)*entropy.GroupLen)
		if !entropy.DecodeGroups(&b.g, *tmp, a, z) {
			return false
		}
		expand(&b.mask, out[:e1-e0], (*tmp)[lo-a*entropy.GroupLen:], e0)
	}
	return true
}

// reordered decodes residuals that are stored in another order or with repeats.
func reordered[T lane](b *block, y []T, tmp *[]T, n int) bool {
	g := b.g.Groups()
	m := b.mask.rank(n)
	*tmp = entropy.Grow(*tmp, g*entropy.GroupLen+m)
	vals, out := (*tmp)[:g*entropy.GroupLen], (*tmp)[g*entropy.GroupLen:]
	if !entropy.DecodeGroups(&b.g, vals, 0, g) {
		return false
	}
	if b.lz {
		copyRepeats(&b.tokens, out, vals)
		vals = out
	}
	if b.transposed > 0 {
		transposeBack(y[:n], vals, b.transposed)
		return true
	}
	expand(&b.mask, y[:n], vals, 0)
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
func place[T lane](b *block, dst []byte, y []T, w window, i, j int) {
	for i < j {
		p := i / w.plane
		end := min(j, (p+1)*w.plane)
		if w.width == w.plane {
			end = j
		}
		at := (p-w.p0)*w.width + i - p*w.plane - w.start
		n := end - i
		put(b, dst[:n*b.size], y[at:at+n])
		b.mask.stamp(dst[:n*b.size], b.size, i)
		b.patch(dst[:n*b.size], i)
		dst, i = dst[n*b.size:], end
	}
}

// put writes the elements whose lanes are y.
func put[T lane](b *block, dst []byte, y []T) {
	switch y := any(y).(type) {
	case []uint32:
		if b.isFloat {
			putBits32(dst, y)
			return
		}
		b.put32(dst, y)
	case []uint64:
		if b.isFloat {
			putBits64(dst, y)
			return
		}
		b.put64(dst, y)
	}
}
