package read

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// blockedVar implements the values of a blocked variable.
type blockedVar struct {
	io.ReaderAt // their bytes
	a           *Reader
	g           *plan.Geometry
	pos         int // position in the plan
}

var (
	_ slab.Blocks = (*blockedVar)(nil)
	_ slab.Shaped = (*blockedVar)(nil)
)

// NewBlockedVar returns the values of variable pos of the plan.
func NewBlockedVar(a *Reader, pos int) *blockedVar {
	g := a.L.Geoms[pos]
	return &blockedVar{io.NewSectionReader(rawReader{a: a}, g.RawOff, g.RawLen), a, g, pos}
}

// BlockShape implements slab.Shaped.
func (v *blockedVar) BlockShape() []int64 { return v.g.Block }

// View implements slab.Blocks. It leaves blocks that are not in the cache to EachBlock, which reuses
// memory.
func (v *blockedVar) View(_ context.Context, off, n int64) (data []byte, err error) {
	b, in := v.g.Find(off)
	if _, have := v.g.At(b); v.a.cache == nil || in+n > have {
		return nil, nil
	}
	if d, ok := v.a.peek(need{Block: v.a.L.BlockOf(v.pos, b), lo: in, hi: in + n}); ok {
		return d.b[in-d.off:][:n], nil
	}
	return nil, nil
}

// EachBlock implements slab.Blocks.
func (v *blockedVar) EachBlock(ctx context.Context, s slab.Sel, f func(slab.Block) error) error {
	var failed error
	needs := func(yield func(need) bool) {
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
	err = v.a.eachNeed(ctx, needs, asked*v.g.Size, func(q need, data blockData) error {
		return v.give(q.B, data, f)
	})
	if failed != nil {
		return failed
	}
	return err
}

// partOf is Reader.partOf for a selection whose first element in a block is lo, and whose
// last one is hi-1. Only the same part of each plane, the last two dimensions, is decoded if
// that is less than half of it.
func (v *blockedVar) partOf(b, lo, hi int64) need {
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
	q.runs = runs{(to - from) * v.g.Size, plane * v.g.Size, last - first + 1}
	return q
}

// boxOf narrows the box of a block to the part that partOf chose.
func (v *blockedVar) boxOf(data blockData, start, count []int64) {
	n := len(start)
	row := v.g.Block[n-1]
	plane := row * v.g.Block[n-2]
	at, length := data.off/v.g.Size, data.runs.len/v.g.Size
	start[n-2] += at % plane / row
	start[n-1] += at % row
	count[n-2], count[n-1] = max(1, length/row), min(length, row)
	first, planes := at/plane, data.runs.count
	for i := n - 3; i >= 0; i-- {
		start[i] += first % v.g.Block[i]
		count[i] = min(planes, v.g.Block[i])
		first, planes = first/v.g.Block[i], planes/count[i]
	}
}

// give passes on the values of a block, without padding.
func (v *blockedVar) give(b int64, data blockData, f func(slab.Block) error) error {
	start, count := v.g.Box(b)
	if data.runs.count > 0 {
		v.boxOf(data, start, count)
		return f(slab.Block{Start: start, Count: count, Data: data.b})
	}
	_, n := v.g.At(b)
	return f(slab.Block{Start: start, Count: count, Data: data.b[:min(int64(len(data.b)), n-data.off)], Off: data.off})
}

// wholePooled is the longest variable of a pool that is read in one piece. Writers put no
// longer ones there.
const wholePooled = 4 << 20

// pooledVar reads the values of a variable in a pool. Package slab sees the variable as a
// single block.
type pooledVar struct {
	io.ReaderAt // the values
	a           *Reader
	m           plan.Member
	shape       []int64
	size        int64 // of an element
}

var (
	_ slab.Blocks = (*pooledVar)(nil)
	_ slab.Shaped = (*pooledVar)(nil)
)

// NewPooledVar returns the values of a variable in a pool, whose elements have size bytes.
func NewPooledVar(a *Reader, m plan.Member, shape []int64, size int64) io.ReaderAt {
	r := ioat.NewSection(rawReader{a: a}, m.Off, m.Len)
	if m.Len > wholePooled {
		return r
	}
	return &pooledVar{r, a, m, shape, size}
}

// BlockShape implements slab.Shaped.
func (v *pooledVar) BlockShape() []int64 { return v.shape }

// View implements slab.Blocks.
func (v *pooledVar) View(ctx context.Context, off, n int64) ([]byte, error) {
	block, in, left := v.a.L.FindRaw(v.m.Off + off)
	if n > left {
		return nil, nil
	}
	data, ok := v.a.peek(whole(block))
	if !ok {
		return nil, nil
	}
	return data.b[in-data.off:][:n], nil
}

// EachBlock implements slab.Blocks.
func (v *pooledVar) EachBlock(ctx context.Context, s slab.Sel, f func(slab.Block) error) error {
	var read error
	err := s.Grid(v.shape, v.shape, func(_ []int64, lo, hi int64) bool {
		b := slab.Block{Start: make([]int64, len(v.shape)), Count: v.shape, Data: make([]byte, (hi-lo)*v.size), Off: lo * v.size}
		if read = ioat.ReadFull(ioat.Bind(ctx, v.ReaderAt), b.Data, b.Off); read == nil {
			read = f(b)
		}
		return read == nil
	})
	if err == nil {
		err = read
	}
	return err
}
