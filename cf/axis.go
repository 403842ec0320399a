package cf

import (
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
)

// The spellings of the units of latitude and longitude, CF conventions sections 4.1 and 4.2.
var (
	north = []string{"degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN"}
	east  = []string{"degrees_east", "degree_east", "degree_E", "degrees_E", "degreeE", "degreesE"}
)

// IsLatitude reports whether a coordinate variable is a latitude in degrees.
func IsLatitude(v *cdf3.Var) bool { return isAngle(v, north, "latitude") }

// IsLongitude reports whether a coordinate variable is a longitude in degrees, so that its
// values are the same places 360 apart.
func IsLongitude(v *cdf3.Var) bool { return isAngle(v, east, "longitude") }

func isAngle(v *cdf3.Var, spellings []string, name string) bool {
	units := v.Attr("units").Text()
	if slices.Contains(spellings, units) {
		return true
	}
	return v.Attr("standard_name").Text() == name && slices.Contains([]string{"", "degree", "degrees"}, units)
}
