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

var (
	errPanicked  = errors.New("ioat: the fetch of another caller panicked")
	errAbandoned = errors.New("ioat: another caller gave up its fetch")
)

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
	if mine {
		c := Claim[K, V]{g, key, f}
		defer c.Leave()
		c.fetch(fetch)
		if f.err != nil {
			return false, f.err
		}
		return false, use(f.value, false)
	}
	defer g.leave(f)
	select {
	case <-f.done:
	case <-ctx.Done():
		return true, ctx.Err()
	}
	switch {
	case f.err == nil:
		return true, use(f.value, true)
	case ctx.Err() == nil && (ended(f.err) || f.err == errAbandoned):
		return true, ErrUnfit // nothing that concerns this caller
	}
	return true, f.err
}

// Claim returns a fetch of the key that the caller must make, or nil if another caller's fetch
// is active. Callers that claim several keys at once can fetch them with one read. While they
// hold claims, they must not wait for keys of others.
func (g *Flights[K, V]) Claim(key K) *Claim[K, V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[key] != nil {
		return nil
	}
	return &Claim[K, V]{g, key, g.add(key)}
}

// Claim is a fetch that one caller makes for all. The caller must call Leave.
type Claim[K comparable, V any] struct {
	g   *Flights[K, V]
	key K
	f   *flight[V]
}

// Shared reports whether other callers wait for the value.
func (c *Claim[K, V]) Shared() bool {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	return c.f.users > 1
}

// Publish ends the fetch. The value may be used until Leave.
func (c *Claim[K, V]) Publish(v V, err error) {
	c.f.value, c.f.err = v, err
	c.land()
}

// Leave ends the use of the value. If no value was published, the waiting callers fetch it
// themselves.
func (c *Claim[K, V]) Leave() {
	select {
	case <-c.f.done:
	default:
		c.f.err = errAbandoned
		c.land()
	}
	c.g.leave(c.f)
}

// fetch publishes the result of fetch, even if it panics, since the caller may recover.
func (c *Claim[K, V]) fetch(fetch func() (V, error)) {
	c.f.err = errPanicked
	defer c.land()
	c.f.value, c.f.err = fetch()
}

// land lets others fetch the key again, and wakes those that wait for the value.
func (c *Claim[K, V]) land() {
	c.g.mu.Lock()
	delete(c.g.open, c.key)
	c.g.mu.Unlock()
	close(c.f.done)
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
	return g.add(key), true
}

// add adds a flight of one user. The caller holds the lock.
func (g *Flights[K, V]) add(key K) *flight[V] {
	if g.open == nil {
		g.open = map[K]*flight[V]{}
	}
	f := &flight[V]{done: make(chan struct{}), users: 1}
	g.open[key] = f
	return f
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
