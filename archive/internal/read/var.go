package read

import (
	"context"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// Var has the values of a variable with blocks of its own. Package slab reads them.
type Var struct {
	*ioat.Source // their bytes
	a            *Reader
	g            *plan.Geometry
	pos          int // position in the plan
}

var (
	_ slab.Blocks = (*Var)(nil)
	_ slab.Shaped = (*Var)(nil)
)

// Var returns the values of variable pos of the plan.
func (a *Reader) Var(pos int) *Var {
	g := a.L.Geoms[pos]
	return &Var{a.Raw(context.Background()).Section(g.RawOff, g.RawLen), a, g, pos}
}

// BlockShape implements slab.Shaped.
func (v *Var) BlockShape() []int64 { return v.g.Block }

// Bytes implements slab.Blocks. It leaves blocks that are not in the cache to EachBlock, which reuses
// memory.
func (v *Var) Bytes(_ context.Context, off, n int64) (data []byte, err error) {
	b, in := v.g.Find(off)
	if _, have := v.g.At(b); v.a.cache.BlockCache == nil || in+n > have {
		return nil, nil
	}
	if d, ok := v.a.cache.hit(request{Block: v.a.L.BlockOf(v.pos, b), lo: in, hi: in + n}); ok {
		return d.b[in-d.off:][:n], nil
	}
	return nil, nil
}

// EachBlock implements slab.Blocks.
func (v *Var) EachBlock(ctx context.Context, s slab.Sel, f func(slab.Block) error) error {
	var failed error
	requests := func(yield func(request) bool) {
		failed = s.Grid(v.g.Shape, v.g.Block, func(grid []int64, lo, hi int64) bool {
			b := int64(0)
			for i, g := range grid {
				b = b*v.g.Grid[i] + g
			}
			return yield(v.partOf(b, lo, hi))
		})
	}
	asked, err := s.Len(v.g.Shape)
	if err != nil {
		return err
	}
	err = v.a.each(ctx, requests, asked*v.g.Size, func(q request, d data) error {
		return v.give(q.B, d, f)
	})
	if failed != nil {
		return failed
	}
	return err
}

// partOf is Reader.partOf for a selection whose first element in a block is lo, and whose
// last one is hi-1. Only the same part of each plane, the last two dimensions, is decoded if
// that is less than half of it.
func (v *Var) partOf(b, lo, hi int64) request {
	q := v.a.partOf(v.pos, b, lo*v.g.Size, hi*v.g.Size)
	n := len(v.g.Block)
	if n < 3 || v.a.Remote || v.a.grain(v.pos) != v.g.Size {
		return q
	}
	row := v.g.Block[n-1]
	plane := row * v.g.Block[n-2]
	first, last := lo/plane, (hi-1)/plane
	// Selections are boxes, so these are the corners of this one.
	from, to := lo%plane, (hi-1)%plane+1
	if from/row != (to-1)/row {
		from, to = from/row*row, plan.CeilDiv(to, row)*row
	}
	if first == last || to-from > plane/2 {
		return q
	}
	// The planes must be a box, too.
	unit := int64(1)
	for i := n - 3; i > 0 && first/(unit*v.g.Block[i]) != last/(unit*v.g.Block[i]); i-- {
		unit *= v.g.Block[i]
	}
	first, last = first/unit*unit, last/unit*unit+unit-1
	q.lo, q.hi = (first*plane+from)*v.g.Size, (last*plane+to)*v.g.Size
	q.planes = planes{(to - from) * v.g.Size, plane * v.g.Size, last - first + 1}
	return q
}

// boxOf narrows the box of a block to the part that partOf chose.
func (v *Var) boxOf(d data, start, count []int64) {
	n := len(start)
	row := v.g.Block[n-1]
	plane := row * v.g.Block[n-2]
	at, length := d.off/v.g.Size, d.planes.len/v.g.Size
	start[n-2] += at % plane / row
	start[n-1] += at % row
	count[n-2], count[n-1] = max(1, length/row), min(length, row)
	first, planes := at/plane, d.planes.count
	for i := n - 3; i >= 0; i-- {
		start[i] += first % v.g.Block[i]
		count[i] = min(planes, v.g.Block[i])
		first, planes = first/v.g.Block[i], planes/count[i]
	}
}

// give passes on the values of a block, without padding.
func (v *Var) give(b int64, d data, f func(slab.Block) error) error {
	start, count := v.g.Box(b)
	if d.planes.count > 0 {
		v.boxOf(d, start, count)
		return f(slab.Block{Start: start, Count: count, Data: d.b})
	}
	_, n := v.g.At(b)
	return f(slab.Block{Start: start, Count: count, Data: d.b[:min(int64(len(d.b)), n-d.off)], Off: d.off})
}
