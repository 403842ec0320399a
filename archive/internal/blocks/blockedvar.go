package blocks

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// maxRun bounds the stored bytes that are read together. Single blocks may be longer,
// and a remote archive reads several runs at once.
const (
	maxRun    = 64 << 20
	maxFarRun = 16 << 20
)

// blockedVar implements the values of a blocked variable.
type blockedVar struct {
	io.ReaderAt // their bytes
	a           *Reader
	g           *format.Geometry
	pos         int // position in the plan
}

var (
	_ slab.Blocks = (*blockedVar)(nil)
	_ slab.Shaped = (*blockedVar)(nil)
)

// NewBlockedVar returns the values of variable pos of the plan.
func NewBlockedVar(a *Reader, pos int) *blockedVar {
	g := a.L.Geoms[pos]
	return &blockedVar{io.NewSectionReader(rawReader{a}, g.RawOff, g.RawLen), a, g, pos}
}

// BlockShape implements slab.Shaped.
func (v *blockedVar) BlockShape() []int64 { return v.g.Block }

// View implements slab.Blocks. Without a cache it leaves all reads to EachBlock, which
// reuses memory.
func (v *blockedVar) View(ctx context.Context, off, n int64) (data []byte, err error) {
	b, in := v.g.Find(off)
	if _, have := v.g.At(b); v.a.cache == nil || in+n > have {
		return nil, nil
	}
	q := v.a.partOf(v.pos, b, in, in+n)
	if d, ok := v.a.peek(q); ok {
		return d.b[in-d.off:][:n], nil
	}
	return v.a.view(ctx, q, in, n)
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
			return yield(v.a.partOf(v.pos, b, lo*v.g.Size, hi*v.g.Size))
		})
	}
	err := v.a.eachNeed(ctx, needs, func(q need, data blockData) error {
		return v.give(q.B, data, f)
	})
	if failed != nil {
		return failed
	}
	return err
}

// give passes on the values of a block, without padding.
func (v *blockedVar) give(b int64, data blockData, f func(slab.Block) error) error {
	start, count := v.g.Box(b)
	_, n := v.g.At(b)
	return f(slab.Block{Start: start, Count: count, Data: data.b[:min(int64(len(data.b)), n-data.off)], Off: data.off})
}

// storedNeed is a need with the row of its block in the index.
type storedNeed struct {
	need
	row blockidx.Row
}

func (q storedNeed) span() ioat.Span { return ioat.Span{Off: q.row.Off, Len: q.row.Len} }

// inStoredOrder returns needs with their rows, in the order of their stored bytes.
func (a *Reader) inStoredOrder(ctx context.Context, needs []need) ([]storedNeed, error) {
	numbers := make([]int64, len(needs))
	for i := range needs {
		numbers[i] = needs[i].N
	}
	rows, err := a.indexUntil(ctx).Lookup(numbers, a.gap)
	if errors.Is(err, blockidx.ErrCorrupt) {
		err = Corrupt(err)
	}
	if err != nil {
		return nil, err
	}
	out := make([]storedNeed, len(needs))
	for i, row := range rows {
		if err := a.CheckRow(needs[i].Block, row); err != nil {
			return nil, err
		}
		out[i] = storedNeed{needs[i], row}
	}
	slices.SortStableFunc(out, func(x, y storedNeed) int { return cmp.Compare(x.row.Off, y.row.Off) })
	return out, nil
}

// joiner decides which blocks are read together. Without latency, several short runs
// keep the decoders busy and memory small.
func (a *Reader) joiner() ioat.Joiner {
	if a.far != nil {
		return ioat.Joiner{Gap: a.gap, Max: maxFarRun}
	}
	return ioat.Joiner{Gap: a.gap, Max: maxRun, Enough: 1 << 20}
}

// loadAll reads and decodes blocks in any order and calls use with each, from several
// goroutines. If keep is set, the blocks go into the cache.
func (a *Reader) loadAll(ctx context.Context, needs []need, keep bool, use func(need, blockData) error) error {
	stored, err := a.inStoredOrder(ctx, needs)
	if err != nil {
		return err
	}
	g, work := errgroup.WithContext(ctx)
	g.SetLimit(max(a.remote, a.Workers))
	for run, part := range ioat.Runs(a.joiner(), stored, storedNeed.span) {
		if work.Err() != nil {
			break
		}
		g.Go(func() error { return a.loadRun(work, run, part, keep, use) })
	}
	err = g.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// loadRun reads a run and decodes its blocks.
func (a *Reader) loadRun(ctx context.Context, run ioat.Span, part []storedNeed, keep bool, use func(need, blockData) error) error {
	if a.far != nil {
		if err := a.far.runs.Acquire(ctx, 1); err != nil {
			return err
		}
		defer a.far.runs.Release(1)
	}
	d := a.states.Get().(*decoder)
	defer a.states.Put(d)
	stored, err := a.readStored(ctx, d, run.Off, run.Len)
	if err != nil {
		return err
	}
	for _, q := range part {
		block := stored[q.row.Off-run.Off:][:q.row.Len]
		if err := a.fetchAgain(ctx, q.row, block); err != nil {
			return err
		}
		decode := func(ctx context.Context, n need, room func(n int64) []byte) (blockData, error) {
			if err := ctx.Err(); err != nil {
				return blockData{}, err
			}
			return a.decodeStored(d, n, q.row, block, room)
		}
		if err := a.load(ctx, q.need, keep, a.slots, decode, func(data blockData) error { return use(q.need, data) }); err != nil {
			return err
		}
	}
	return nil
}
