package blocks

import (
	"context"
	"errors"
	"sync"
)

// blockData holds the bytes of a decoded block from off on, including padding.
type blockData struct {
	off int64
	b   []byte
}

// covers reports whether all needed bytes are present.
func (d blockData) covers(q need) bool { return d.off <= q.lo && q.Hi <= d.off+int64(len(d.b)) }

// need stands for the bytes [lo, hi) of block n.
type need struct{ n, lo, Hi int64 }

// flight is a block that is being decoded, or is decoded and in use.
type flight struct {
	data blockData
	err  error
	done chan struct{} // closed when data or err is set
	refs int           // guarded by the mutex of flights
	lent *[]byte       // the pool's memory that holds data, or nil
}

// flights lets one goroutine decode a block for all that request it at the same time.
type flights struct {
	mu   sync.Mutex
	open map[int64]*flight // of each block that is being decoded
	pool sync.Pool         // of *[]byte
}

// join returns the flight of a block and reports whether the caller must end it. leave
// must be called in any case.
func (fs *flights) join(n int64) (f *flight, mine bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.open[n]; f != nil {
		f.refs++
		return f, false
	}
	if fs.open == nil {
		fs.open = map[int64]*flight{}
	}
	f = &flight{done: make(chan struct{}), refs: 1}
	fs.open[n] = f
	return f, true
}

// end publishes the block that the caller decoded.
func (fs *flights) end(n int64, f *flight) {
	fs.mu.Lock()
	delete(fs.open, n)
	fs.mu.Unlock()
	close(f.done)
}

// leave ends the use of a flight's data.
func (fs *flights) leave(f *flight) {
	fs.mu.Lock()
	f.refs--
	unused := f.refs == 0
	fs.mu.Unlock()
	if unused && f.lent != nil {
		fs.pool.Put(f.lent)
		f.lent = nil
	}
}

// memory returns n bytes of any content for the flight's data. They are valid until
// all have left the flight, and replace those of an earlier call.
func (fs *flights) memory(f *flight, n int64) []byte {
	if f.lent == nil {
		f.lent, _ = fs.pool.Get().(*[]byte)
	}
	if f.lent == nil {
		f.lent = new([]byte)
	}
	if int64(cap(*f.lent)) < n {
		*f.lent = make([]byte, n)
	}
	return (*f.lent)[:n]
}

// readFunc decodes at least the needed bytes of a block into memory from room.
type readFunc func(ctx context.Context, q need, room func(n int64) []byte) (blockData, error)

// load calls use with the needed bytes of a block. read decodes them, unless another
// goroutine is already decoding them. If keep is set, they go into the cache, and use
// may keep them. read holds one of slots.
func (a *Reader) load(ctx context.Context, q need, keep bool, slots chan struct{}, read readFunc, use func(blockData) error) error {
	for {
		f, mine := a.flights.join(q.n)
		if mine {
			a.lead(ctx, f, q, keep, slots, read)
		} else {
			select {
			case <-f.done:
			case <-ctx.Done():
				a.flights.leave(f)
				return ctx.Err()
			}
			if f.err == nil && (!f.data.covers(q) || keep && f.lent != nil) ||
				ctx.Err() == nil && (errors.Is(f.err, context.Canceled) || errors.Is(f.err, context.DeadlineExceeded)) {
				// Another part of the block, or memory that is not ours to keep, or the end
				// of another caller's context.
				a.flights.leave(f)
				continue
			}
		}
		err := f.err
		if err == nil {
			err = use(f.data)
		}
		a.flights.leave(f)
		return err
	}
}

// errPanicked is the error for callers that waited for a flight that panicked.
var errPanicked = errors.New("archive: the decoding of a block panicked")

// lead decodes a block for a flight and ends the flight even after a panic, which the
// caller may recover from.
func (a *Reader) lead(ctx context.Context, f *flight, q need, keep bool, slots chan struct{}, read readFunc) {
	defer a.flights.end(q.n, f)
	f.err = errPanicked
	f.err = a.decodeInto(ctx, f, q, keep, slots, read)
}

// decodeInto decodes a block for a flight.
func (a *Reader) decodeInto(ctx context.Context, f *flight, q need, keep bool, slots chan struct{}, read readFunc) error {
	if keep {
		// The block may have arrived since the caller looked. A block that was decoded
		// in part and is requested again is decoded whole, so that this happens only
		// once.
		if data, ok := a.stored(q.n); ok {
			if data.covers(q) {
				f.data = data
				return nil
			}
			q = a.Whole(q.n)
		}
	}
	if err := enter(ctx, slots); err != nil {
		return err
	}
	defer leave(slots)
	room := func(n int64) []byte { return make([]byte, n) }
	if !keep {
		room = func(n int64) []byte { return a.flights.memory(f, n) }
	}
	data, err := read(ctx, q, room)
	if err != nil {
		return err
	}
	f.data = data
	if keep && a.cache != nil {
		a.cache.put(blockKey{a.id, q.n}, f.data)
	}
	return nil
}

// View returns n bytes from byte in of a block, of which q is needed. It is a separate
// function so that cache hits avoid the closure's allocation.
func (a *Reader) View(ctx context.Context, q need, in, n int64) (data []byte, err error) {
	err = a.load(ctx, q, true, a.reading(), a.readNeed, func(d blockData) error {
		data = d.b[in-d.off:][:n]
		return nil
	})
	return data, err
}
