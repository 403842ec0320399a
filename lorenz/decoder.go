package lorenz

import (
	"context"
	"fmt"

	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
	"github.com/cdfz-format/cdfz/lorenz/internal/matches"
	"github.com/cdfz-format/cdfz/lorenz/internal/parts"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/text"
)

// Decoder decodes blocks of one kind. It keeps buffers between calls and must not be
// used concurrently.
type Decoder struct {
	p    Params
	n    int // elements of a block
	size int // bytes of an element

	ctx  context.Context // of the decoding; nil for none
	stop entropy.Stop
	b    block
	y32  []uint32
	y64  []uint64
	f32  feed[uint32]
	f64  feed[uint64]
	a32  *adaptive.Model[uint32] // of modeAdaptive
	a64  *adaptive.Model[uint64]
	c32  *contexts.Decoder[uint32] // of modeContexts
	c64  *contexts.Decoder[uint64]

	matches *matches.Decoder // of modeMatches
	text    *text.Decoder    // of modeText
	whole   []byte           // scratch: a block in one of these
	span    []byte           // scratch: all elements from the first run to the last
	sub     *Decoder         // decodes parts
	list    []parts.Part
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
	d.begin(src[0])
	ok := false
	switch body := src[1:]; src[0] {
	case modeRaw:
		ok = len(body) == d.n*d.size
		if ok {
			copy(dst, body[i*d.size:])
		}
		return d.check(ok)
	case modeConst:
		ok = len(body) == d.size && d.n > 0
		if ok {
			kernels.Fill(dst, body)
		}
		return d.check(ok)
	case modeParts:
		return d.check(d.parts(dst, body, i, j, d.part))
	case modeGroups, modeAdaptive, modeReferences, modeContexts:
		ok = d.n > 0 && d.b.parse(&d.p, d.n, body) && d.groups(dst, i, j)
	case modeMatches, modeText:
		ok = d.n > 0 && d.bytes(src[0], dst, body, i, j)
	default:
		return fmt.Errorf("%w: expected a mode up to %d, found %d: it needs a later version of cdfz, if it is not damaged", ErrCorrupt, modeContexts, src[0])
	}
	if ok && d.p.Order == LittleEndian {
		d.swap(dst)
	}
	return d.check(ok)
}

// begin prepares the decoding of a block in a mode.
func (d *Decoder) begin(mode byte) {
	d.stop.Reset(nil)
	if d.ctx != nil {
		d.stop.Reset(d.ctx.Done())
	}
	d.b.begin(mode, &d.stop)
}

// Until makes decoding stop with the error of ctx within milliseconds after ctx is done. With nil,
// the default, decoding is not stopped.
func (d *Decoder) Until(ctx context.Context) { d.ctx = ctx }

// part decodes elements of a part of a block.
func (d *Decoder) part(p Params, dst, src []byte, i, j int) bool {
	if d.sub == nil {
		d.sub = new(Decoder)
	}
	d.sub.ctx = d.ctx
	return d.sub.Reset(p) == nil && d.sub.DecodeRange(dst, src, i, j) == nil
}

// check returns the error of decoding.
func (d *Decoder) check(ok bool) error {
	if d.ctx != nil && d.ctx.Err() != nil {
		return d.ctx.Err() // even if the block is corrupt, too
	}
	if !ok {
		return ErrCorrupt
	}
	return nil
}

// swap reverses the bytes of each element. After a stop it may leave some.
func (d *Decoder) swap(b []byte) {
	for len(b) > 0 && !d.stop.After(placed) {
		k := min(len(b), placed)
		swap(b[:k], d.size)
		b = b[k:]
	}
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
		return place(b, dst, d.y64, w, i, j)
	}
	return place(b, dst, d.y32, w, i, j)
}

// widened returns the window with all planes if decoding fewer planes saves no time: the columns are
// then not adjacent in the streams, and each of them is decoded with chunks of its own.
func widened(w predict.Window) predict.Window {
	all := w.N / w.Plane
	if w.Columns() > 1 && (all-w.Planes())*w.Width < w.Columns()*entropy.ChunkSyms {
		w.P0, w.P1 = 0, all
	}
	return w
}

// lanes decodes a window to y64 or y32.
func (d *Decoder) lanes(w predict.Window) bool {
	if d.b.wide {
		return restored(&d.b, &d.y64, &d.f64, &d.a64, &d.c64, w)
	}
	return restored(&d.b, &d.y32, &d.f32, &d.a32, &d.c32, w)
}

// place writes the elements [i, j) of a window. It reports false after a stop.
func place[T lane](b *block, dst []byte, y []T, w predict.Window, i, j int) bool {
	return w.EachPiece(b.stop, 0, w.Columns(), func(e, at, n int) bool {
		from, to := max(e, i), min(e+n, j)
		for from < to {
			k := min(to-from, placed)
			b.mask.EachUseful(from, k, func(from, n int) {
				put(b, dst[(from-i)*b.size:(from+n-i)*b.size], y[at+from-e:at+from+n-e])
			})
			if from += k; from < to && b.stop.After(k) {
				return false
			}
		}
		return true
	}) && b.finish(dst, i)
}

// placed is how many elements are written between two checks of stop.
const placed = 1 << 20

// finish writes special values and patches. dst begins at element at.
func (b *block) finish(dst []byte, at int) bool {
	b.mask.Stamp(dst, b.size, at)
	return b.patch(at, len(dst)/b.size, func(e int, value []byte) { copy(dst[(e-at)*b.size:], value) })
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
