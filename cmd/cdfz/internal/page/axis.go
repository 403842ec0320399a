package page

import (
	"errors"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/internal/latin"
)

// coordinates returns the numbers of the coordinate variables, by dimension: the first
// variable with the name of the dimension and no other dimension. A variable of text does not count.
func coordinates(h *cdf3.Header) map[int]int {
	out := map[int]int{}
	for i := range h.Vars {
		v := &h.Vars[i]
		if len(v.DimIDs) != 1 || v.Type == cdf3.Char || v.Name != h.Dims[v.DimIDs[0]].Name {
			continue
		}
		if _, ok := out[v.DimIDs[0]]; !ok {
			out[v.DimIDs[0]] = i
		}
	}
	return out
}

// pressures are units by which coordinates are vertical, by section 4.3 of the CF conventions.
var pressures = []string{
	"Pa", "hPa", "kPa", "pascal", "pascals", "hectopascal", "hectopascals", "bar", "mbar", "millibar", "millibars", "mb", "dbar", "decibar", "decibars", "atm",
}

// vertical are standard names of vertical coordinates, and whether they grow downwards.
var vertical = map[string]bool{
	"depth": true, "air_pressure": true, "sea_water_pressure": true, "atmosphere_sigma_coordinate": true, "atmosphere_hybrid_sigma_pressure_coordinate": true,
	"height": false, "altitude": false, "atmosphere_ln_pressure_coordinate": false, "atmosphere_hybrid_height_coordinate": false, "atmosphere_sleve_coordinate": false,
	"ocean_sigma_coordinate": false, "ocean_s_coordinate": false, "ocean_s_coordinate_g1": false, "ocean_s_coordinate_g2": false, "ocean_sigma_z_coordinate": false, "ocean_double_sigma_coordinate": false,
}

// axisOf returns the axis for which the values of a variable are coordinates, X, Y, Z, T or "", by
// section 4 of the CF conventions or else by its name. Down is set if its values grow downwards.
func axisOf(h *cdf3.Header, num int) (axis string, down bool) {
	v := &h.Vars[num]
	positive, units, name := text(v, "positive"), text(v, "units"), strings.ToLower(v.Name)
	pressure := slices.Contains(pressures, units)
	falls, height := vertical[text(v, "standard_name")]
	down = strings.EqualFold(positive, "down") || positive == "" && (pressure || falls || !height && name == "depth")
	if a := strings.ToUpper(text(v, "axis")); len(a) == 1 && strings.Contains("XYZT", a) {
		return a, down
	}
	switch {
	case cf.IsLatitude(v):
		return "Y", down
	case cf.IsLongitude(v):
		return "X", down
	case positive != "":
		return "Z", down
	}
	if _, err := cf.UnitsOf(h, num); !errors.Is(err, cf.ErrNotTime) { // also times that cannot be read
		return "T", down
	}
	switch {
	case pressure || height:
		return "Z", down
	case name == "lat" || name == "latitude" || name == "y":
		return "Y", down
	case name == "lon" || name == "longitude" || name == "x":
		return "X", down
	case name == "lev" || name == "level" || name == "depth" || name == "z":
		return "Z", down
	case name == "time" || name == "t":
		return "T", down
	}
	return "", down
}

// maxValue is how many bytes of an attribute's text the page shows.
const maxValue = 4 << 10

// text returns an attribute of text, or "".
func text(v *cdf3.Var, name string) string {
	s := v.Attr(name).Text()
	if len(s) > maxValue {
		return ""
	}
	return latin.Text(s)
}
