package cdlgen

import (
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Limits of declarations.
const (
	maxNames   = 1 << 20   // dimensions, variables and attributes
	maxDims    = 1024      // of a variable (NC_MAX_VAR_DIMS in netcdf.h)
	maxName    = 256       // bytes of a name (NC_MAX_NAME in netcdf.h)
	maxDeclare = 256 << 20 // bytes of names and attributes
)

// kinds are the names of classic formats that ncgen accepts for -k and _Format.
var kinds = map[string]cdf3.Version{
	"classic": cdf3.Classic, "nc3": cdf3.Classic, "1": cdf3.Classic,
	"64-bit offset": cdf3.Offset64, "64-bit-offset": cdf3.Offset64, "nc6": cdf3.Offset64, "2": cdf3.Offset64,
	"cdf5": cdf3.Data64, "cdf-5": cdf3.Data64, "nc5": cdf3.Data64, "5": cdf3.Data64, "64-bit data": cdf3.Data64, "64-bit-data": cdf3.Data64,
}

// otherKinds are the names of netCDF-4 formats.
var otherKinds = []string{
	"netcdf-4", "netcdf4", "nc4", "3", "hdf5", "enhanced", "netcdf-4 classic model", "nc7", "4", "netcdf-4-classic", "netcdf-4_classic",
	"netcdf4_classic", "hdf5-nc3", "enhanced-nc3",
}

// Kind returns the version of a kind of file as ncgen -k takes it. classic is false for
// a kind of netCDF-4, and known is false for anything else.
func Kind(name string) (v cdf3.Version, classic, known bool) {
	if v, ok := kinds[name]; ok {
		return v, true, true
	}
	for _, k := range otherKinds {
		if strings.EqualFold(k, name) {
			return 0, false, true
		}
	}
	return 0, false, false
}

// typeNames are the words for types. The second ones are old.
var typeNames = map[string]cdf3.Type{
	"char": cdf3.Char, "byte": cdf3.Byte, "short": cdf3.Short, "int": cdf3.Int, "float": cdf3.Float, "double": cdf3.Double,
	"ubyte": cdf3.UByte, "ushort": cdf3.UShort, "uint": cdf3.UInt, "int64": cdf3.Int64, "uint64": cdf3.UInt64,
	"long": cdf3.Int, "integer": cdf3.Int, "real": cdf3.Float, "ulong": cdf3.UInt, "uinteger": cdf3.UInt,
}

// netcdf4Types are words that begin the declaration of something that classic files
// cannot hold.
var netcdf4Types = map[string]bool{"string": true, "enum": true, "opaque": true, "compound": true, "struct": true, "structure": true}
