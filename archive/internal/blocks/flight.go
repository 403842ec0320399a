package blocks

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// decoded is a block decoded for all callers that request it at the same time.
type decoded struct {
	blockData
	lent *[]byte // recycled memory that holds the data, nil if the data has its own
}

// flights lets one goroutine decode a block for all.
type flights = ioat.Flights[int64, decoded]

// readFunc decodes at least the needed bytes of a block into memory from room.
type readFunc func(ctx context.Context, q need, room func(n int64) []byte) (blockData, error)

// load calls use with the needed bytes of a block. read decodes them, unless another
// goroutine is already decoding them. If keep is set, they may go into the cache. use must not keep
// them. read holds one of slots.
func (a *Reader) load(ctx context.Context, q need, keep bool, slots *semaphore.Weighted, read readFunc, use func(blockData) error) error {
	fetch := func() (decoded, error) { return a.decode(ctx, q, keep, slots, read) }
	return a.flights.Do(ctx, q.N, fetch, func(d decoded, shared bool) error {
		if shared && !d.covers(q) {
			return ioat.ErrUnfit // another part of the block
		}
		return use(d.blockData)
	})
}

// decode decodes a block for all that wait for it.
func (a *Reader) decode(ctx context.Context, q need, keep bool, slots *semaphore.Weighted, read readFunc) (d decoded, err error) {
	if keep {
		// The block may have arrived since the caller looked.
		if data, ok := a.stored(q.N); ok {
			return decoded{blockData: data}, nil
		}
		// A block that is needed again is decoded whole, so that this happens only once.
		if keep = !q.once || a.cache.again(blockKey{a.id, q.N}); keep {
			q = whole(q.Block)
		}
	}
	if err := slots.Acquire(ctx, 1); err != nil {
		return d, err
	}
	defer slots.Release(1)
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
	if d.blockData, err = read(ctx, q, room); err != nil {
		a.free(d)
		return decoded{}, err
	}
	if keep {
		a.cache.put(blockKey{a.id, q.N}, d.blockData)
	}
	return d, nil
}
