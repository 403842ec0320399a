package cataloguefile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

func TestLongitudes(t *testing.T) {
	nan := math.NaN()
	grid := func(from, to, step float64) (out []float64) {
		for x := from; x <= to; x += step {
			out = append(out, x)
		}
		return out
	}
	for name, c := range map[string]struct {
		values []float64
		want   *angleRange
	}{
		"none":                    {nil, nil},
		"missing":                 {[]float64{nan, 9999, 1e36}, nil},
		"point":                   {[]float64{13.4}, &angleRange{13.4, 13.4, false}},
		"region":                  {grid(-10, 30, 2.5), &angleRange{-10, 30, false}},
		"two stations":            {[]float64{10, 170}, &angleRange{10, 170, false}},
		"stations at 0":           {[]float64{350, 10}, &angleRange{350, 370, false}},
		"the Pacific":             {append(grid(120, 179, 1), grid(-180, -100, 1)...), &angleRange{120, 260, false}},
		"both sides of date line": {[]float64{180, -180, 175, -175}, &angleRange{175, 185, false}},
		"globe from 0":            {grid(0, 357.5, 2.5), &angleRange{0, 357.5, true}},
		"globe, rounded":          {[]float64{0, 119.999, 240}, &angleRange{0, 240, false}},
		"globe of 8 cells":        {grid(0, 315, 45), &angleRange{0, 315, true}},
		"globe to -180":           {grid(-180, 179, 1), &angleRange{-180, 179, true}},
		"globe, 0 twice":          {grid(0, 360, 5), &angleRange{0, 360, true}},
		"from 21":                 {grid(21, 379, 2), &angleRange{21, 379, true}},
		"stations on two turns":   {[]float64{-170, 10, 300}, &angleRange{-170, 10, false}},
		"far ends":                {[]float64{-280, 440}, &angleRange{-280, -280, false}},
		"a turn and a gap":        {append(grid(0, 40, 1), grid(330, 400, 1)...), &angleRange{330, 400, false}},
		"globe of a dense sample": {append(grid(-180, 180, 7), 180), &angleRange{-180, 180, true}},
		"downwards":               {[]float64{30, 20, 10}, &angleRange{10, 30, false}},
	} {
		require.Equal(t, c.want, longitudes(c.values), name)
	}
	require.Equal(t, &angleRange{-90, 60, false}, latitudes([]float64{60, nan, -90, 9999}))
	require.Nil(t, latitudes([]float64{nan, -999}))
}

// text makes an attribute.
func text(name, value string) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(value)), Values: []byte(value)}
}

// doubles encodes values.
func doubles(values ...float64) (b []byte) {
	for _, x := range values {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// file makes a classic file in memory.
func file(t *testing.T, h *cdf3.Header, values ...[]byte) *archive.File {
	require.NoError(t, h.Layout())
	b, err := h.Append(nil)
	require.NoError(t, err)
	for _, v := range values {
		b = append(b, v...)
	}
	f, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	return f
}

// TestCover checks coordinates that attributes name, of several dimensions, of other calendars, missing ones
// and ones that are not coordinates of the variable.
func TestCover(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "obs", Len: 3}, {Name: "x", Len: 2}, {Name: "other", Len: 2}}}
	h.Vars = []cdf3.Var{
		{Name: "when", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{text("units", "days since 2000-01-30"), text("calendar", "360_day")}},
		{Name: "where", Type: cdf3.Double, DimIDs: []int{0, 1}, Attrs: []cdf3.Attr{text("units", "degrees_north")}},
		{Name: "lon", Type: cdf3.Double, Attrs: []cdf3.Attr{text("units", "degrees_east")}},
		{Name: "y", Type: cdf3.Double, DimIDs: []int{0, 1}, Attrs: []cdf3.Attr{text("coordinates", "when where lon nobody")}},
		{Name: "z", Type: cdf3.Double, DimIDs: []int{2}, Attrs: []cdf3.Attr{text("coordinates", "when where")}},
		{Name: "other", Type: cdf3.Double, DimIDs: []int{2}, Attrs: []cdf3.Attr{text("units", "days since then")}},
	}
	f := file(t, h, doubles(30, -1, math.NaN()), doubles(10, 20, 30, -40, math.NaN(), 5), doubles(-3), doubles(1, 2, 3, 4, 5, 6), doubles(1, 2), doubles(0, 1))
	rows, _, err := Describe(t.Context(), f, &File{Name: "a.nc", Size: 500, Image: "a.nc"})
	require.NoError(t, err)
	y := rows[3]
	require.Equal(t, []string{"360_day", "2000-01-29T00:00:00", "2000-02-30T00:00:00"}, []string{y.Calendar, y.TimeStart, y.TimeEnd})
	require.Equal(t, []float64{-40, 30, -3, -3}, []float64{*y.LatMin, *y.LatMax, *y.LonMin, *y.LonMax})
	require.Equal(t, []string{"obs", "x"}, y.Dimensions)
	require.Equal(t, []int64{3, 2}, y.Shape)
	require.Empty(t, y.Filters)
	require.Zero(t, y.ArchiveSize)
	for _, i := range []int{4, 5} {
		require.Empty(t, rows[i].TimeStart)
		require.Nil(t, rows[i].LatMin)
	}
}

