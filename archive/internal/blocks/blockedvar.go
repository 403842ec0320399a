package blocks

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/blockidx"
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
	return v.a.View(ctx, q, in, n)
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
		return v.give(q.n-v.g.First, data, f)
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

// storedRun holds blocks with nearby stored extents.
type storedRun struct {
	rows   []blockidx.Row
	needs  []need
	off, n int64
}

// runs groups blocks by their stored extents.
func (a *Reader) runs(ctx context.Context, needs []need) ([]storedRun, error) {
	numbers := make([]int64, len(needs))
	for i := range needs {
		numbers[i] = needs[i].n
	}
	rows, err := a.indexUntil(ctx).Lookup(numbers, a.gap)
	if errors.Is(err, blockidx.ErrCorrupt) {
		err = Corrupt(err)
	}
	if err != nil {
		return nil, err
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		switch {
		case rows[x].Off < rows[y].Off:
			return -1
		case rows[x].Off > rows[y].Off:
			return 1
		}
		return 0
	})
	longest := int64(maxRun)
	if a.Far != nil {
		longest = maxFarRun
	}
	var out []storedRun
	for _, i := range order {
		r := rows[i]
		if err := a.CheckRow(numbers[i], r); err != nil {
			return nil, err
		}
		if k := len(out); k > 0 {
			last := &out[k-1]
			if r.Off-(last.off+last.n) < a.gap && r.Off+r.Len-last.off <= longest && !a.enough(last) {
				last.n = max(last.n, r.Off+r.Len-last.off)
				last.rows, last.needs = append(last.rows, r), append(last.needs, needs[i])
				continue
			}
		}
		out = append(out, storedRun{[]blockidx.Row{r}, needs[i : i+1 : i+1], r.Off, r.Len})
	}
	return out, nil
}

// enough reports whether a run is long enough if reads have no latency. Several short
// runs keep the decoders busy and memory small.
func (a *Reader) enough(r *storedRun) bool { return a.Far == nil && r.n >= 1<<20 }

// loadAll reads and decodes blocks in any order and calls use with each, from several
// goroutines. If keep is set, the blocks go into the cache.
func (a *Reader) loadAll(ctx context.Context, needs []need, keep bool, use func(need, blockData) error) error {
	runs, err := a.runs(ctx, needs)
	if err != nil {
		return err
	}
	caller := ctx
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	work := make(chan *storedRun)
	var wg sync.WaitGroup
	for range min(len(runs), max(a.remote, cap(a.Slots))) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for r := range work {
				if err := a.loadRun(ctx, r, keep, use); err != nil {
					cancel(err)
				}
			}
		}()
	}
	for i := range runs {
		select {
		case work <- &runs[i]:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(work)
	wg.Wait()
	if ctx.Err() != nil {
		return WhyDone(caller, ctx)
	}
	return nil
}

// loadRun reads a run and decodes its blocks.
func (a *Reader) loadRun(ctx context.Context, r *storedRun, keep bool, use func(need, blockData) error) error {
	if a.Far != nil {
		if err := enter(ctx, a.Far.runs); err != nil {
			return err
		}
		defer leave(a.Far.runs)
	}
	d := a.states.Get().(*decoder)
	defer a.states.Put(d)
	stored, err := a.readStored(ctx, d, r.off, r.n)
	if err != nil {
		return err
	}
	for i, q := range r.needs {
		row := r.rows[i]
		block := stored[row.Off-r.off:][:row.Len]
		if err := a.fetchAgain(ctx, row, block); err != nil {
			return err
		}
		decode := func(ctx context.Context, q need, room func(n int64) []byte) (blockData, error) {
			if err := ctx.Err(); err != nil {
				return blockData{}, err
			}
			return a.decodeStored(d, q, row, block, room)
		}
		if err := a.load(ctx, q, keep, a.Slots, decode, func(data blockData) error { return use(q, data) }); err != nil {
			return err
		}
	}
	return nil
}
