package read

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// decoded is a block decoded for all callers that request it at the same time.
type decoded struct {
	blockData
	lent  *[]byte // recycled memory that holds the data, nil if the data has its own
	taken int64   // of the memory for decoding, until the last user is done
}

type (
	// flights lets one goroutine decode a block for all.
	flights = ioat.Flights[int64, decoded]
	// claim is a block that its holder reads with others.
	claim = ioat.Claim[int64, decoded]
)

// wanted counts, for each block, the reads of several blocks that have yet to use it. A block that
// another read wants is decoded whole and kept, since that read may come to it later.
type wanted struct {
	mu    sync.Mutex
	reads map[int64]int32
}

func (w *wanted) add(blocks []storedNeed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads == nil {
		w.reads = make(map[int64]int32, len(blocks))
	}
	for i := range blocks {
		w.reads[blocks[i].N]++
	}
}

func (w *wanted) remove(blocks []storedNeed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range blocks {
		if n := blocks[i].N; w.reads[n] > 1 {
			w.reads[n]--
		} else {
			delete(w.reads, n)
		}
	}
}

// of returns how many reads want a block.
func (w *wanted) of(block int64) int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reads[block]
}

// runError is the error of a read of several blocks for goroutines that wait for one of them.
type runError struct {
	run ioat.Span
	err error
}

func (e *runError) Error() string {
	return fmt.Sprintf("reading a run at byte %d: %v", e.run.Off, e.err)
}
func (e *runError) Unwrap() error { return e.err }

// load calls use with the needed bytes of a block. It reads and decodes them, unless another
// goroutine is doing so. If keep is set, they may go into the cache. use must not keep them.
// mine is the run that the caller would read: the error of another run is not his.
func (a *Reader) load(ctx context.Context, q need, mine ioat.Span, keep bool, use func(blockData) error) error {
	for {
		err := a.flights.Do(ctx, q.N, func() (decoded, error) { return a.fetch(ctx, q, keep) }, func(d decoded, shared bool) error {
			if shared && !d.covers(q) {
				return ioat.ErrUnfit // another part of the block
			}
			return use(d.blockData)
		})
		var failed *runError
		switch {
		case !errors.As(err, &failed):
			return err
		case mine.Off <= failed.run.Off && failed.run.End() <= mine.End():
			return failed.err
		}
	}
}

// chosen returns what of a block is decoded and whether it goes into the cache, for a caller that
// needs q.
func (a *Reader) chosen(q need, keep, shared bool) (need, bool) {
	if shared && a.cache != nil {
		return whole(q.Block), true
	}
	// A block that is needed again is decoded whole, so that this happens only once.
	if keep = keep && (!q.once || a.cache.again(blockKey{a.id, q.N})); keep || shared {
		q = whole(q.Block)
	}
	return q, keep
}

// fetch reads and decodes a block for all that wait for it.
func (a *Reader) fetch(ctx context.Context, q need, keep bool) (d decoded, err error) {
	// The block may have arrived since the caller looked.
	if data, ok := a.stored(q.N); ok {
		return decoded{blockData: data}, nil
	}
	q, keep = a.chosen(q, keep, a.wanted.of(q.N) > 0)
	if a.Remote {
		if err := a.far.blocks.Acquire(ctx, 1); err != nil {
			return d, err
		}
		defer a.far.blocks.Release(1)
		row, stored, free, err := a.readBlock(ctx, q.Block)
		if err != nil {
			return d, err
		}
		defer free()
		return a.decode(ctx, q, keep, func(q need, room func(int64) []byte) (blockData, error) {
			return a.decodeStored(q, row, stored, room)
		})
	}
	return a.decode(ctx, q, keep, func(q need, room func(int64) []byte) (blockData, error) {
		row, stored, free, err := a.readBlock(ctx, q.Block)
		if err != nil {
			return blockData{}, err
		}
		defer free()
		return a.decodeStored(q, row, stored, room)
	})
}

// decode decodes a block within the limits, by a function that decodes at least the needed bytes
// into memory from room. They stay taken until the last user of the block is done.
func (a *Reader) decode(ctx context.Context, q need, keep bool, read func(q need, room func(n int64) []byte) (blockData, error)) (d decoded, err error) {
	taken, err := a.limits.blocks.take(ctx, a.cost(q.Block))
	if err != nil {
		return d, err
	}
	done := false
	defer func() {
		if !done {
			d.taken = taken
			a.free(d)
			d = decoded{}
		}
	}()
	if err := a.slots.Acquire(ctx, 1); err != nil {
		return d, err
	}
	defer a.slots.Release(1)
	if err := ctx.Err(); err != nil {
		return d, err
	}
	room := func(n int64) []byte { return make([]byte, n) }
	if !keep {
		if d.lent, _ = lent.Get().(*[]byte); d.lent == nil {
			d.lent = new([]byte)
		}
		room = func(n int64) []byte {
			if int64(cap(*d.lent)) < n {
				*d.lent = make([]byte, n)
			}
			return (*d.lent)[:n]
		}
	}
	if d.blockData, err = read(q, room); err != nil {
		return d, err
	}
	if keep {
		a.cache.put(blockKey{a.id, q.N}, d.blockData)
	}
	d.taken, done = taken, true
	return d, nil
}

// free recycles the memory of a block that nobody uses any more.
func (a *Reader) free(d decoded) {
	if d.lent != nil {
		lent.Put(d.lent)
	}
	if d.taken > 0 {
		a.limits.blocks.give(d.taken)
	}
}
