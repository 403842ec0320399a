package cdf3

import "strconv"

// Type is the external type of a variable or an attribute.
type Type uint32

// The type codes (nc_type in the grammar). Part of the format. In the grammar, only
// CDF-5 has UByte and above. They are accepted in all versions, as in the C library.
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

// types is the table of the types and their properties. The fill values are NC_FILL_*
// of netcdf.h.
var types = [...]struct {
	name  string
	size  int64
	dtype string
	fill  string
}{
	Byte:   {"byte", 1, "|i1", "\x81"},
	Char:   {"char", 1, "|S1", "\x00"},
	Short:  {"short", 2, ">i2", "\x80\x01"},
	Int:    {"int", 4, ">i4", "\x80\x00\x00\x01"},
	Float:  {"float", 4, ">f4", "\x7c\xf0\x00\x00"},
	Double: {"double", 8, ">f8", "\x47\x9e\x00\x00\x00\x00\x00\x00"},
	UByte:  {"ubyte", 1, "|u1", "\xff"},
	UShort: {"ushort", 2, ">u2", "\xff\xff"},
	UInt:   {"uint", 4, ">u4", "\xff\xff\xff\xff"},
	Int64:  {"int64", 8, ">i8", "\x80\x00\x00\x00\x00\x00\x00\x02"},
	UInt64: {"uint64", 8, ">u8", "\xff\xff\xff\xff\xff\xff\xff\xfe"},
}

// TypeByName returns the type with the given CDL name.
func TypeByName(name string) (Type, bool) {
	for t := Byte; t.Valid(); t++ {
		if types[t].name == name {
			return t, true
		}
	}
	return 0, false
}

// Valid reports whether t is one of the eleven types.
func (t Type) Valid() bool { return t >= Byte && t <= UInt64 }

// Size returns the size of one element in bytes, or 0 for an invalid type.
func (t Type) Size() int64 {
	if !t.Valid() {
		return 0
	}
	return types[t].size
}

// String returns the name of the type in CDL, such as "short" or "uint64",
// and "type(12)" for an invalid one.
func (t Type) String() string {
	if !t.Valid() {
		return "type(" + strconv.FormatUint(uint64(t), 10) + ")"
	}
	return types[t].name
}

// DType returns numpy's name of the big-endian type, such as ">i2", or "" for an
// invalid type.
func (t Type) DType() string {
	if !t.Valid() {
		return ""
	}
	return types[t].dtype
}

// Fill returns netCDF's default fill value, big-endian, or nil for an invalid type.
func (t Type) Fill() []byte {
	if !t.Valid() {
		return nil
	}
	return []byte(types[t].fill)
}