// TestUnnamed checks coordinates that no variable names, and that others do not become coordinates thereby.
func TestUnnamed(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "obs", Len: 3}}}
	since, obs := text("units", "days since 2000-01-01"), []int{0}
	h.Vars = []cdf3.Var{
		{Name: "time", Type: cdf3.Double, DimIDs: obs, Attrs: []cdf3.Attr{since, text("standard_name", "time")}},
		{Name: "lat", Type: cdf3.Double, DimIDs: obs, Attrs: []cdf3.Attr{text("units", "degrees_north")}},
		{Name: "lon", Type: cdf3.Double, DimIDs: obs, Attrs: []cdf3.Attr{text("units", "degrees_east")}},
		{Name: "taken", Type: cdf3.Double, DimIDs: obs, Attrs: []cdf3.Attr{since, text("axis", "T")}},
		{Name: "thaw", Type: cdf3.Double, DimIDs: obs, Attrs: []cdf3.Attr{since}},
	}
	rows, _, err := Describe(t.Context(), file(t, h, doubles(2, 0, 1), doubles(30, 10, 20), doubles(-170, 170, 180), doubles(9, 9, 9), doubles(1, 2, 3)), &File{Name: "a.nc"})
	require.NoError(t, err)
	require.Equal(t, []string{"2000-01-01T00:00:00", "2000-01-03T00:00:00"}, []string{rows[0].TimeStart, rows[0].TimeEnd})
	require.Equal(t, []float64{10, 30}, []float64{*rows[1].LatMin, *rows[1].LatMax})
	require.Equal(t, []float64{170, 190}, []float64{*rows[2].LonMin, *rows[2].LonMax})
	require.Equal(t, "2000-01-10T00:00:00", rows[3].TimeStart)
	require.Empty(t, rows[4].TimeStart) // two variables are times
	require.Equal(t, []float64{10, 30, 170, 190}, []float64{*rows[4].LatMin, *rows[4].LatMax, *rows[4].LonMin, *rows[4].LonMax})
}

// TestMainTime checks which of several times is that of all variables.
func TestMainTime(t *testing.T) {
	for names, want := range map[string]string{
		"JULD_ADJUSTED JULD": "2000-01-02T00:00:00", "time": "2000-01-01T00:00:00", "time times": "", "a b": "", "time time_a taken": "", "t_a t_b t t_a_b": "2000-01-03T00:00:00",
	} {
		h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "obs", Len: 1}}}
		var data [][]byte
		for k, name := range strings.Fields(names) {
			h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{text("units", "days since 2000-01-01"), text("axis", "T")}})
			data = append(data, doubles(float64(k)))
		}
		h.Vars = append(h.Vars, cdf3.Var{Name: "v", Type: cdf3.Double, DimIDs: []int{0}})
		rows, _, err := Describe(t.Context(), file(t, h, append(data, doubles(1))...), &File{Name: "a.nc"})
		require.NoError(t, err)
		require.Equal(t, want, rows[len(rows)-1].TimeStart, names)
	}
}

