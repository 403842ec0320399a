package cataloguefile

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestPoints checks which coordinates are those of single places, and which places these are.
func TestPoints(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		feature  string
		dims     string    // of the coordinates; "time" is that of a time axis
		lat, lon []float64 // 4 each
		want     string
	}{
		"stations":                  {"timeSeries", "station", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, "[[5,1],[6,2],[7,3],[8,4]]"},
		"in capitals":               {"TimeSeries ", "station", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, "[[5,1],[6,2],[7,3],[8,4]]"},
		"profiles of a float":       {"trajectoryProfile", "N_PROF", []float64{1, 2, 1, 4}, []float64{5, 6, 5, 8}, "[[5,1],[6,2],[8,4]]"},
		"no feature":                {"", "recNum", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, "[[5,1],[6,2],[7,3],[8,4]]"},
		"points in time":            {"point", "time", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, "[[5,1],[6,2],[7,3],[8,4]]"},
		"moving stations":           {"timeSeries", "station x", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, "[[5,1],[6,2],[7,3],[8,4]]"},
		"trajectory":                {"trajectory", "obs", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, ""},
		"track without a feature":   {"", "time", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, ""},
		"cells":                     {"", "nCells", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, ""},
		"columns":                   {"", "ncol", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, ""},
		"nodes of a mesh":           {"", "mesh2d_node", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, ""},
		"nodes in capitals":         {"any", "NODES", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, ""},
		"a surface is no face":      {"any", "nsurface", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, "[[5,1],[6,2],[7,3],[8,4]]"},
		"curvilinear":               {"", "y x", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, ""},
		"one place":                 {"", "obs", []float64{1, 1, 1, nan}, []float64{5, 365, -355, 5}, ""},
		"beyond 180":                {"", "obs", []float64{1, 2, 3, 0}, []float64{190, 350, 540, -180}, "[[-170,1],[-10,2],[-180,3],[-180,0]]"},
		"missing":                   {"", "obs", []float64{1, 99999, 3, nan}, []float64{5, 6, 99999, 8}, ""},
		"missing, two left":         {"", "obs", []float64{1, 99999, 3, 4}, []float64{5, 6, 99999, 8}, "[[5,1],[8,4]]"},
		"all missing":               {"", "obs", []float64{nan, nan, nan, nan}, []float64{5, 6, 7, 8}, ""},
		"tenths of a metre":         {"", "obs", []float64{1.0000001, 1, 2.1234567, -1e-9}, []float64{5, 5, 6, -1e-9}, "[[5,1],[6,2.123457],[0,0]]"},
		"179.9999999":               {"", "obs", []float64{1, 1, 2, 90}, []float64{179.9999999, -180, 179.999999, 0}, "[[-180,1],[179.999999,2],[0,90]]"},
		"an unknown kind of places": {"meta", "obs", []float64{1, 2, 2, 2}, []float64{5, 6, 6, 6}, "[[5,1],[6,2]]"},
	} {
		h := &cdf3.Header{Version: cdf3.Classic}
		var ids []int
		words := strings.Fields(c.dims)
		for i, dim := range words {
			h.Dims = append(h.Dims, cdf3.Dim{Name: dim, Len: int64(4 / len(words))})
			ids = append(ids, i)
		}
		if c.feature != "" {
			h.Attrs = append(h.Attrs, text("featureType", c.feature))
		}
		h.Vars = []cdf3.Var{
			{Name: "lat", Type: cdf3.Double, DimIDs: ids, Attrs: []cdf3.Attr{text("units", "degrees_north")}},
			{Name: "lon", Type: cdf3.Double, DimIDs: ids, Attrs: []cdf3.Attr{text("units", "degrees_east")}},
			{Name: "v", Type: cdf3.Double, DimIDs: ids},
		}
		data := [][]byte{doubles(c.lat...), doubles(c.lon...), doubles(1, 2, 3, 4)}
		if c.dims == "time" {
			h.Vars = append(h.Vars, cdf3.Var{Name: "time", Type: cdf3.Double, DimIDs: ids, Attrs: []cdf3.Attr{text("units", "days since 2000-01-01")}})
			data = append(data, doubles(1, 2, 3, 4))
		}
		rows, _, err := Describe(t.Context(), file(t, h, data...), &File{Name: "a.nc"})
		require.NoError(t, err, name)
		r := &rows[2]
		if c.want == "" {
			require.Nil(t, r.Points, name)
			continue
		}
		require.NotNil(t, r.Points, name)
		require.JSONEq(t, `{"type":"MultiPoint","coordinates":`+c.want+`}`, r.Points.text, name)
		for _, p := range r.Points.at { // the box is around them
			b := &Box{p[0], p[1], p[0], p[1]}
			require.True(t, b.meets(r), name)
			box := *r
			box.Points = nil
			require.True(t, (&Box{p[0] - 1e-5, p[1] - 1e-5, p[0] + 1e-5, p[1] + 1e-5}).meets(&box), name)
		}
		require.Same(t, rows[0].Points, r.Points, name)
	}
}

