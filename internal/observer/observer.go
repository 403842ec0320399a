// Package observer passes an observer to the packages that work for its owner, in a context.
package observer

import "context"

type key[O any] struct{}

// With returns a context that has an observer of type O. That of filters observes the coders of archives that are
// opened, written, rewritten or salvaged with the context.
func With[O any](ctx context.Context, o O) context.Context {
	return context.WithValue(ctx, key[O]{}, o)
}

// Of returns the observer of type O in a context, or the zero value.
func Of[O any](ctx context.Context) O {
	o, _ := ctx.Value(key[O]{}).(O)
	return o
}
