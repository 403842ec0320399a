package archive

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
	"github.com/cdfz-format/cdfz/unlimited"
)

const (
	// farReads is the number of runs of a remote classic file that one call reads at
	// the same time, and farRun bounds the bytes of each. Their product bounds the
	// memory of the call.
	farReads = 8
	farRun   = 4 << 20
	// farWalk bounds the boxes that slab.Walk reads: several runs.
	farWalk = 2 * farRun
)

// farVar reads the values of a variable of a classic file whose reads have a latency.
// It reads values in boxes that are short enough that reading the gaps inside a box is
// cheaper than skipping them. Nearby boxes share one read, and several reads run at the
// same time.
type farVar struct {
	*unlimited.Values
	shape, box []int64 // box holds consecutive values
	size       int64   // of a value
	gap        int64
}

var (
	_ slab.Blocks = (*farVar)(nil)
	_ slab.Shaped = (*farVar)(nil)
)

func newFarVar(r *unlimited.Values, shape []int64, size, gap int64) *farVar {
	v := &farVar{r, shape, boxWithin(shape, max(1, gap/size)), size, gap}
	if r.Stride > 0 {
		v.box[0] = min(v.box[0], max(1, gap/r.Stride))
	}
	return v
}

// boxWithin returns the shape of the largest box of at most room consecutive values in
// row-major order.
func boxWithin(shape []int64, room int64) []int64 {
	box := make([]int64, len(shape))
	for i := len(box) - 1; i >= 0; i-- {
		box[i] = max(1, min(shape[i], room))
		room /= box[i]
	}
	return box
}

// BlockShape implements slab.Shaped.
func (v *farVar) BlockShape() []int64 { return boxWithin(v.shape, max(1, farWalk/v.size)) }

// Bytes implements slab.Blocks.
func (v *farVar) Bytes(ctx context.Context, off, n int64) ([]byte, error) {
	if n == 0 || n > farRun || off/v.Len != (off+n-1)/v.Len {
		return nil, nil
	}
	p := make([]byte, n)
	return p, v.ReadImage(ctx, p, v.At(off))
}

// farBox is the needed part of a box: its bytes [lo, hi), counted from off. All of them
// are values.
type farBox struct{ off, lo, hi int64 }

// farBoxes are the boxes that one read fetches: a run of the image.
type farBoxes struct {
	boxes []farBox
	run   ioat.Span
}

// EachBlock implements slab.Blocks.
func (v *farVar) EachBlock(ctx context.Context, s slab.Sel, f func(slab.Block) error) error {
	g, work := errgroup.WithContext(ctx)
	g.SetLimit(farReads)
	join := ioat.Joiner{Gap: v.gap, Max: farRun}
	var r farBoxes
	give := func() {
		if now := r; len(now.boxes) > 0 {
			g.Go(func() error { return v.read(work, now, f) })
		}
	}
	var bad error
	err := s.Grid(v.shape, v.box, func(grid []int64, lo, hi int64) bool {
		off := int64(0)
		for i, g := range grid {
			off = off*v.shape[i] + g*v.box[i]
		}
		b := farBox{off * v.size, lo * v.size, hi * v.size}
		from, to := v.At(b.off+b.lo), v.At(b.off+b.hi-1)+1
		if from < 0 || to <= from {
			bad = fmt.Errorf("archive: variable at byte %d: values beyond what a file can hold", v.Off)
			return false
		}
		span := ioat.Span{Off: from, Len: to - from}
		if len(r.boxes) == 0 {
			r.run = span
		} else if longer, ok := join.Join(r.run, span); ok {
			r.run = longer
		} else {
			give()
			r = farBoxes{run: span}
		}
		r.boxes = append(r.boxes, b)
		return work.Err() == nil
	})
	if err == nil {
		err = bad
	}
	if err == nil {
		give()
	}
	failed := g.Wait()
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return failed
}

// read reads boxes and calls f with each.
func (v *farVar) read(ctx context.Context, r farBoxes, f func(slab.Block) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := make([]byte, r.run.Len)
	if err := v.ReadImage(ctx, p, r.run.Off); err != nil {
		return err
	}
	for _, b := range r.boxes {
		blk := slab.Block{Start: make([]int64, len(v.shape)), Count: make([]int64, len(v.shape)), Off: b.lo}
		n := b.off / v.size
		for i := len(v.shape) - 1; i >= 0; i-- {
			blk.Start[i] = n % v.shape[i]
			n /= v.shape[i]
			blk.Count[i] = min(v.box[i], v.shape[i]-blk.Start[i])
		}
		blk.Data = v.Cut(p, r.run.Off, b.off+b.lo, b.off+b.hi)
		if err := f(blk); err != nil {
			return err
		}
	}
	return nil
}
