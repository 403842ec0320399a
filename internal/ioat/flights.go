package ioat

import (
	"context"
	"errors"
	"sync"
)

// Flights shares the result of one fetch among all callers that want the same key
// while it is under way. The zero value is ready to use. It is safe for concurrent
// use.
//
// It differs from golang.org/x/sync/singleflight in three ways: each caller waits
// under its own context, the end of one caller's context is not an error for the
// others, and values may live in recycled memory.
type Flights[K comparable, V any] struct {
	// Free, if not nil, is called with each value when its last user is done.
	Free func(V)

	mu   sync.Mutex
	open map[K]*flight[V]
}

type flight[V any] struct {
	value V
	err   error
	done  chan struct{} // closed when value or err is there
	users int           // guarded by the mutex of Flights
}

// ErrUnfit is returned by a use function for a value of another caller's fetch that
// does not fit, for instance because it covers too little. The caller then fetches
// the value itself.
var ErrUnfit = errors.New("value does not fit this caller")

var errPanicked = errors.New("ioat: the fetch of another caller panicked")

// Do calls use with the value of a key. The value comes from fetch, or from the fetch
// of another caller that is under way, in which case shared is true. The value must
// not be used after use has returned, unless Free is nil.
//
// A fetch that fails fails for all callers, except that the end of a context only
// concerns the caller it belongs to.
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

// ended reports whether an error is that of a context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// join returns the flight of a key and whether it is the caller's to lead. The caller
// must leave it in any case.
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

// lead fetches the value and lets the others have it, even if fetch panics: the
// caller may recover.
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
