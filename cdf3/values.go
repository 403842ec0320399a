package cdf3

import (
	"encoding/binary"
	"math"
	"strings"
	"unsafe"
)

// Number is a Go type of netCDF values, or one with such a type below it.
type Number interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Attr returns the first attribute of the file of that name, or nil. Value, Text, Float64s and
// Int64s of nil have no values. Callers must not change it.
func (h *Header) Attr(name string) *Attr { return attrOf(h.Attrs, name) }

// Attr is like the method of Header for an attribute of the variable.
func (v *Var) Attr(name string) *Attr { return attrOf(v.Attrs, name) }

func attrOf(attrs []Attr, name string) *Attr {
	for i := range attrs {
		if attrs[i].Name == name {
			return &attrs[i]
		}
	}
	return nil
}

// Value returns what the attribute holds: a string for char, without trailing NULs; for numbers a
// slice of the Go type that belongs to the type, such as []int16 or []float64. It is nil without
// an attribute.
func (a *Attr) Value() any {
	if a == nil {
		return nil
	}
	switch a.Type {
	case Char:
		return a.Text()
	case Byte:
		return decode[int8](a)
	case UByte:
		return decode[uint8](a)
	case Short:
		return decode[int16](a)
	case UShort:
		return decode[uint16](a)
	case Int:
		return decode[int32](a)
	case UInt:
		return decode[uint32](a)
	case Int64:
		return decode[int64](a)
	case UInt64:
		return decode[uint64](a)
	case Float:
		return decode[float32](a)
	}
	return decode[float64](a)
}

// Text returns the value of a char attribute without trailing NULs, which C programs
// often count into its length. It is "" for other types and without an attribute.
func (a *Attr) Text() string {
	if a == nil || a.Type != Char {
		return ""
	}
	return strings.TrimRight(string(a.Values), "\x00")
}

// Float64s returns the values of a numeric attribute, with 64-bit integers rounded. It
// is nil for text and without an attribute.
func (a *Attr) Float64s() []float64 {
	if a == nil || a.Type == Char {
		return nil
	}
	return decode[float64](a)
}

// Int64s returns the values of a numeric attribute of any type if all of them are
// integers in the range of int64, and nil otherwise or without an attribute.
func (a *Attr) Int64s() []int64 {
	if a == nil || a.Type == Char {
		return nil
	}
	size := a.Type.Size()
	out := make([]int64, a.Len)
	for i := range out {
		b := a.Values[int64(i)*size:]
		switch a.Type {
		case Float, Double:
			x := element[float64](a.Type, b)
			if x != math.Trunc(x) || x < -1<<63 || x >= 1<<63 {
				return nil
			}
		case UInt64:
			if b[0] >= 0x80 {
				return nil
			}
		}
		out[i] = element[int64](a.Type, b)
	}
	return out
}

// Values returns the values of an attribute in its own type: int8 for byte, uint8 for
// ubyte and char, float64 for double. It is nil if T is another type.
func Values[T Number](a *Attr) []T {
	if a == nil || !native[T](a.Type) {
		return nil
	}
	return decode[T](a)
}

// native reports whether T is the Go type of values of type t.
func native[T Number](t Type) bool {
	var z T
	float, signed := T(1)/T(2) != 0, z-1 < 0
	switch t {
	case Float, Double:
		return float && int64(unsafe.Sizeof(z)) == t.Size()
	case Byte, Short, Int, Int64:
		return !float && signed && int64(unsafe.Sizeof(z)) == t.Size()
	}
	return !signed && int64(unsafe.Sizeof(z)) == t.Size()
}

func decode[T Number](a *Attr) []T {
	out := make([]T, a.Len)
	size := a.Type.Size()
	for i := range out {
		out[i] = element[T](a.Type, a.Values[int64(i)*size:])
	}
	return out
}

// element converts the big-endian value at the start of b from type t.
func element[T Number](t Type, b []byte) T {
	be := binary.BigEndian
	switch t {
	case Byte:
		return T(int8(b[0]))
	case Char, UByte:
		return T(b[0])
	case Short:
		return T(int16(be.Uint16(b)))
	case UShort:
		return T(be.Uint16(b))
	case Int:
		return T(int32(be.Uint32(b)))
	case UInt:
		return T(be.Uint32(b))
	case Int64:
		return T(int64(be.Uint64(b)))
	case UInt64:
		return T(be.Uint64(b))
	case Float:
		return T(math.Float32frombits(be.Uint32(b)))
	}
	return T(math.Float64frombits(be.Uint64(b)))
}
