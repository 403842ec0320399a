package cf

import (
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// The spellings of the units of latitude and longitude, CF conventions sections 4.1 and 4.2, in small letters.
var (
	north = []string{"degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"}
	east  = []string{"degrees_east", "degree_east", "degree_e", "degrees_e", "degreee", "degreese"}
)

// IsLatitude reports whether a coordinate variable is a latitude in degrees.
func IsLatitude(v *cdf3.Var) bool { return isAngle(v, north, "latitude") }

// IsLongitude reports whether a coordinate variable is a longitude in degrees, so that its
// values are the same places 360 apart.
func IsLongitude(v *cdf3.Var) bool { return isAngle(v, east, "longitude") }

// isAngle compares units as THREDDS does, in any case, and also "degrees North". With a standard_name, any degrees will do.
func isAngle(v *cdf3.Var, spellings []string, name string) bool {
	a := v.Attr("units")
	const longest = 64 // of units that are looked at
	if a != nil && len(a.Values) > longest {
		return false
	}
	units := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(a.Text())), " ", "_")
	return slices.Contains(spellings, units) || v.Attr("standard_name").Text() == name && (units == "" || strings.HasPrefix(units, "deg"))
}
