package ioat

import (
	"context"
	"errors"
	"sync"

	"github.com/cdfz-format/cdfz/internal/future"
)

// Singleflight lets one caller fetch the value of a key for all callers that want it at the
// same time. The zero value is ready to use. It is safe for concurrent use.
//
// It differs from golang.org/x/sync/singleflight in three ways. Each caller waits under
// its own context, the end of one caller's context is not an error for others, and
// values may live in recycled memory.
type Singleflight[K comparable, V any] struct {
	// Free, if not nil, is called with each value when its last user is done.
	Free func(V)

	mu     sync.Mutex
	active map[K]*fetch[V]
}

type fetch[V any] struct {
	value *future.Future[V]
	users int // guarded by the mutex of Singleflight
}

// Call is the part of one caller in a fetch. The caller must call Leave.
type Call[K comparable, V any] struct {
	g     *Singleflight[K, V]
	key   K
	f     *fetch[V]
	leads bool
}

// ErrRetry is returned by Wait if the leader of the fetch gave up or its context ended. The
// caller should join the fetch of the key again.
var ErrRetry = errors.New("ioat: another caller gave up its fetch")

// Join adds a caller to the fetch of a key. If leads is true, the caller must fetch the value
// and Publish it. Otherwise another caller does, and this one can Wait.
func (g *Singleflight[K, V]) Join(key K) (c *Call[K, V], leads bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.active[key]; f != nil {
		f.users++
		return &Call[K, V]{g, key, f, false}, false
	}
	return g.lead(key), true
}

// Lead is Join for a caller that does not wait: it returns nil if another caller leads. A caller
// that leads the fetches of several keys can make them with one read. Meanwhile it must not wait
// for other callers.
func (g *Singleflight[K, V]) Lead(key K) *Call[K, V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.active[key] != nil {
		return nil
	}
	return g.lead(key)
}

// lead begins a fetch. The caller holds the lock.
func (g *Singleflight[K, V]) lead(key K) *Call[K, V] {
	if g.active == nil {
		g.active = map[K]*fetch[V]{}
	}
	f := &fetch[V]{future.New[V](), 1}
	g.active[key] = f
	return &Call[K, V]{g, key, f, true}
}

// Wait waits for the value, which may be used until Leave. It returns ErrRetry if the leader
// failed for a reason that does not concern this caller.
func (c *Call[K, V]) Wait(ctx context.Context) (v V, err error) {
	v, err = c.f.value.Wait(ctx)
	if ctx.Err() == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		err = ErrRetry
	}
	return v, err
}

// Shared reports whether other callers wait for the value.
func (c *Call[K, V]) Shared() bool {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	return c.f.users > 1
}

// Publish ends the fetch. The leader may use the value until Leave.
func (c *Call[K, V]) Publish(v V, err error) {
	c.g.mu.Lock()
	delete(c.g.active, c.key)
	c.g.mu.Unlock()
	c.f.value.Set(v, err)
}

// Leave ends the use of the value. If the leader leaves without having published a value,
// because of an error or a panic, the waiting callers get ErrRetry.
func (c *Call[K, V]) Leave() {
	if c.leads && !c.f.value.Ready() {
		var none V
		c.Publish(none, ErrRetry)
	}
	c.g.mu.Lock()
	c.f.users--
	last := c.f.users == 0
	c.g.mu.Unlock()
	if last && c.g.Free != nil {
		if v, err := c.f.value.Get(); err == nil {
			c.g.Free(v)
		}
	}
}
