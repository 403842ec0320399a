package cdl

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/cdfz-format/cdfz/cdf3"
)

// appender appends the text of the big-endian value in b.
type appender func(dst, b []byte) []byte

// values returns the appender of a variable, or nil if it is written as text.
func (d *dumper) values(i int) appender {
	v := &d.h.Vars[i]
	if u := d.timeUnits(i, true); u != nil && v.Type != cdf3.Char {
		return orFill(v, func(dst, b []byte) []byte { return u.append(dst, toDouble(v.Type, b)) })
	}
	if f := d.cFormat(v); f != nil {
		return orFill(v, f)
	}
	if v.Type == cdf3.Char {
		return nil
	}
	return orFill(v, d.plain(v.Type))
}

// plain returns the appender of a type without a format.
func (d *dumper) plain(t cdf3.Type) appender {
	switch t {
	case cdf3.Byte:
		return func(dst, b []byte) []byte { return strconv.AppendInt(dst, int64(int8(b[0])), 10) }
	case cdf3.Short:
		return func(dst, b []byte) []byte {
			return strconv.AppendInt(dst, int64(int16(binary.BigEndian.Uint16(b))), 10)
		}
	case cdf3.Int:
		return func(dst, b []byte) []byte {
			return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(b))), 10)
		}
	case cdf3.Float:
		n := digits(d.o.FloatDigits, floatDigits)
		return func(dst, b []byte) []byte {
			bits := binary.BigEndian.Uint32(b)
			if x := math.Float32frombits(bits); finite32(bits) {
				return appendFloat32(dst, x, n)
			}
			return append(appendSpecial(dst, float64(math.Float32frombits(bits))), 'f')
		}
	case cdf3.Double:
		n := digits(d.o.DoubleDigits, doubleDigits)
		return func(dst, b []byte) []byte {
			bits := binary.BigEndian.Uint64(b)
			if x := math.Float64frombits(bits); finite64(bits) {
				return appendFloat64(dst, x, n)
			}
			return appendSpecial(dst, math.Float64frombits(bits))
		}
	case cdf3.UByte:
		return func(dst, b []byte) []byte { return strconv.AppendUint(dst, uint64(b[0]), 10) }
	case cdf3.UShort:
		return func(dst, b []byte) []byte {
			return strconv.AppendUint(dst, uint64(binary.BigEndian.Uint16(b)), 10)
		}
	case cdf3.UInt:
		return func(dst, b []byte) []byte {
			return strconv.AppendUint(dst, uint64(binary.BigEndian.Uint32(b)), 10)
		}
	case cdf3.Int64:
		return func(dst, b []byte) []byte {
			return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(b)), 10)
		}
	default:
		return func(dst, b []byte) []byte {
			return strconv.AppendUint(dst, binary.BigEndian.Uint64(b), 10)
		}
	}
}

// cFormat returns the appender for the C_format attribute of a variable. It returns nil
// if there is no usable one or -p overrides it.
func (d *dumper) cFormat(v *cdf3.Var) appender {
	if v.Type == cdf3.Float && d.o.FloatDigits != 0 || v.Type == cdf3.Double && d.o.DoubleDigits != 0 {
		return nil
	}
	a := attr(v.Attrs, "C_format")
	if a == nil || a.Type != cdf3.Char || a.Len == 0 || a.Len >= maxFormat {
		return nil
	}
	s := cString(string(a.Values))
	if v.Type == cdf3.Char && s == "" {
		return nil
	}
	f, ok := parseFormat(s)
	if !ok {
		return nil
	}
	return f.appender(v.Type)
}
