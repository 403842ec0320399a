package blocks

import (
	"context"
	"runtime"
)

// far bounds the memory of a remote archive's reader outside its cache. Its reads wait
// for a server, so they must not hold a decoding slot meanwhile. Instead, a single
// block holds a place in blocks and a run holds a place in runs until its blocks are
// decoded. A run has at most maxFarRun bytes or is one longer block. A holder of such a
// place may wait for a decoding slot, never the reverse.
type far struct {
	Blocks, runs chan struct{}
}

func newFar(reads int) *far {
	return &far{make(chan struct{}, max(reads, runtime.GOMAXPROCS(0))), make(chan struct{}, reads)}
}

// reading returns the permit that readNeed holds: a decoding slot, or a place in far if
// reads have a latency.
func (e *engine) reading() chan struct{} {
	if e.Far != nil {
		return e.Far.Blocks
	}
	return e.Slots
}

// enter takes a place in a channel, and leave frees it.
func enter(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func leave(slots chan struct{}) { <-slots }

// WhyDone returns the error of the caller's context if it has ended, else the cause of
// work, a derived context that has ended.
func WhyDone(caller, work context.Context) error {
	if err := caller.Err(); err != nil {
		return err
	}
	return context.Cause(work)
}
