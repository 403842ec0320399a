package cf

import (
	"encoding/binary"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Number is a Go type of netCDF values.
type Number interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// Float is a Go type of unpacked values.
type Float interface{ float32 | float64 }

// isFloat reports whether T has fractions.
func isFloat[T Number]() bool { return T(1)/T(2) != 0 }

// element is element i of a numeric attribute, whose bytes are taken as type t, as
// an S; see exact.
func element[S Number](a *cdf3.Attr, t cdf3.Type, i int64) (S, bool) {
	b, be := a.Values[i*a.Type.Size():], binary.BigEndian
	switch t {
	case cdf3.Byte:
		return exact[S](int8(b[0]))
	case cdf3.UByte:
		return exact[S](b[0])
	case cdf3.Short:
		return exact[S](int16(be.Uint16(b)))
	case cdf3.UShort:
		return exact[S](be.Uint16(b))
	case cdf3.Int:
		return exact[S](int32(be.Uint32(b)))
	case cdf3.UInt:
		return exact[S](be.Uint32(b))
	case cdf3.Int64:
		return exact[S](int64(be.Uint64(b)))
	case cdf3.UInt64:
		return exact[S](be.Uint64(b))
	case cdf3.Float:
		return exact[S](math.Float32frombits(be.Uint32(b)))
	case cdf3.Double:
		return exact[S](math.Float64frombits(be.Uint64(b)))
	}
	return 0, false
}
