package read

import (
	"context"

	"golang.org/x/sync/semaphore"
)

const (
	// workerStored is the share of a worker in the stored bytes of runs: two of enoughRun bytes.
	workerStored = 2 * enoughRun
	// workerDecoded is the share of a worker in the memory for decoding. It suffices for blocks
	// of 16 MiB with any filter.
	workerDecoded = 256 << 20
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
// A goroutine takes bytes for stored blocks, then for decoded ones, then a decoding slot, never
// the reverse and never two shares of one of them. Nobody waits for a block of another goroutine
// meanwhile.
type limits struct {
	stored  *budget // stored bytes of the runs of local archives
	decoded *budget // of blocks that are decoded: stored, decoded, and what their filters need
}

func newLimits(workers int) *limits {
	return &limits{newBudget(int64(workers) * workerStored), newBudget(int64(workers) * workerDecoded)}
}
