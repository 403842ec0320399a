package dap

import (
	"context"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// bytesOf is each for types of one byte.
func bytesOf(ctx context.Context, t cdf3.Type, a slab.Array, sel slab.Sel, f func([]byte) error) error {
	if t != cdf3.Byte {
		return each(ctx, a, sel, f)
	}
	var out []byte
	return each(ctx, a, sel, func(list []int8) error {
		out = out[:0]
		for _, x := range list {
			out = append(out, byte(x))
		}
		return f(out)
	})
}
