package slab

import (
	"context"
	"fmt"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Convert reads a hyperslab and converts its values to T as netCDF does: numbers are
// truncated towards zero. If T cannot hold a value, the error is ErrRange, and all
// other values are still read. Text (char) converts only to uint8.
func Convert[T cdf3.Number](ctx context.Context, a Array, dst []T, s Sel) error {
	if err := check(a); err != nil {
		return err
	}
	if nativeOf[T](a.Type()) {
		return ReadInto(ctx, a, dst, s)
	}
	switch a.Type() {
	case cdf3.Byte:
		return convert[int8](ctx, a, dst, s)
	case cdf3.UByte:
		return convert[uint8](ctx, a, dst, s)
	case cdf3.Short:
		return convert[int16](ctx, a, dst, s)
	case cdf3.UShort:
		return convert[uint16](ctx, a, dst, s)
	case cdf3.Int:
		return convert[int32](ctx, a, dst, s)
	case cdf3.UInt:
		return convert[uint32](ctx, a, dst, s)
	case cdf3.Int64:
		return convert[int64](ctx, a, dst, s)
	case cdf3.UInt64:
		return convert[uint64](ctx, a, dst, s)
	case cdf3.Float:
		return convert[float32](ctx, a, dst, s)
	case cdf3.Double:
		return convert[float64](ctx, a, dst, s)
	}
	return inSlab(a, fmt.Errorf("%s into %T: %w", a.Type(), dst, ErrType))
}

func convert[S, T cdf3.Number](ctx context.Context, a Array, dst []T, s Sel) error {
	src := make([]S, len(dst))
	if err := ReadInto(ctx, a, src, s); err != nil {
		return err
	}
	var bad S
	out := 0
	for i, x := range src {
		if !fits[T](x) {
			bad, out = x, out+1
		}
		dst[i] = T(x)
	}
	if out > 0 {
		return inSlab(a, fmt.Errorf("%d of %d values (such as %v) into %T: %w", out, len(src), bad, dst, ErrRange))
	}
	return nil
}

// fits reports whether T can hold x, truncated towards zero. NaN and infinities fit
// floating-point types only; for float32 the limit is its largest finite value.
func fits[T, S cdf3.Number](x S) bool {
	f := float64(x)
	if isFloat[T]() {
		return sizeOf[T]() == 8 || math.IsNaN(f) || math.IsInf(f, 0) || math.Abs(f) <= math.MaxFloat32
	}
	if !isFloat[S]() {
		return (x < 0) == (T(x) < 0) && S(T(x)) == x
	}
	lo, hi := limits[T]()
	return (f > lo-1 || f == lo) && f < hi
}

// limits returns the smallest value of an integer type and one more than the largest,
// rounded to float64.
func limits[T cdf3.Number]() (lo, hi float64) {
	bits := 8 * sizeOf[T]()
	if !isSigned[T]() {
		return 0, math.Ldexp(1, int(bits))
	}
	hi = math.Ldexp(1, int(bits)-1)
	return -hi, hi
}
