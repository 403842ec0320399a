// Package pipeline does work on several goroutines and passes the results on in order.
package pipeline

import (
	"context"
	"sync"
)

// Steps are what happens to each item. Contexts that they get are done once a step has failed.
type Steps[T any] struct {
	// Make submits all items, on a goroutine of its own. submit returns an error once a step has failed or the
	// context of Run is done. It waits for a place, so that the memory of items is bounded.
	Make func(ctx context.Context, submit func(T) error) error
	// Work returns the function with which a worker works on items.
	Work func(ctx context.Context) func(T) error
	// Pass gets the items in the order of submit, up to the first one whose work failed. Run calls it on the
	// goroutine of its caller.
	Pass func(T) error
	// Free, if not nil, is called in that order, too, for all items but those that submit refused. All items
	// before have been worked on by then.
	Free func(T)
}

// Run runs all steps and returns the first error, in the order of the items. Items at work and those that
// wait for their turn are at most about ahead. Without workers, all steps run on the goroutine of the caller.
func Run[T any](caller context.Context, workers, ahead int, s Steps[T]) error {
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	free := s.Free
	if free == nil {
		free = func(T) {}
	}
	if workers <= 0 {
		work := s.Work(ctx)
		return s.Make(ctx, func(item T) error {
			if err := caller.Err(); err != nil {
				return err
			}
			defer free(item)
			if err := work(item); err != nil {
				return err
			}
			return s.Pass(item)
		})
	}

	type slot struct {
		item T
		done chan error
	}
	queue, ordered := make(chan slot, workers), make(chan slot, ahead)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			work := s.Work(ctx)
			for w := range queue {
				w.done <- work(w.item)
			}
		})
	}
	var made error
	wg.Go(func() {
		defer close(ordered)
		defer close(queue)
		made = s.Make(ctx, func(item T) error {
			w := slot{item, make(chan error, 1)}
			select {
			case ordered <- w:
			case <-ctx.Done():
				if err := caller.Err(); err != nil {
					return err
				}
				return context.Cause(ctx)
			}
			queue <- w // never waits for long: workers drain it to the end
			return nil
		})
	})
	var failed error
	for w := range ordered {
		err := <-w.done
		if failed == nil {
			if failed = err; failed == nil {
				failed = s.Pass(w.item)
			}
			if failed != nil {
				cancel(failed)
			}
		}
		free(w.item)
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	return made
}
