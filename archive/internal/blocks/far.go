package blocks

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// far bounds the memory of a remote archive's reader outside its cache. Its reads wait
// for a server, so they must not hold a decoding slot meanwhile. Instead, a single
// block holds a place in blocks and a run holds a place in runs until its blocks are
// decoded. A run has at most maxFarRun bytes or is one longer block. A holder of such a
// place may wait for a decoding slot, never the reverse.
type far struct {
	blocks, runs *semaphore.Weighted
}

func newFar(reads int) *far {
	blocks := max(reads, runtime.GOMAXPROCS(0))
	return &far{semaphore.NewWeighted(int64(blocks)), semaphore.NewWeighted(int64(reads))}
}

// reading returns the permit that readNeed holds: a decoding slot, or a place in far if
// reads have a latency.
func (e *engine) reading() *semaphore.Weighted {
	if e.far != nil {
		return e.far.blocks
	}
	return e.slots
}

// WhyDone returns the error of the caller's context if it has ended, else the cause of
// work, a derived context that has ended.
func WhyDone(caller, work context.Context) error {
	if err := caller.Err(); err != nil {
		return err
	}
	return context.Cause(work)
}
