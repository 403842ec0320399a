package page

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestAxis has the cases of the viewer's test (js/test/analysis.test.js).
func TestAxis(t *testing.T) {
	for _, c := range []struct {
		name, attr, value, axis string
		down                    bool
	}{
		{"level", "units", "millibars", "Z", true},
		{"plev", "units", "Pa", "Z", true},
		{"p", "units", "hectopascals", "Z", true},
		{"d", "standard_name", "depth", "Z", true},
		{"p", "standard_name", "sea_water_pressure", "Z", true},
		{"sigma", "standard_name", "atmosphere_hybrid_sigma_pressure_coordinate", "Z", true},
		{"s_rho", "standard_name", "ocean_s_coordinate_g2", "Z", false},
		{"a", "standard_name", "altitude", "Z", false},
		{"a", "standard_name", "air_temperature", "", false},
		{"depth", "units", "m", "Z", true},
		{"depth", "positive", "up", "Z", false},
		{"lev", "positive", "down", "Z", true},
		{"height", "units", "m", "", false},
	} {
		h := &cdf3.Header{Vars: []cdf3.Var{{Name: c.name, Type: cdf3.Float, Attrs: []cdf3.Attr{{Name: c.attr, Type: cdf3.Char, Len: int64(len(c.value)), Values: []byte(c.value)}}}}}
		axis, down := axisOf(h, 0)
		require.Equal(t, c.axis, axis, c)
		require.Equal(t, c.down, down, c)
	}
}
