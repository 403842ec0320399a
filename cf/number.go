package cf

import (
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// isFloat reports whether T is a floating-point type.
func isFloat[T cdf3.Number]() bool { return T(1)/T(2) != 0 }

// exactly returns the values of a numeric attribute that an S can hold exactly; see
// exact.
func exactly[S cdf3.Number](a *cdf3.Attr) []S {
	switch a.Type {
	case cdf3.Byte:
		return allExact[S](cdf3.Values[int8](a))
	case cdf3.UByte:
		return allExact[S](cdf3.Values[uint8](a))
	case cdf3.Short:
		return allExact[S](cdf3.Values[int16](a))
	case cdf3.UShort:
		return allExact[S](cdf3.Values[uint16](a))
	case cdf3.Int:
		return allExact[S](cdf3.Values[int32](a))
	case cdf3.UInt:
		return allExact[S](cdf3.Values[uint32](a))
	case cdf3.Int64:
		return allExact[S](cdf3.Values[int64](a))
	case cdf3.UInt64:
		return allExact[S](cdf3.Values[uint64](a))
	case cdf3.Float:
		return allExact[S](cdf3.Values[float32](a))
	case cdf3.Double:
		return allExact[S](cdf3.Values[float64](a))
	}
	return nil
}

func allExact[S, N cdf3.Number](values []N) (out []S) {
	for _, x := range values {
		if y, ok := exact[S](x); ok {
			out = append(out, y)
		}
	}
	return out
}

// exact converts a number if no information is lost. An exception are floating-point
// types: values within their range are rounded. NaN is never exact.
func exact[S, N cdf3.Number](x N) (S, bool) {
	f := float64(x)
	if isFloat[S]() {
		y := S(x)
		return y, f == f && math.IsInf(float64(y), 0) == math.IsInf(f, 0)
	}
	if isFloat[N]() {
		if f != math.Trunc(f) || f < -math.MaxInt64 || f > math.MaxUint64 {
			return 0, false
		}
		if f < 0 {
			return exact[S](int64(f))
		}
		if f >= 1<<64 {
			return 0, false
		}
		return exact[S](uint64(f))
	}
	y := S(x)
	return y, N(y) == x && (y < 0) == (x < 0)
}
