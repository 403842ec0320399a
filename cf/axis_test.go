package cf_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
)

// TestAngles checks the spellings of latitudes and longitudes.
func TestAngles(t *testing.T) {
	for _, c := range []struct {
		units, name string
		want        string // y, x or none
	}{
		{"degrees_north", "", "y"}, {"degreeN", "", "y"}, {"Degrees_North", "", "y"}, {"degrees North", "", "y"}, {" degree_N\x00", "", "y"},
		{"degrees_east", "", "x"}, {"DEGREES_EAST", "", "x"}, {"degree E", "", "x"},
		{"degrees North", "latitude", "y"}, {"degrees", "latitude", "y"}, {"deg", "longitude", "x"}, {"", "longitude", "x"},
		{"degrees", "", ""}, {"radian", "latitude", ""}, {"m", "longitude", ""}, {"degrees", "grid_latitude", ""}, {"north", "", ""},
		{strings.Repeat(" ", 100) + "degrees_north", "", ""},
	} {
		v := &cdf3.Var{Attrs: []cdf3.Attr{{Name: "units", Type: cdf3.Char, Len: int64(len(c.units)), Values: []byte(c.units)}}}
		if c.name != "" {
			v.Attrs = append(v.Attrs, cdf3.Attr{Name: "standard_name", Type: cdf3.Char, Len: int64(len(c.name)), Values: []byte(c.name)})
		}
		require.Equal(t, c.want == "y", cf.IsLatitude(v), "%+v", c)
		require.Equal(t, c.want == "x", cf.IsLongitude(v), "%+v", c)
	}
}
