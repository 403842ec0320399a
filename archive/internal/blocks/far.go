package blocks

import (
	"context"
	"runtime"
)

// far bounds what the reader of a remote archive has in memory outside its cache.
// Its reads wait for a server, so they do not hold a slot for decoding meanwhile;
// what they hold instead lasts until the blocks are decoded. So there are at most
// as many blocks that were asked for by themselves, stored and decoded, as blocks
// has room for, and as many runs, of maxFarRun bytes or a block each, as runs has.
// Who holds one of these may wait for a slot, and never the other way round.
type far struct {
	Blocks, runs chan struct{}
}

func newFar(reads int) *far {
	return &far{make(chan struct{}, max(reads, runtime.GOMAXPROCS(0))), make(chan struct{}, reads)}
}

// reading is what readNeed holds: a slot for decoding, or what takes its place
// where reads have a latency.
func (e *engine) reading() chan struct{} {
	if e.Far != nil {
		return e.Far.Blocks
	}
	return e.Slots
}

// enter takes one of what a channel has room for, and leave gives it back.
func enter(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func leave(slots chan struct{}) { <-slots }

// whyDone is the error of a caller's context that has ended, else the cause of work,
// which was made of it and has ended too.
func WhyDone(caller, work context.Context) error {
	if err := caller.Err(); err != nil {
		return err
	}
	return context.Cause(work)
}
