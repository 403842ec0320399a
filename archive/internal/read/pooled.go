package read

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// wholePooled is the longest variable of a pool that is read in one piece. Writers put no
// longer ones there.
const wholePooled = 4 << 20

// pooledVar reads the values of a variable in a pool. Package slab sees the variable as a
// single block.
type pooledVar struct {
	*ioat.Source // the values
	a            *Reader
	m            plan.Member
	shape        []int64
	size         int64 // of an element
}

var (
	_ slab.Blocks = (*pooledVar)(nil)
	_ slab.Shaped = (*pooledVar)(nil)
)

// PooledVar returns the values of a variable in a pool, whose elements have size bytes.
func (a *Reader) PooledVar(m plan.Member, shape []int64, size int64) io.ReaderAt {
	r := a.Raw(context.Background()).Section(m.Off, m.Len)
	if m.Len > wholePooled {
		return r
	}
	return &pooledVar{r, a, m, shape, size}
}

// BlockShape implements slab.Shaped.
func (v *pooledVar) BlockShape() []int64 { return v.shape }

// Bytes implements slab.Blocks.
func (v *pooledVar) Bytes(ctx context.Context, off, n int64) ([]byte, error) {
	block, in, left := v.a.L.FindRaw(v.m.Off + off)
	if n > left {
		return nil, nil
	}
	d, ok := v.a.cache.hit(whole(block))
	if !ok {
		return nil, nil
	}
	return d.b[in-d.off:][:n], nil
}

// EachBlock implements slab.Blocks.
func (v *pooledVar) EachBlock(ctx context.Context, s slab.Sel, f func(slab.Block) error) error {
	var read error
	err := s.Grid(v.shape, v.shape, func(_ []int64, lo, hi int64) bool {
		b := slab.Block{Start: make([]int64, len(v.shape)), Count: v.shape, Data: make([]byte, (hi-lo)*v.size), Off: lo * v.size}
		if read = ioat.ReadFull(ioat.Bind(ctx, v.Source), b.Data, b.Off); read == nil {
			read = f(b)
		}
		return read == nil
	})
	if err == nil {
		err = read
	}
	return err
}
