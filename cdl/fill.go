package cdl

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// fillOf returns the value that is written as "_", or nil.
func fillOf(v *cdf3.Var) []byte {
	if a := attr(v.Attrs, "_FillValue"); a != nil && a.Type == v.Type && a.Len == 1 {
		return a.Values
	}
	if v.Type == cdf3.Byte || v.Type == cdf3.UByte {
		return nil // all of their values are ordinary
	}
	return v.Type.Fill()
}

// orFill wraps f to write "_" for the fill value.
func orFill(v *cdf3.Var, f appender) appender {
	fill := fillOf(v)
	switch {
	case fill == nil:
		return f
	case v.Type == cdf3.Float:
		x := math.Float32frombits(binary.BigEndian.Uint32(fill))
		return func(dst, b []byte) []byte {
			if sameFloat32(x, math.Float32frombits(binary.BigEndian.Uint32(b))) {
				return append(dst, '_')
			}
			return f(dst, b)
		}
	case v.Type == cdf3.Double:
		x := math.Float64frombits(binary.BigEndian.Uint64(fill))
		return func(dst, b []byte) []byte {
			if sameFloat64(x, math.Float64frombits(binary.BigEndian.Uint64(b))) {
				return append(dst, '_')
			}
			return f(dst, b)
		}
	}
	return func(dst, b []byte) []byte {
		if bytes.Equal(b, fill) {
			return append(dst, '_')
		}
		return f(dst, b)
	}
}

// The steps from 1 to the next float and double (FLT_EPSILON, DBL_EPSILON).
const (
	epsilon32 = 1.0 / (1 << 23)
	epsilon64 = 1.0 / (1 << 52)
)

// sameFloat32 reports whether ncdump takes x for the fill value: if they are equal up
// to the precision of floats, both NaN, or infinite with the same sign.
func sameFloat32(fill, x float32) bool {
	if (fill > 0) != (x > 0) {
		return false
	}
	if !finite32(math.Float32bits(fill)) || !finite32(math.Float32bits(x)) {
		return sameSpecial(float64(fill), float64(x))
	}
	return abs32(float32(fill-x)) <= abs32(float32(epsilon32*x))
}

func sameFloat64(fill, x float64) bool {
	if (fill > 0) != (x > 0) {
		return false
	}
	if !finite64(math.Float64bits(fill)) || !finite64(math.Float64bits(x)) {
		return sameSpecial(fill, x)
	}
	return math.Abs(float64(fill-x)) <= math.Abs(float64(epsilon64*x))
}

func sameSpecial(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.IsInf(a, 0) && math.IsInf(b, 0)
}

func abs32(x float32) float32 {
	if x < 0 {
		return -x
	}
	return x
}