// TestMeshes checks that the nodes of a mesh are no single places, whatever the name of their dimension is.
func TestMeshes(t *testing.T) {
	for name, change := range map[string]func(h *cdf3.Header){
		"cf_role": func(h *cdf3.Header) { h.Vars[2].Attrs = append(h.Vars[2].Attrs, text("cf_role", "mesh_topology")) },
		"mesh":    func(h *cdf3.Header) { h.Vars[2].Attrs = append(h.Vars[2].Attrs, text("mesh", "m")) },
		"bounds":  func(h *cdf3.Header) { h.Vars[0].Attrs = append(h.Vars[0].Attrs, text("bounds", "b")) },
		"none":    func(h *cdf3.Header) {},
	} {
		h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "p", Len: 2}}}
		h.Vars = []cdf3.Var{
			{Name: "lat", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{text("units", "degrees_north")}},
			{Name: "lon", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{text("units", "degrees_east")}},
			{Name: "v", Type: cdf3.Double, DimIDs: []int{0}},
		}
		change(h)
		rows, _, err := Describe(t.Context(), file(t, h, doubles(1, 2), doubles(3, 4), doubles(5, 6)), &File{Name: "a.nc"})
		require.NoError(t, err, name)
		require.Equal(t, name == "none", rows[2].Points != nil, name)
	}
}

// TestManyPoints checks the bound of the number of places.
func TestManyPoints(t *testing.T) {
	for _, n := range []int{maxPoints, maxPoints + 1} {
		h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "obs", Len: int64(2 * n)}}}
		h.Vars = []cdf3.Var{
			{Name: "lat", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{text("units", "degrees_north")}},
			{Name: "lon", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{text("units", "degrees_east")}},
		}
		var lat, lon []float64
		for i := range 2 * n { // each twice
			lat, lon = append(lat, float64(i%n)/100), append(lon, 1)
		}
		rows, _, err := Describe(t.Context(), file(t, h, doubles(lat...), doubles(lon...)), &File{Name: "a.nc"})
		require.NoError(t, err)
		if n > maxPoints {
			require.Nil(t, rows[0].Points)
		} else {
			require.Equal(t, n, rows[0].Points.Len())
		}
		require.InDelta(t, float64(n-1)/100, *rows[0].LatMax, 1e-9)
	}
}

// TestPointsMeet checks that a box between places does not find them.
func TestPointsMeet(t *testing.T) {
	r := &Row{Points: newPoints([][2]float64{{-170, 10}, {13.4, 52.5}, {-180, -5}})}
	r.LatMin, r.LatMax, r.LonMin, r.LonMax, r.LonCircle = ptr(-5), ptr(52.5), ptr(13.4), ptr(190), true
	for box, want := range map[string]bool{
		"0,20,10,30": false, "13,52,14,53": true, "13.4,52.5,13.4,52.5": true, "373,52,374,53": false, "-347,52,-346,53": true, "170,-10,-160,20": true, "175,-10,180,0": true, "-180,-10,-175,0": true,
		"180,-5,180,-5": true, "179,-4,-175,9": false, "-180,0,180,9": false, "0,0,360,10": true, "-170,10,-170,10": true, "190,10,190,10": true, "-169,-90,13,90": false,
	} {
		b, err := ParseBox(box)
		if box == "373,52,374,53" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, box)
		require.Equal(t, want, b.meets(r), box)
	}
}