// TestLone checks files without the attribute coordinates: profiles as Argo has them, and a station.
func TestLone(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "N_PROF", Len: 2}, {Name: "N_LEVELS", Len: 2}}}
	prof := []int{0}
	h.Vars = []cdf3.Var{
		{Name: "JULD", Type: cdf3.Double, DimIDs: prof, Attrs: []cdf3.Attr{text("units", "days since 1950-01-01 00:00:00 UTC"), text("standard_name", "time"), text("axis", "T")}},
		{Name: "JULD_LOCATION", Type: cdf3.Double, DimIDs: prof, Attrs: []cdf3.Attr{text("units", "days since 1950-01-01 00:00:00 UTC")}},
		{Name: "LATITUDE", Type: cdf3.Double, DimIDs: prof, Attrs: []cdf3.Attr{text("units", "degree_north")}},
		{Name: "LONGITUDE", Type: cdf3.Double, DimIDs: prof, Attrs: []cdf3.Attr{text("units", "degree_east")}},
		{Name: "PRES", Type: cdf3.Double, DimIDs: []int{0, 1}},
		{Name: "LEVEL", Type: cdf3.Double, DimIDs: []int{1}},
	}
	rows, _, err := Describe(t.Context(), file(t, h, doubles(1, 2), doubles(3, 4), doubles(-40, 10), doubles(5, 7), doubles(1, 2, 3, 4), doubles(1, 2)), &File{Name: "a.nc"})
	require.NoError(t, err)
	require.Equal(t, []string{"1950-01-02T00:00:00", "1950-01-03T00:00:00"}, []string{rows[4].TimeStart, rows[4].TimeEnd})
	require.Equal(t, []float64{-40, 10, 5, 7}, []float64{*rows[4].LatMin, *rows[4].LatMax, *rows[4].LonMin, *rows[4].LonMax})
	require.Empty(t, rows[5].TimeStart)
	require.Nil(t, rows[5].LatMin)

	h = &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "n", Len: 2}}}
	h.Vars = []cdf3.Var{
		{Name: "lat", Type: cdf3.Double, Attrs: []cdf3.Attr{text("units", "degrees_north")}},
		{Name: "lon", Type: cdf3.Double, Attrs: []cdf3.Attr{text("units", "degrees_east")}},
		{Name: "v", Type: cdf3.Double, DimIDs: prof},
		{Name: "crs", Type: cdf3.Double},
	}
	rows, _, err = Describe(t.Context(), file(t, h, doubles(52), doubles(13), doubles(1, 2), doubles(0)), &File{Name: "b.nc"})
	require.NoError(t, err)
	require.Equal(t, []float64{52, 52, 13, 13}, []float64{*rows[2].LatMin, *rows[2].LatMax, *rows[2].LonMin, *rows[2].LonMax})
	require.Nil(t, rows[3].LatMin)
	item := NewItem(&rows[2])
	item.Add(&rows[2])
	require.Equal(t, &geometry{"Point", []float64{13, 52}}, item.Geometry)
}

// TestNoRecords checks coordinates without values, and a bound that one of them does not meet: later ones are
// still read.
func TestNoRecords(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "time"}, {Name: "lat", Len: 2}}}
	h.Vars = []cdf3.Var{
		{Name: "time", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{text("units", "days since 2000-01-01")}},
		{Name: "lat", Type: cdf3.Double, DimIDs: []int{1}, Attrs: []cdf3.Attr{text("units", "degrees_north")}},
		{Name: "v", Type: cdf3.Double, DimIDs: []int{0, 1}},
	}
	f := file(t, h, doubles(50, -50))
	rows, _, err := Describe(t.Context(), f, &File{Name: "a.nc"})
	require.NoError(t, err)
	require.Empty(t, rows[2].TimeStart)
	require.Equal(t, []float64{-50, 50}, []float64{*rows[2].LatMin, *rows[2].LatMax})
	require.Equal(t, []int64{0, 2}, rows[2].Shape)

	c := newCoverage(t.Context(), f)
	c.left = 1
	values, err := c.read(1, false)
	require.NoError(t, err)
	require.Empty(t, values)
	require.Equal(t, int64(1), c.left)
}

