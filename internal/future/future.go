// Package future has values that one goroutine makes and others wait for.
package future

import (
	"context"
	"errors"
)

// ErrPanicked is the error of a value whose maker panicked.
var ErrPanicked = errors.New("future: the goroutine that makes the value panicked")

// Future is a value that is made once. It must come from New or Go. It is safe for concurrent use.
type Future[T any] struct {
	done  chan struct{} // closed when value and err are set
	value T
	err   error
}

// New returns a value that the caller must Set or Make.
func New[T any]() *Future[T] { return &Future[T]{done: make(chan struct{})} }

// Go makes a value with f on another goroutine.
func Go[T any](f func() (T, error)) *Future[T] {
	v := New[T]()
	go v.Make(f)
	return v
}

// Make sets the value to the result of f. If f panics, waiters get ErrPanicked.
func (v *Future[T]) Make(f func() (T, error)) (T, error) {
	v.err = ErrPanicked
	defer close(v.done)
	v.value, v.err = f()
	return v.value, v.err
}

// Set sets the value.
func (v *Future[T]) Set(value T, err error) {
	v.value, v.err = value, err
	close(v.done)
}

// Ready reports whether the value is made, so that Wait would not wait.
func (v *Future[T]) Ready() bool {
	select {
	case <-v.done:
		return true
	default:
		return false
	}
}

// Wait returns the value as soon as it is made, or the error of ctx if that is done before.
func (v *Future[T]) Wait(ctx context.Context) (none T, err error) {
	if !v.Ready() {
		select {
		case <-v.done:
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
	return v.value, v.err
}

// Get waits for the value without a limit.
func (v *Future[T]) Get() (T, error) {
	<-v.done
	return v.value, v.err
}
