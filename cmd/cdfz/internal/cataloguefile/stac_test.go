package cataloguefile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestItem(t *testing.T) {
	r := Row{Path: "runs/7/tas 1850.nc.cdfz", Image: "tas 1850.nc", SHA256: "ab", ImageSize: 2000, ArchiveSize: 1000}
	orog := r
	orog.Variable, orog.Type, orog.Dimensions, orog.Shape = "orog", "float", []string{"lat", "lon"}, []int64{3, 4}
	orog.LatMin, orog.LatMax, orog.LonMin, orog.LonMax = at(-10), at(10), at(20), at(30)
	tas := orog
	tas.Variable, tas.StandardName, tas.Units, tas.Calendar = "tas", "air_temperature", "K", "360_day"
	tas.TimeStart, tas.TimeEnd = "1850-02-30T00:00:00", "1850-12-30T12:00:00.5"
	m := NewItem(&r)
	m.Add(&orog)
	m.Add(&tas)
	b, err := json.Marshal(m)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"type": "Feature", "stac_version": "1.0.0", "stac_extensions": ["https://stac-extensions.github.io/file/v2.1.0/schema.json"],
		"id": "tas 1850.nc.cdfz-d9142f60b090", "bbox": [20, -10, 30, 10],
		"geometry": {"type": "MultiPolygon", "coordinates": [[[[20, -10], [30, -10], [30, 10], [20, 10], [20, -10]]]]},
		"properties": {
			"title": "tas 1850.nc.cdfz", "datetime": null, "start_datetime": "1850-02-28T00:00:00Z", "end_datetime": "1850-12-30T12:00:00.5Z",
			"cdfz:calendar": "360_day", "cdfz:image": "tas 1850.nc", "cdfz:sha256": "ab", "cdfz:image_size": 2000,
			"cdfz:variables": [
				{"name": "orog", "type": "float", "dimensions": ["lat", "lon"], "shape": [3, 4]},
				{"name": "tas", "type": "float", "dimensions": ["lat", "lon"], "shape": [3, 4], "standard_name": "air_temperature", "units": "K"}]},
		"links": [],
		"assets": {"data": {"href": "runs/7/tas%201850.nc.cdfz", "title": "tas 1850.nc.cdfz", "type": "application/zip", "roles": ["data"], "file:size": 1000}}
	}`, string(b))

	// A classic file without coordinates, and more variables than an item holds.
	classic := Row{Path: "x.nc", ImageSize: 5}
	m = NewItem(&classic)
	m.Add(&classic)
	b, err = json.Marshal(m)
	require.NoError(t, err)
	require.Contains(t, string(b), `"geometry":null,"properties":{"title":"x.nc","datetime":null,"start_datetime":"0001-01-01T00:00:00Z","end_datetime":"9999-12-31T23:59:59Z",`)
	require.Contains(t, string(b), `"type":"application/x-netcdf"`)
	classic.Variable, classic.Type = strings.Repeat("v", maxItem/4), "int"
	for range 6 {
		m.Add(&classic)
	}
	require.Equal(t, []int{3, 3}, []int{len(m.Properties.Variables), m.Properties.Omitted})
}

func at(x float64) *float64 { return &x }

func TestItemBox(t *testing.T) {
	for _, c := range []struct {
		boxes  [][4]float64 // south, north, west, east
		circle bool
		want   []float64
		parts  int
	}{
		{[][4]float64{{-90, 90, 20, 377.5}}, true, []float64{-180, -90, 180, 90}, 1},
		{[][4]float64{{-90, 90, 0, 360}}, false, []float64{-180, -90, 180, 90}, 1},
		{[][4]float64{{0, 1, 350, 370}}, false, []float64{-10, 0, 10, 1}, 1},
		{[][4]float64{{0, 1, 170, 190}}, false, []float64{170, 0, -170, 1}, 2},
		{[][4]float64{{0, 1, 170, 180}}, false, []float64{170, 0, 180, 1}, 1},
		{[][4]float64{{0, 1, 180, 190}}, false, []float64{-180, 0, -170, 1}, 1},
		{[][4]float64{{0, 1, 5, 5}}, false, []float64{5, 0, 5, 1}, 1},
		{[][4]float64{{0, 1, -10, 10}, {2, 3, 350, 371}}, false, []float64{-10, 0, 11, 3}, 1},
		{[][4]float64{{-95, 95, 1, 2}}, false, []float64{1, -90, 2, 90}, 1},
		{[][4]float64{{100, 5000, 1, 2}}, false, nil, 0},
		{[][4]float64{{0, 1, 4e5, 5e5}}, false, nil, 0},
	} {
		r := Row{Path: "x"}
		m := NewItem(&r)
		for _, b := range c.boxes {
			r.LatMin, r.LatMax, r.LonMin, r.LonMax, r.LonCircle = &b[0], &b[1], &b[2], &b[3], c.circle
			m.Add(&r)
		}
		require.Equal(t, c.want, m.Box, "%v", c.boxes)
		if c.parts == 0 {
			require.Nil(t, m.Geometry)
		} else {
			require.Len(t, m.Geometry.Coordinates, c.parts)
		}
	}
}

func TestItemReferences(t *testing.T) {
	for name, want := range map[string]string{
		"a/b c.nc":                     "a/b%20c.nc",
		"a:b.nc":                       "./a:b.nc",
		"/data/é%2F?#.nc":              "/data/%C3%A9%252F%3F%23.nc",
		"s3://bucket/run 7/é#.nc":      "s3://bucket/run%207/%C3%A9%23.nc",
		"https://h/x.nc?sig=a%20b":     "https://h/x.nc?sig=a%20b",
		"https://h/x%20y.nc.cdfz":      "https://h/x%20y.nc.cdfz",
		"http://h:80/x.nc":             "http://h:80/x.nc",
		string([]byte{'a', 0xff, 'b'}): "a%FFb",
	} {
		require.Equal(t, want, href(name))
	}
}

func TestInstant(t *testing.T) {
	for date, want := range map[string]string{
		"-0044-03-15T00:00:00":       "0001-01-01T00:00:00Z",
		"12345-01-01T00:00:00":       "9999-12-31T23:59:59Z",
		"2001-02-30T01:02:03.250000": "2001-02-28T01:02:03.25Z",
		"2004-02-29T00:00:00":        "2004-02-29T00:00:00Z",
	} {
		d, err := parseDate(date)
		require.NoError(t, err)
		require.Equal(t, want, instant(d))
	}
}
