package read

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
)

const (
	// workerRuns is the share of a worker in the stored bytes of runs: two of enoughRun bytes.
	workerRuns = 2 * enoughRun
	// workerBlocks is the share of a worker in the memory for decoding. It suffices for blocks
	// of 16 MiB with any filter.
	workerBlocks = 256 << 20
)

// budget bounds bytes of memory. Callers are served in the order in which they come.
type budget struct {
	free *semaphore.Weighted
	size int64
}

func newBudget(size int64) *budget { return &budget{semaphore.NewWeighted(size), size} }

// take waits until n bytes are free, or all bytes if n is larger than the budget: then the caller
// is the only one. It returns the number of bytes to give back.
func (b *budget) take(ctx context.Context, n int64) (taken int64, err error) {
	n = min(n, b.size)
	return n, b.free.Acquire(ctx, n)
}

// give returns bytes that were taken.
func (b *budget) give(taken int64) { b.free.Release(taken) }

// limits bound the memory that reads use outside the cache, however many goroutines read. Readers
// that share a cache share them.
//
// A goroutine takes a place in far or from runs, then from blocks, then a decoding slot, never the
// reverse and never two shares of one of them. Nobody waits for a block of another reader
// meanwhile.
type limits struct {
	runs   *budget // stored bytes of the runs of local archives
	blocks *budget // of blocks that are decoded: stored, decoded, and what their filters need
}

func newLimits(workers int) *limits {
	return &limits{newBudget(int64(workers) * workerRuns), newBudget(int64(workers) * workerBlocks)}
}

// cost bounds the bytes of memory for decoding a block: its stored and decoded bytes and what
// its filters need. Unknown filters count nothing, since decoding refuses them.
func (a *Reader) cost(b plan.Block) int64 {
	v := b.Var
	known := v >= 0 && v < len(a.costs)
	if known {
		if n := a.costs[v].Load(); n > 0 {
			return n
		}
	}
	cost := 2 * b.Len
	d := a.states.Get().(*decoder)
	if c, err := d.coder(a.L, b.Chain); err == nil {
		cost += c.Memory(int(b.Len))
	}
	a.states.Put(d)
	if known {
		a.costs[v].Store(max(cost, 1))
	}
	return cost
}
