// Package kept keeps things open that are costly to open, such as archives, and closes those that were used longest
// ago when too many are open.
package kept

import (
	"container/list"
	"errors"
	"io"
	"sync"
	"time"
)

// Limits bound what a Pool keeps open without uses.
type Limits struct {
	Idle int           // number of items that nobody holds
	Time time.Duration // for which an item that nobody holds is kept; 0: for ever
	Held int           // number of items that somebody holds
}

// Pool has open things by their keys. A thing with uses stays open. One without stays open for a while. It must come
// from New. It is safe for concurrent use.
type Pool[K comparable, V io.Closer] struct {
	limits Limits

	mu    sync.Mutex
	items map[K]*Item[K, V]
	used  int       // items with uses
	idle  list.List // of *Item without uses and holders, the one used longest ago first
	held  list.List // of *Item without uses that somebody holds, likewise
	timer *time.Timer
}

// Item is a thing for one Pool. Its Key and Value must not change.
type Item[K comparable, V io.Closer] struct {
	Key   K
	Value V

	// The pool guards these.
	uses, holders int
	gone          bool // is closed, or will be after the last use
	in            *list.List
	place         *list.Element // in that list; nil with uses
	since         time.Time     // end of the last use
}

// New returns an empty pool.
func New[K comparable, V io.Closer](limits Limits) *Pool[K, V] {
	p := &Pool[K, V]{limits: limits, items: map[K]*Item[K, V]{}}
	p.idle.Init()
	p.held.Init()
	return p
}

// Use adds a use to the item of a key, or returns nil if there is none. The caller must Release the item.
func (p *Pool[K, V]) Use(key K) *Item[K, V] {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.items[key]
	if i != nil {
		p.use(i)
	}
	return i
}

// Add adds an item, with a use that the caller must Release. If the pool has one of the same key, Add returns that one
// with a use, as Use does, and the value of the other is still the caller's.
func (p *Pool[K, V]) Add(i *Item[K, V]) *Item[K, V] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.items[i.Key]; other != nil {
		i = other
	} else {
		p.items[i.Key] = i
	}
	p.use(i)
	return i
}

func (p *Pool[K, V]) use(i *Item[K, V]) {
	if i.uses++; i.uses == 1 {
		p.used++
		i.unlist()
	}
}

// Retain adds a use to an item in use, which the caller must Release.
func (p *Pool[K, V]) Retain(i *Item[K, V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i.uses++
}

// Release ends a use. The value may be closed at once.
func (p *Pool[K, V]) Release(i *Item[K, V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i.uses--; i.uses > 0 {
		return
	}
	p.used--
	if i.gone {
		i.Value.Close()
		return
	}
	i.since = time.Now()
	p.list(i)
	p.shrink()
}

// Hold says that an item in use will be used again. It is kept without a limit of time, and with those that others
// hold. The caller must Unhold it.
func (p *Pool[K, V]) Hold(i *Item[K, V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i.holders++
}

// Unhold ends a Hold, also that of an item which was closed meanwhile.
func (p *Pool[K, V]) Unhold(i *Item[K, V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i.holders--; i.holders == 0 && i.place != nil {
		i.unlist()
		i.since = time.Now()
		p.list(i)
		p.shrink()
	}
}

// Forget takes an item from the pool that is in use. Its value is closed after the last use.
func (p *Pool[K, V]) Forget(i *Item[K, V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(i)
}

// Close closes the items for which match is true: those in use after their last use, the others at once. It returns
// the errors of these.
func (p *Pool[K, V]) Close(match func(K) bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for key, i := range p.items {
		if match(key) {
			errs = append(errs, p.forget(i))
		}
	}
	return errors.Join(errs...)
}

// Len returns the number of open items and of those in use.
func (p *Pool[K, V]) Len() (open, used int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.items), p.used
}

// The caller of the following functions holds the lock.

// list makes an item without uses the one that was used last.
func (p *Pool[K, V]) list(i *Item[K, V]) {
	i.in = &p.idle
	if i.holders > 0 {
		i.in = &p.held
	}
	i.place = i.in.PushBack(i)
	if i.holders == 0 && p.limits.Time > 0 && p.timer == nil {
		p.timer = time.AfterFunc(p.limits.Time, p.expire)
	}
}

// unlist takes an item from its list, if it is in one.
func (i *Item[K, V]) unlist() {
	if i.place != nil {
		i.in.Remove(i.place)
		i.in, i.place = nil, nil
	}
}

// forget takes an item from the pool and closes it unless it is in use.
func (p *Pool[K, V]) forget(i *Item[K, V]) error {
	if i.gone {
		return nil
	}
	i.gone = true
	delete(p.items, i.Key)
	i.unlist()
	if i.uses > 0 {
		return nil
	}
	return i.Value.Close()
}

// shrink closes the items that are too many.
func (p *Pool[K, V]) shrink() {
	for p.idle.Len() > p.limits.Idle {
		p.forget(p.idle.Front().Value.(*Item[K, V]))
	}
	for p.held.Len() > p.limits.Held {
		p.forget(p.held.Front().Value.(*Item[K, V]))
	}
}

// expire closes the items that nobody used for long.
func (p *Pool[K, V]) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	for e := p.idle.Front(); e != nil; e = p.idle.Front() {
		i := e.Value.(*Item[K, V])
		if left := p.limits.Time - time.Since(i.since); left > 0 {
			p.timer = time.AfterFunc(left, p.expire)
			return
		}
		p.forget(i)
	}
}