// TestItemPoints checks the geometry of items whose variables have points, boxes or both.
func TestItemPoints(t *testing.T) {
	row := func(points ...[2]float64) *Row {
		r := &Row{Path: "x", Type: "int", Variable: "v", LatMin: ptr(90), LatMax: ptr(-90), LonMin: ptr(180), LonMax: ptr(-180)}
		for _, p := range points {
			*r.LonMin, *r.LonMax, *r.LatMin, *r.LatMax = min(*r.LonMin, p[0]), max(*r.LonMax, p[0]), min(*r.LatMin, p[1]), max(*r.LatMax, p[1])
		}
		if len(points) > 1 {
			r.Points = newPoints(points)
		}
		return r
	}
	many := func(from, n int) (p [][2]float64) {
		for i := range n {
			p = append(p, [2]float64{float64(from+i) / 100, 1})
		}
		return p
	}
	a, area := row([2]float64{1, 2}, [2]float64{3, 4}), row([2]float64{0, 0}, [2]float64{5, 5})
	area.Points = nil
	for want, rows := range map[string][]*Row{
		`{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}`:                            {a, a, row([2]float64{3, 4})},
		`{"type":"MultiPoint","coordinates":[[3,4],[1,2]]}`:                            {row([2]float64{3, 4}), a},
		`{"type":"MultiPoint","coordinates":[[1,2],[3,4],[5,6]]}`:                      {a, row([2]float64{3, 4}, [2]float64{5, 6})},
		`{"type":"Point","coordinates":[3,4]}`:                                         {row([2]float64{3, 4}), row([2]float64{3, 4})},
		`{"type":"MultiPolygon","coordinates":[[[[0,0],[5,0],[5,5],[0,5],[0,0]]]]}`:    {a, area},
		`{"type":"MultiPolygon","coordinates":[[[[0,1],[10,1],[10,1],[0,1],[0,1]]]]}`:  {row(many(0, 600)...), row(many(500, 501)...)},
		`{"type":"MultiPolygon","coordinates":[[[[0,-1],[5,-1],[5,5],[0,5],[0,-1]]]]}`: {area, a, row([2]float64{2, -1})},
		`{"type":"MultiPoint","coordinates":[[1,2],[3,4],[179,0],[-179,0]]}`:           {a, row([2]float64{179, 0}, [2]float64{-179, 0})},
	} {
		m := NewItem(rows[0])
		for _, r := range rows {
			m.Add(r)
		}
		b, err := json.Marshal(m.Geometry)
		require.NoError(t, err)
		require.JSONEq(t, want, string(b))
	}
}

// TestFormat1 reads a catalogue of format 1 from before the format had points, and merges it with another. It was made
// of the file of stations of catalogue.txtar.
func TestFormat1(t *testing.T) {
	data, err := os.ReadFile("testdata/format1.parquet")
	require.NoError(t, err)
	rows, err := read(data)
	require.NoError(t, err)
	require.Len(t, rows, 4)
	require.Equal(t, "t", rows[3].Variable)
	require.Nil(t, rows[3].Points)
	require.Equal(t, []float64{-5, 20}, []float64{*rows[3].LatMin, *rows[3].LatMax})
	c, err := Open(strings.NewReader(string(data)), int64(len(data)))
	require.NoError(t, err)
	b := NewBuilder()
	defer b.Close()
	b.AddPart("old", c)
	other := fileRows("z.nc", 3)
	require.NoError(t, b.Add(other))
	var out strings.Builder
	_, err = b.Write(t.Context(), &out)
	require.NoError(t, err)
	both, err := read([]byte(out.String()))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(append(rows, other...)[5].Points), fmt.Sprint(both[5].Points))
	require.Equal(t, append(rows, other...), both)
}
