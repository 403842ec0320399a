package ioat

import (
	"context"
	"errors"
	"sync"
)

// Flights shares the result of a fetch among all callers that want the same key at the
// same time. The zero value is ready to use. It is safe for concurrent use.
//
// It differs from golang.org/x/sync/singleflight in three ways. Each caller waits under
// its own context, the end of one caller's context is not an error for others, and
// values may live in recycled memory.
type Flights[K comparable, V any] struct {
	// Free, if not nil, is called with each value when its last user is done.
	Free func(V)

	mu   sync.Mutex
	open map[K]*flight[V]
}

type flight[V any] struct {
	value V
	err   error
	done  chan struct{} // closed when value or err is set
	users int           // guarded by the mutex of Flights
}

// ErrUnfit is returned by a use function if the value of another caller's fetch does
// not fit, for instance because it covers too little. The caller then fetches the value
// itself.
var ErrUnfit = errors.New("value does not fit this caller")

var errPanicked = errors.New("ioat: the fetch of another caller panicked")

// Do calls use with the value of a key. The value comes from fetch, or from another
// caller's active fetch, in which case shared is true. The value must not be used after
// use has returned, unless Free is nil.
//
// A failed fetch fails for all callers. But if the leader's context ends, only the
// leader fails.
func (g *Flights[K, V]) Do(ctx context.Context, key K, fetch func() (V, error), use func(v V, shared bool) error) error {
	for {
		shared, err := g.do(ctx, key, fetch, use)
		if !shared || err != ErrUnfit {
			return err
		}
	}
}

func (g *Flights[K, V]) do(ctx context.Context, key K, fetch func() (V, error), use func(V, bool) error) (shared bool, err error) {
	f, mine := g.join(key)
	defer g.leave(f)
	if mine {
		g.lead(key, f, fetch)
	} else {
		select {
		case <-f.done:
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
	switch {
	case f.err == nil:
		return !mine, use(f.value, !mine)
	case !mine && ctx.Err() == nil && ended(f.err):
		return true, ErrUnfit // the end of another caller's context
	}
	return !mine, f.err
}

// ended reports whether an error comes from a context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// join returns the flight of a key and reports whether the caller must lead it. The
// caller must leave it in any case.
func (g *Flights[K, V]) join(key K) (f *flight[V], mine bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.open[key]; f != nil {
		f.users++
		return f, false
	}
	if g.open == nil {
		g.open = map[K]*flight[V]{}
	}
	f = &flight[V]{done: make(chan struct{}), users: 1}
	g.open[key] = f
	return f, true
}

// lead fetches the value and publishes it, even if fetch panics, since the caller may
// recover.
func (g *Flights[K, V]) lead(key K, f *flight[V], fetch func() (V, error)) {
	f.err = errPanicked
	defer func() {
		g.mu.Lock()
		delete(g.open, key)
		g.mu.Unlock()
		close(f.done)
	}()
	f.value, f.err = fetch()
}

func (g *Flights[K, V]) leave(f *flight[V]) {
	g.mu.Lock()
	f.users--
	last := f.users == 0
	g.mu.Unlock()
	if last && f.err == nil && g.Free != nil {
		g.Free(f.value)
	}
}
