package netcdf4

import (
	"encoding/binary"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/hdf5"
)

// Names of netCDF-C's own attributes (libhdf5/nc4hdf.c).
const (
	attrDimID      = "_Netcdf4Dimid"
	attrDims       = "_Netcdf4Coordinates"
	attrProperties = "_NCProperties"
)

// reserved are attributes that netCDF-C neither shows nor writes for users, because they
// belong to its conventions or to those of dimension scales.
var reserved = map[string]bool{
	"CLASS": true, "NAME": true, "DIMENSION_LIST": true, "REFERENCE_LIST": true,
	attrDimID: true, attrDims: true, attrProperties: true, "_nc3_strict": true,
}

// types are HDF5's types of netCDF's.
var types = map[cdf3.Type]hdf5.Type{
	cdf3.Byte: {Class: hdf5.Signed}, cdf3.Short: {Class: hdf5.Signed}, cdf3.Int: {Class: hdf5.Signed}, cdf3.Int64: {Class: hdf5.Signed},
	cdf3.UByte: {Class: hdf5.Unsigned}, cdf3.UShort: {Class: hdf5.Unsigned}, cdf3.UInt: {Class: hdf5.Unsigned}, cdf3.UInt64: {Class: hdf5.Unsigned},
	cdf3.Float: {Class: hdf5.Float}, cdf3.Double: {Class: hdf5.Float}, cdf3.Char: {Class: hdf5.Text},
}

func typeOf(t cdf3.Type) hdf5.Type {
	out := types[t]
	out.Size, out.BigEndian = int(t.Size()), t.Size() > 1
	return out
}

// attrs returns the attributes of variable v, or of the file if v is -1.
func (d *description) attrs(v int, list []cdf3.Attr) []hdf5.Attr {
	var out []hdf5.Attr
	seen := map[string]bool{}
	for i := range list {
		a := &list[i]
		why := ""
		switch {
		case reserved[a.Name]:
			why = "the name has a meaning in netCDF-4 files"
		case a.Name == "" || strings.ContainsRune(a.Name, 0):
			why = "HDF5 has no such names"
		case seen[a.Name]:
			why = "an earlier attribute has the same name"
		}
		if why != "" {
			d.omitted = append(d.omitted, Omitted{v, a.Name, why})
			continue
		}
		seen[a.Name] = true
		out = append(out, attribute(a))
	}
	return out
}

func attribute(a *cdf3.Attr) hdf5.Attr {
	switch {
	case a.Type == cdf3.Char:
		return text(a.Name, string(a.Values))
	case a.Len == 0:
		return hdf5.Attr{Name: a.Name, Type: typeOf(a.Type), Len: hdf5.Null}
	}
	return hdf5.Attr{Name: a.Name, Type: typeOf(a.Type), Len: a.Len, Values: a.Values}
}

// text makes a single string. HDF5 has no strings without bytes.
func text(name, value string) hdf5.Attr {
	if value == "" {
		value = "\x00"
	}
	return hdf5.Attr{Name: name, Type: hdf5.Type{Class: hdf5.Text, Size: len(value)}, Len: hdf5.Single, Values: []byte(value)}
}

// number makes an attribute of integers of 32 bits.
func number(name string, n int64, values ...int) hdf5.Attr {
	a := hdf5.Attr{Name: name, Type: hdf5.Type{Class: hdf5.Signed, Size: 4}, Len: n}
	for _, v := range values {
		a.Values = binary.LittleEndian.AppendUint32(a.Values, uint32(v))
	}
	return a
}
