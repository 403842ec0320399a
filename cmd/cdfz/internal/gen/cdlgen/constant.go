package cdlgen

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Kinds of constants.
const (
	integer = iota
	floating
	filler // the word _
)

const byteType = cdf3.Byte

var be = binary.BigEndian

// constant is a value in the text. The value of an integer is i, or uint64(i) if its
// type is uint64.
type constant struct {
	kind int
	typ  cdf3.Type // of the suffix, or the default type
	tag  bool      // there was a suffix
	i    int64
	f    float64 // also -0 for the integer "-0", which ncdump writes for floats
}

// letter reports whether the constant can be a character: it is one, or a number of one
// byte.
func (x constant) letter() bool { return x.kind == integer && x.typ.Size() == 1 }

// tagged checks an integer against the type of its suffix. As in ncgen, a signed suffix
// takes numbers of the unsigned type too: 255b is -1b. big means that the value is
// uint64(i).
func (x constant) tagged(big bool) (constant, error) {
	bits := 8 * uint(x.typ.Size())
	unsigned := x.typ >= cdf3.UByte && x.typ != cdf3.Int64
	switch {
	case unsigned && !big && x.i < 0:
		return x, numberError("negative number with an unsigned suffix")
	case big && bits < 64, !big && bits < 64 && (x.i < -1<<(bits-1) || x.i >= 1<<bits):
		return x, numberError("number out of the range of its suffix, a " + x.typ.String())
	}
	if !unsigned && bits < 64 {
		x.i = x.i << (64 - bits) >> (64 - bits)
	}
	return x, nil
}

// convert appends the constant as a big-endian value of type t. A number must fit,
// where signed and unsigned integers of the same width stand for each other. Floats are
// rounded to type t.
func (x constant) convert(dst []byte, t cdf3.Type) ([]byte, error) {
	switch t {
	case cdf3.Float, cdf3.Double:
		f := x.f
		if x.kind == integer {
			switch {
			case x.typ == cdf3.UInt64:
				f = float64(uint64(x.i))
			case x.i != 0:
				f = float64(x.i)
			}
		}
		if t == cdf3.Float {
			return be.AppendUint32(dst, float32bits(f)), nil
		}
		return be.AppendUint64(dst, float64bits(f)), nil
	}
	i, big := x.i, x.kind == integer && x.typ == cdf3.UInt64 && x.i < 0
	if x.kind == floating {
		// 2^63 and above are uint64 at best. NaN fails the first comparison.
		if !(x.f >= -1<<63 && x.f < 1<<64) || x.f != math.Trunc(x.f) {
			return dst, numberError("expected an integer of type " + t.String() + ", found " + strconv.FormatFloat(x.f, 'g', -1, 64))
		}
		if big = x.f >= 1<<63; big {
			i = int64(uint64(x.f))
		} else {
			i = int64(x.f)
		}
	}
	bits := 8 * uint(t.Size())
	if big && bits < 64 || bits < 64 && (i < -1<<(bits-1) || i >= 1<<bits) {
		return dst, numberError("number out of the range of type " + t.String() + ": " + x.decimal(i, big))
	}
	switch bits {
	case 8:
		return append(dst, byte(i)), nil
	case 16:
		return be.AppendUint16(dst, uint16(i)), nil
	case 32:
		return be.AppendUint32(dst, uint32(i)), nil
	}
	return be.AppendUint64(dst, uint64(i)), nil
}

func (x constant) decimal(i int64, big bool) string {
	if big {
		return strconv.FormatUint(uint64(i), 10)
	}
	return strconv.FormatInt(i, 10)
}

// The bits of NaN as C programs have them. Those of Go differ.
const (
	nan32 = 0x7fc00000
	nan64 = 0x7ff8000000000000
)

func float32bits(f float64) uint32 {
	if math.IsNaN(f) {
		return nan32
	}
	return math.Float32bits(float32(f))
}

func float64bits(f float64) uint64 {
	if math.IsNaN(f) {
		return nan64
	}
	return math.Float64bits(f)
}

// commonType returns the type of an attribute without a declared type: double if there
// is one, else float if there is one, else the widest integer type, the last of them
// for types of the same width. A type that cannot hold all integers is replaced by one
// that can.
func commonType(list []constant) (cdf3.Type, error) {
	var t cdf3.Type
	negative, most := false, uint64(0)
	for _, x := range list {
		switch {
		case x.kind == floating && (x.typ == cdf3.Double || t != cdf3.Double):
			t = x.typ
		case t == cdf3.Float || t == cdf3.Double || x.kind != integer:
		case t == 0 || x.typ.Size() >= t.Size():
			t = x.typ
		}
		if x.kind == integer {
			if x.i < 0 && x.typ != cdf3.UInt64 {
				negative = true
			} else {
				most = max(most, uint64(x.i))
			}
		}
	}
	if t == cdf3.Float || t == cdf3.Double {
		return t, nil
	}
	for holds := false; !holds; {
		bits := 8 * uint(t.Size())
		unsigned := t >= cdf3.UByte && t != cdf3.Int64
		switch limit := uint64(math.MaxUint64) >> (64 - bits); {
		case unsigned && !negative, !unsigned && most <= limit/2:
			holds = true
		case !negative:
			t = map[uint]cdf3.Type{8: cdf3.UByte, 16: cdf3.UShort, 32: cdf3.UInt, 64: cdf3.UInt64}[bits]
		case bits < 64:
			t = map[uint]cdf3.Type{8: cdf3.Short, 16: cdf3.Int, 32: cdf3.Int64}[bits]
		case unsigned && most <= math.MaxInt64:
			t = cdf3.Int64
		default:
			return 0, numberError("no type holds all of these integers")
		}
	}
	return t, nil
}
