// Package observer passes an observer of filters to the packages that make coders, in a context.
package observer

import (
	"context"

	"github.com/cdfz-format/cdfz/filters"
)

type key struct{}

// With returns a context whose coders have the observer: those of archives that are opened, written, rewritten or
// salvaged with it.
func With(ctx context.Context, o filters.Observer) context.Context {
	return context.WithValue(ctx, key{}, o)
}

// Of returns the observer of a context, or nil.
func Of(ctx context.Context) filters.Observer {
	o, _ := ctx.Value(key{}).(filters.Observer)
	return o
}
