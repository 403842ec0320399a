package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/slab"
	"github.com/cdfz-format/cdfz/unlimited"
)

// maxRun bounds the stored bytes that are read together.
const maxRun = 64 << 20

// blockedVar is the values of a blocked variable.
type blockedVar struct {
	io.ReaderAt // their bytes
	a           *Reader
	g           *geometry
}

var (
	_ slab.Blocks = (*blockedVar)(nil)
	_ slab.Shaped = (*blockedVar)(nil)
)

func newBlockedVar(a *Reader, pos int) *blockedVar {
	g := a.l.vars[pos]
	return &blockedVar{io.NewSectionReader(rawReader{a}, g.rawOff, g.rawLen), a, g}
}

// BlockShape implements slab.Shaped.
func (v *blockedVar) BlockShape() []int64 { return v.g.block }

// View implements slab.Blocks.
func (v *blockedVar) View(ctx context.Context, off int64) ([]byte, error) {
	b, in := v.g.find(off)
	data, err := v.a.cached(ctx, v.g.first+b)
	if err != nil {
		return nil, err
	}
	_, n := v.g.at(b)
	return data[in:n], nil
}

// EachBlock implements slab.Blocks: blocks in the cache first, then the others,
// read in runs and decoded on several goroutines.
func (v *blockedVar) EachBlock(ctx context.Context, s slab.Selection, f func(slab.Block) error) error {
	var missing []int64
	var failed error
	err := s.Grid(v.g.shape, v.g.block, func(grid []int64) bool {
		b := int64(0)
		for i, g := range grid {
			b = b*v.g.grid[i] + g
		}
		n := v.g.first + b
		if data, ok := v.a.peek(n); ok {
			failed = v.give(b, data, f)
			return failed == nil
		}
		missing = append(missing, n)
		return true
	})
	if err == nil {
		err = failed
	}
	switch {
	case err != nil:
		return err
	case len(missing) == 0:
		return nil
	case len(missing) == 1:
		data, err := v.a.cached(ctx, missing[0])
		if err != nil {
			return err
		}
		return v.give(missing[0]-v.g.first, data, f)
	}
	return v.a.loadAll(ctx, missing, func(n int64, data []byte) error { return v.give(n-v.g.first, data, f) })
}

// give hands on the values of a block, without padding.
func (v *blockedVar) give(b int64, data []byte, f func(slab.Block) error) error {
	start, count := v.g.box(b)
	_, n := v.g.at(b)
	return f(slab.Block{Start: start, Count: count, Data: data[:n]})
}

// storedRun is blocks whose stored extents are near each other.
type storedRun struct {
	rows    []blockidx.Row
	numbers []int64
	off, n  int64
}

// runs groups blocks by their stored extents.
func (a *Reader) runs(ctx context.Context, numbers []int64) ([]storedRun, error) {
	rows, err := a.indexUntil(ctx).Lookup(numbers, a.gap)
	if errors.Is(err, blockidx.ErrCorrupt) {
		err = corrupt(err)
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
	var out []storedRun
	for _, i := range order {
		r := rows[i]
		if r.Off < 0 || r.Len > a.size || r.Off > a.size-r.Len {
			v, b := a.l.locate(numbers[i])
			return nil, a.blockError(v, b, r.Off, corruptf("%d bytes beyond the end of the archive", r.Len))
		}
		if k := len(out); k > 0 {
			last := &out[k-1]
			if r.Off-(last.off+last.n) < a.gap && r.Off+r.Len-last.off <= maxRun && !a.enough(last) {
				last.n = max(last.n, r.Off+r.Len-last.off)
				last.rows, last.numbers = append(last.rows, r), append(last.numbers, numbers[i])
				continue
			}
		}
		out = append(out, storedRun{[]blockidx.Row{r}, numbers[i : i+1 : i+1], r.Off, r.Len})
	}
	return out, nil
}

// enough says that a run is long enough where reads have no latency: then several
// short ones keep the decoders busy, and memory small.
func (a *Reader) enough(r *storedRun) bool { return a.remote == 1 && r.n >= 1<<20 }

// loadAll reads and decodes blocks, in any order, and gives each to f, from
// several goroutines.
func (a *Reader) loadAll(ctx context.Context, numbers []int64, f func(n int64, data []byte) error) error {
	runs, err := a.runs(ctx, numbers)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan *storedRun)
	var wg sync.WaitGroup
	for range min(len(runs), max(a.remote, cap(a.slots))) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for r := range work {
				if err := a.loadRun(ctx, r, f); err != nil {
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
		return context.Cause(ctx)
	}
	return nil
}

// loadRun reads a run and decodes its blocks.
func (a *Reader) loadRun(ctx context.Context, r *storedRun, f func(n int64, data []byte) error) error {
	stored := make([]byte, r.n)
	a.reads.Add(1)
	a.bytes.Add(r.n)
	if err := unlimited.ReadFull(bind(ctx, a.r), stored, r.off); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	for i, n := range r.numbers {
		row := r.rows[i]
		data, err := a.load(ctx, n, func(ctx context.Context, n int64, dst []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			v, b := a.l.locate(n)
			d := a.states.Get().(*decoder)
			defer a.states.Put(d)
			return a.decodeStored(d, v, b, row, stored[row.Off-r.off:][:row.Len], dst)
		})
		if err != nil {
			return err
		}
		if err := f(n, data); err != nil {
			return err
		}
	}
	return nil
}
