// Package slab reads hyperslabs of netCDF variables: parts of an array given by
// start, count and stride in each dimension.
//
// It works on an [Array], the values of one variable in row-major order as bytes,
// so that it serves classic files and archives alike. It knows neither.
package slab

import (
	"io"
	"strconv"
)

// Type is the external type of an array's elements, with the codes of netCDF's
// nc_type.
type Type uint8

// The eleven types of classic netCDF files.
const (
	Byte   Type = 1 // signed, 8 bits
	Char   Type = 2 // text, 8 bits
	Short  Type = 3
	Int    Type = 4
	Float  Type = 5
	Double Type = 6
	UByte  Type = 7
	UShort Type = 8
	UInt   Type = 9
	Int64  Type = 10
	UInt64 Type = 11
)

var types = [...]struct {
	name string
	size int64
}{
	Byte: {"byte", 1}, Char: {"char", 1}, Short: {"short", 2}, Int: {"int", 4},
	Float: {"float", 4}, Double: {"double", 8}, UByte: {"ubyte", 1},
	UShort: {"ushort", 2}, UInt: {"uint", 4}, Int64: {"int64", 8}, UInt64: {"uint64", 8},
}

// Valid reports whether t is one of the eleven types.
func (t Type) Valid() bool { return t >= Byte && t <= UInt64 }

// Size is the bytes of an element, 0 for an invalid type.
func (t Type) Size() int64 {
	if !t.Valid() {
		return 0
	}
	return types[t].size
}

// String is the type's name in CDL.
func (t Type) String() string {
	if !t.Valid() {
		return "type(" + strconv.Itoa(int(t)) + ")"
	}
	return types[t].name
}

// Array is the values of a variable. ReadAt gives their bytes in row-major order,
// big-endian as in the file, from offset 0 to Len(). It is as safe for
// concurrent use as its ReaderAt.
type Array struct {
	Shape []int64 // length of each dimension; empty for a scalar
	Type  Type
	io.ReaderAt
}

// Len is the bytes of all values.
func (a *Array) Len() int64 {
	n := a.Type.Size()
	for _, d := range a.Shape {
		n *= d
	}
	return n
}