// TestManyDimensions describes variables of many dimensions, whose coordinates have many dimensions and
// attributes, too. If each variable looked at all of them anew, this would be by far the slowest test here.
func TestManyDimensions(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: 1}}}
	dims := make([]int, cdf3.MaxRank)
	x := cdf3.Var{Name: "x", Type: cdf3.Byte, DimIDs: []int{0}}
	for i := range 10000 {
		x.Attrs = append(x.Attrs, text(fmt.Sprint(i), ""))
	}
	h.Vars = []cdf3.Var{x}
	names := ""
	for i := range maxNamed {
		name := fmt.Sprint("v", i)
		names += name + " "
		h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Byte, DimIDs: dims})
	}
	for i := range 2000 {
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprint("w", i), Type: cdf3.Byte, DimIDs: dims, Attrs: []cdf3.Attr{text("coordinates", names)}})
	}
	rows, _, err := Describe(t.Context(), file(t, h, make([]byte, 4*len(h.Vars))), &File{Name: "a.nc"})
	require.NoError(t, err)
	require.Len(t, rows, 1+maxNamed+2000)
}

// TestLongTimes checks that of a long time axis only the ends are read, and of a grid that is too large
// nothing.
func TestLongTimes(t *testing.T) {
	for _, n := range []int64{shortTimes, shortTimes + 1} {
		h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "time", Len: n}, {Name: "x", Len: 513}}}
		h.Vars = []cdf3.Var{
			{Name: "time", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{text("units", "days since 1900-01-01")}},
			{Name: "lat", Type: cdf3.Byte, DimIDs: []int{1}, Attrs: []cdf3.Attr{text("units", "degrees_north")}},
			{Name: "lats", Type: cdf3.Byte, DimIDs: []int{1, 1}, Attrs: []cdf3.Attr{text("units", "degrees_north"), text("coordinates", "lat")}},
			{Name: "v", Type: cdf3.Byte, DimIDs: []int{1, 1}, Attrs: []cdf3.Attr{text("coordinates", "lats")}},
		}
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i % 100)
		}
		values[n/2] = 1000
		rows, _, err := Describe(t.Context(), file(t, h, doubles(values...)), &File{Name: "a.nc"})
		require.NoError(t, err)
		want := "1902-09-28T00:00:00"
		if n > shortTimes {
			want = "1900-04-10T00:00:00"
		}
		require.Equal(t, want, rows[0].TimeEnd)
		require.Equal(t, 0.0, *rows[2].LatMax)
		require.Nil(t, rows[3].LatMax)
	}
}

func TestAttributes(t *testing.T) {
	attrs := []cdf3.Attr{
		text("a", "é\xff<\"\x00"), {Name: "b", Type: cdf3.Float, Len: 1, Values: []byte{0x3d, 0xcc, 0xcc, 0xcd}}, {Name: "n", Type: cdf3.Double, Len: 2, Values: doubles(math.NaN(), -3)},
		{Name: "big", Type: cdf3.Int64, Len: 1, Values: []byte{0x7f, 255, 255, 255, 255, 255, 255, 255}}, {Name: "none", Type: cdf3.Int}, text("a", "second"),
		{Name: "long", Type: cdf3.Byte, Len: maxAttrNumbers + 1, Values: make([]byte, maxAttrNumbers+1)}, text("\xff", ""),
	}
	require.Equal(t, `{"a":"Ã©ÿ<\"","b":0.1,"n":["NaN",-3],"big":9223372036854775807,"none":[],"ÿ":""}`, attributes(attrs))
	require.Empty(t, attributes(nil))
	require.Equal(t, `{"a":"`+"a"+strings.Repeat("é", maxAttrText/2-1)+`"}`, attributes([]cdf3.Attr{text("a", "a"+strings.Repeat("é", maxAttrText))}), "cut between characters")
	var many []cdf3.Attr
	for i := range 100 {
		many = append(many, text(fmt.Sprint(i), string(bytes.Repeat([]byte{1}, maxAttrText))))
	}
	require.LessOrEqual(t, len(attributes(many)), maxAttrs+1)
}
