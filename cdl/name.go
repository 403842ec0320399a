package cdl

import (
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Kind returns the kind of a file as ncdump -k prints it.
func Kind(v cdf3.Version) string {
	switch v {
	case cdf3.Classic:
		return "classic"
	case cdf3.Offset64:
		return "64-bit offset"
	case cdf3.Data64:
		return "cdf5"
	}
	return v.String()
}

// KindMode returns the kind of a file and its mode in netCDF-C as ncdump -K prints them.
func KindMode(v cdf3.Version) string {
	switch v {
	case cdf3.Classic:
		return "classic mode=00000000"
	case cdf3.Offset64:
		return "64-bit offset mode=00000200" // NC_64BIT_OFFSET
	case cdf3.Data64:
		return "64-bit data mode=00000020" // NC_64BIT_DATA
	}
	return v.String()
}

// Name derives the name of a data set from a file name as ncdump does: without folders
// and without the part from the last dot on.
func Name(file string) string {
	file = file[strings.LastIndexAny(file, `/\`)+1:]
	if dot := strings.LastIndexByte(file, '.'); dot >= 0 {
		file = file[:dot]
	}
	return file
}
