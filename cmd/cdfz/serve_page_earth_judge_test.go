//go:build judge && linux

package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// worldCDL has a cell for each 10 degrees: its value is the number of its row, from the south, times 100, and of its column,
// from 0° eastwards. One on land and one at sea are missing.
func worldCDL(first int, down, turned bool) string {
	var lats, lons, values []string
	cell := func(lat, lon int) string {
		if lat == 65 && lon == 105 || lat == -15 && lon == 225 {
			return "_"
		}
		return fmt.Sprint((lat+85)/10*100 + lon/10)
	}
	for i := range 18 {
		lat := -85 + 10*i
		if down {
			lat = -lat
		}
		lats = append(lats, fmt.Sprint(lat))
	}
	for i := range 36 {
		lons = append(lons, fmt.Sprint(first+10*i+5))
	}
	shape := "lat, lon"
	number := func(s string) (n int) { fmt.Sscan(s, &n); return n }
	if turned {
		shape = "lon, lat"
		for _, lon := range lons {
			for _, lat := range lats {
				values = append(values, cell(number(lat), (number(lon)+720)%360))
			}
		}
	} else {
		for _, lat := range lats {
			for _, lon := range lons {
				values = append(values, cell(number(lat), (number(lon)+720)%360))
			}
		}
	}
	return fmt.Sprintf(`netcdf world { dimensions: lat = 18 ; lon = 36 ; variables: float lat(lat) ; lat:units = "degrees_north" ;
		float lon(lon) ; lon:units = "degrees_east" ; float a(%s) ; data: lat = %s ; lon = %s ; a = %s ; }`,
		shape, strings.Join(lats, ", "), strings.Join(lons, ", "), strings.Join(values, ", "))
}

// colours defines functions of a script: at returns the colour of the canvas at a fraction of the box, is whether a colour is
// that of a value between two others, and coast how many pixels around a place have the colour of coastlines.
const colours = `
  const palette = await import("./colour/palette.js"), scale = await import("./colour/scale.js");
  const canvas = document.getElementById("map-canvas"), box = JSON.parse(canvas.dataset.box);
  const g = canvas.getContext("2d");
  const pixel = (x, y) => [...g.getImageData(Math.floor(x), Math.floor(y), 1, 1).data.slice(0, 3)];
  const at = (fx, fy) => pixel(box.x + fx * box.w, box.y + fy * box.h);
  const same = (p, q) => [0, 1, 2].every((k) => Math.abs(p[k] - q[k]) < 2);
  const is = (p, v, low, high) => { const s = scale.make({ palette: "viridis", low, high }), c = s.pixels[s.place(v)]; return same(p, [c >>> 24, (c >>> 16) & 255, (c >>> 8) & 255]); };
  const dark = (fx, fy, r) => { const d = g.getImageData(box.x + fx * box.w - r, box.y + fy * box.h - r, 2 * r + 1, 2 * r + 1).data; let n = 0; for (let i = 0; i < d.length; i += 4) if (d[i] < 110 && d[i + 1] < 110 && d[i + 2] < 110) n++; return n; };
`

// TestJudgePageCoast looks for the coast of Chile, and for missing values on land and at sea, on maps whose longitudes begin
// anywhere, and whose axes have any order.
func TestJudgePageCoast(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, first := range []int{0, -180, -90, 20} {
		files[fmt.Sprintf("first%d.nc", first)] = worldCDL(first, false, false)
	}
	files["down.nc"], files["turned.nc"] = worldCDL(0, true, false), worldCDL(-180, false, true)
	s := serveOn(t, generated(t, files))
	b := openBrowser(t, 1280, 900)
	for name := range files {
		first := map[string]float64{"first-180.nc": -180, "first-90.nc": -90, "first20.nc": 20, "turned.nc": -180}[name]
		across := func(lon float64) float64 { return math.Mod(lon-first+720, 360) / 360 }
		up := func(lat float64) float64 { return (90 - lat) / 180 }
		b.view(s, "?file="+name+"&var=a&palette=viridis&from=-3000&to=1735") // bright everywhere
		b.until(`document.getElementById("map-canvas").dataset.coast === "true"`)
		script := `(async () => {` + colours + `return [dark(%g, %g, 5), dark(%g, %g, 5), +is(at(%g, %g), 35 / 10 + 500 | 0, -3000, 1735), +same(at(%g, %g), palette.land()), +[palette.missing(0, 0), palette.missing(4, 0)].some((c) => same(at(%g, %g), c))];})()`
		found := eval[[]float64](b, script, across(-70.2), up(-22), across(-85), up(-22), across(32), up(-32), across(107), up(66), across(-133), up(-13))
		require.Positive(t, found[0], "%s: no coast of Chile", name)
		require.Zero(t, found[1], "%s: a coast in the Pacific", name)
		require.Equal(t, []float64{1, 1, 1}, found[2:], name)
		b.do(chromedp.Click(chromedp.CSS("#coast")))
		require.Zero(t, eval[int](b, `(async () => {`+colours+`return dark(%g, %g, 3);})()`, across(-70.2), up(-22)), name)
		b.until(`location.search.includes("coast=0")`)
	}
	b.shot("coast")
	b.clean()
}

// TestJudgePageProjections looks at known places in each projection, points at them, turns and zooms.
func TestJudgePageProjections(t *testing.T) {
	t.Parallel()
	s := serveOn(t, generated(t, map[string]string{"x.nc": worldCDL(0, false, false)}))
	b := openBrowser(t, 1280, 900)
	rad := math.Pi / 180
	cell := func(lon, lat float64) int { return int((lat+90)/10)*100 + int(math.Mod(lon+360, 360)/10) }
	// Fractions of the box for a place, from textbooks.
	for name, c := range map[string]struct {
		view     string
		lon, lat float64
		x, y     float64 // in units of half the height of the whole
	}{
		"plate":     {"20,0,1", -100, 33, -120. / 90, 33. / 90},
		"mollweide": {"0,0,1", 73, 1, 73. / 90, math.Pi / 4 * rad},
		"globe":     {"100,20,1", 143, 20, math.Cos(20*rad) * math.Sin(43*rad), math.Cos(20*rad)*math.Sin(20*rad) - math.Sin(20*rad)*math.Cos(20*rad)*math.Cos(43*rad)},
		"north":     {"0,90,1", 93, 37, math.Tan(26.5*rad) * math.Sin(93*rad), -math.Tan(26.5*rad) * math.Cos(93*rad)},
		"south":     {"0,-90,1", 93, -37, math.Tan(26.5*rad) * math.Sin(93*rad), math.Tan(26.5*rad) * math.Cos(93*rad)},
	} {
		b.view(s, "?file=x.nc&var=a&palette=viridis&from=0&to=1735&coast=0&projection="+name+"&view="+c.view)
		require.Equal(t, name, eval[string](b, `document.getElementById("projection").value`))
		require.True(t, eval[bool](b, `(async () => {`+colours+`const half = Math.min(box.w / %[3]g, box.h) / 2; return is(pixel(box.x + box.w / 2 + %[1]g * half, box.y + box.h / 2 - %[2]g * half), %[4]d, 0, 1735);})()`,
			c.x, c.y, map[string]float64{"plate": 2, "mollweide": 2}[name]+map[string]float64{"globe": 1, "north": 1, "south": 1}[name], cell(c.lon, c.lat)), name)
		b.shot("projection-" + name)
	}

	// The pointer reads the place, a click chooses the cell, a drag turns, keys zoom, and the address has it.
	b.view(s, "?file=x.nc&var=a&projection=globe&view=105,25,1")
	at := func(dx, dy float64) (x, y float64) {
		p := eval[[]float64](b, `(() => {
  const c = document.getElementById("map-canvas"), { x, y, w, h, scale } = JSON.parse(c.dataset.box), r = c.getBoundingClientRect();
  return [r.left + (x + w / 2) / scale + %g * (h / 2 / scale), r.top + (y + h / 2) / scale - %g * (h / 2 / scale)];
})()`, dx, dy)
		return p[0], p[1]
	}
	b.do(chromedp.ScrollIntoView(chromedp.CSS("#map-canvas")))
	b.do(chromedp.MouseClickXY(at(0.001, 0.001)))
	b.until(`location.search.includes("point=11,10")`)
	require.True(t, strings.HasPrefix(b.text("readout"), "1110 at 25°N, 105°E — lat[11], lon[10]"), b.text("readout"))
	pointer := func(script string) {
		eval[bool](b, `(() => {
  const c = document.getElementById("map-cursor"), { x, y, w, h, scale } = JSON.parse(document.getElementById("map-canvas").dataset.box), r = c.getBoundingClientRect();
  const send = (type, dx, dy) => c.dispatchEvent(new PointerEvent(type, { clientX: r.left + (x + w / 2 + dx * h / 2) / scale, clientY: r.top + (y + h / 2 - dy * h / 2) / scale, bubbles: true, pointerId: 1, button: 0 }));
  c.setPointerCapture = () => {};
  `+script+`
  return true;
})()`)
	}
	pointer(`send("pointerdown", 0, 0); send("pointermove", Math.PI / 6, 0); send("pointerup", Math.PI / 6, 0);`)
	eye := func() map[string]float64 {
		return eval[map[string]float64](b, `JSON.parse(document.getElementById("map-canvas").dataset.eye)`)
	}
	require.InDelta(t, 75, eye()["lon"], 0.5)
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")), chromedp.KeyEvent("+"))
	require.InDelta(t, 2, eye()["zoom"], 0)
	b.until(`/view=[.\d]+,[.\d]+,2(&|$)/.test(location.search)`)
	b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	b.until(`location.search.includes("point=11,11")`)
	b.do(chromedp.KeyEvent("0"))
	require.InDelta(t, 1, eye()["zoom"], 0)
	b.view(s, "?file=x.nc&var=a&projection=orange&view=1,2&coast=3")
	require.Contains(t, b.text("note"), "projection=orange is not one of")
	require.Contains(t, b.text("note"), "view=1,2 is not a longitude, a latitude and an enlargement")
	require.Contains(t, b.text("note"), "coast=3 is not 0 or 1")
	b.clean()
}

// TestJudgePageMeshes looks at known places of curved grids, meshes and points, and chooses cells there.
func TestJudgePageMeshes(t *testing.T) {
	t.Parallel()
	const pair = `float x(n) ; x:units = "degrees_east" ; float y(n) ; y:units = "degrees_north" ; `
	const nodes = `x = 0, 10, 20, 0, 10, 20 ; y = 0, 0, 0, 10, 10, 10 ; `
	files := map[string]string{
		"curved.nc": `netcdf c { dimensions: t = 2 ; j = 2 ; i = 3 ; variables: float lat(j, i) ; lat:units = "degrees_north" ; float lon(j, i) ; lon:units = "degrees_east" ;
			float a(t, j, i) ; a:coordinates = "lon lat" ; data: lat = 0, 1, 2, 10, 11, 12 ; lon = 350, 0, 10, 350, 0, 10 ; a = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ; }`,
		"bounds.nc": `netcdf c { dimensions: j = 2 ; i = 2 ; four = 4 ; variables: float lat(j, i) ; lat:units = "degrees_north" ; lat:bounds = "latb" ; float lon(j, i) ; lon:units = "degrees_east" ; lon:bounds = "lonb" ;
			float latb(j, i, four), lonb(j, i, four) ; float a(j, i) ; a:coordinates = "lon lat" ;
			data: lat = 5, 5, 25, 25 ; lon = 5, 25, 5, 25 ; latb = 0, 0, 10, 10, 0, 0, 10, 10, 20, 20, 30, 30, 20, 20, 30, 30 ; lonb = 0, 10, 10, 0, 20, 30, 30, 20, 0, 10, 10, 0, 20, 30, 30, 20 ; a = 1, 2, 3, 4 ; }`,
		"rotated.nc": `netcdf c { dimensions: rlat = 3 ; rlon = 3 ; variables: float rlat(rlat) ; rlat:standard_name = "grid_latitude" ; rlat:units = "degrees" ; float rlon(rlon) ;
			rlon:standard_name = "grid_longitude" ; rlon:units = "degrees" ; int p ; p:grid_mapping_name = "rotated_latitude_longitude" ; p:grid_north_pole_latitude = 39.25 ; p:grid_north_pole_longitude = -162. ;
			float a(rlat, rlon) ; a:grid_mapping = "p" ; data: rlat = -5, 0, 5 ; rlon = -5, 0, 5 ; a = 1, 2, 3, 4, 5, 6, 7, 8, 9 ; }`,
		"lambert.nc": `netcdf c { dimensions: y = 3 ; x = 3 ; variables: double y(y) ; y:standard_name = "projection_y_coordinate" ; y:units = "km" ; double x(x) ; x:standard_name = "projection_x_coordinate" ; x:units = "km" ;
			int crs ; crs:grid_mapping_name = "lambert_conformal_conic" ; crs:standard_parallel = 33., 45. ; crs:latitude_of_projection_origin = 39. ; crs:longitude_of_central_meridian = -97. ; crs:earth_radius = 6371229. ;
			float a(y, x) ; a:grid_mapping = "crs" ; data: y = 500, 0, -500 ; x = -500, 0, 500 ; a = 1, 2, 3, 4, 5, 6, 7, 8, 9 ; }`,
		"polar.nc": `netcdf c { dimensions: y = 3 ; x = 3 ; variables: float y(y) ; y:standard_name = "projection_y_coordinate" ; y:units = "m" ; float x(x) ; x:standard_name = "projection_x_coordinate" ; x:units = "m" ;
			int crs ; crs:grid_mapping_name = "polar_stereographic" ; crs:standard_parallel = 70. ; crs:latitude_of_projection_origin = 90. ; crs:straight_vertical_longitude_from_pole = -45. ;
			float a(y, x) ; a:grid_mapping = "crs" ; data: y = -1e6, 0, 1e6 ; x = -1e6, 0, 1e6 ; a = 1, 2, 3, 4, 5, 6, 7, 8, 9 ; }`,
		"goes.nc": `netcdf c { dimensions: y = 5 ; x = 5 ; variables: short y(y) ; y:standard_name = "projection_y_coordinate" ; y:units = "rad" ; y:scale_factor = -0.05f ; short x(x) ; x:standard_name = "projection_x_coordinate" ; x:units = "rad" ; x:scale_factor = 0.05f ;
			int goes ; goes:grid_mapping_name = "geostationary" ; goes:perspective_point_height = 35786023. ; goes:semi_major_axis = 6378137. ; goes:semi_minor_axis = 6356752.31414 ; goes:longitude_of_projection_origin = -75. ; goes:sweep_angle_axis = "x" ;
			float a(y, x) ; a:grid_mapping = "goes" ; data: y = -2, -1, 0, 1, 2 ; x = -2, -1, 0, 1, 2 ; a = 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 7, 8, 9, 0, 0, 0, 0, 0, 0 ; }`,
		"edges.nc": `netcdf c { dimensions: n = 6 ; e = 3 ; two = 2 ; variables: int m ; m:cf_role = "mesh_topology" ; m:topology_dimension = 1 ; m:node_coordinates = "x y" ; m:edge_node_connectivity = "en" ; ` + pair +
			`int en(e, two) ; float a(e) ; a:mesh = "m" ; a:location = "edge" ; data: x = 1.3, 13.3, 23.3, 1.3, 13.3, 23.3 ; y = 1.3, 1.3, 1.3, 8.7, 8.7, 8.7 ; en = 0, 1, 1, 5, 3, 4 ; a = 1, 2, 3 ; }`,
		"sweep.nc": `netcdf c { dimensions: time = 4 ; range = 2 ; variables: double time(time) ; time:units = "seconds since 2013-05-20" ; float range(range) ; range:units = "km" ; float azimuth(time) ; azimuth:units = "degrees" ; float elevation(time) ; elevation:units = "degrees" ;
			double latitude ; latitude:units = "degrees_north" ; double longitude ; longitude:units = "degrees_east" ; float a(time, range) ; data: range = 50, 150 ; azimuth = 0, 90, 180, 270 ; latitude = 35 ; longitude = -97 ; a = 1, 2, 3, 4, 5, 6, 7, 8 ; }`,
		"contiguous.nc": `netcdf c { dimensions: station = 3 ; obs = 6 ; variables: float x(station) ; x:units = "degrees_east" ; float y(station) ; y:units = "degrees_north" ; int rows(station) ; rows:sample_dimension = "obs" ;
			double time(obs) ; time:units = "days since 2001-01-01" ; float a(obs) ; a:coordinates = "time x y" ; :featureType = "timeSeries" ; data: x = 0, 10, 20 ; y = 0, 5, 10 ; rows = 2, 3, 1 ; time = 0, 1, 0, 1, 2, 5 ; a = 1, 7, 2, 8, 9, 3 ; }`,
		"indexed.nc": `netcdf c { dimensions: profile = 2 ; obs = 5 ; variables: float x(profile) ; x:units = "degrees_east" ; float y(profile) ; y:units = "degrees_north" ; int parent(obs) ; parent:instance_dimension = "profile" ;
			float z(obs) ; z:units = "m" ; z:positive = "down" ; z:axis = "Z" ; float a(obs) ; a:coordinates = "x y z" ; :featureType = "profile" ; data: x = 0, 10 ; y = 0, 5 ; parent = 1, 0, 1, 0, 1 ; z = 5, 5, 10, 20, 30 ; a = 1, 2, 3, 4, 5 ; }`,
		"faces.nc": `netcdf c { dimensions: t = 2 ; n = 6 ; f = 3 ; c = 4 ; variables: int m ; m:cf_role = "mesh_topology" ; m:topology_dimension = 2 ; m:node_coordinates = "x y" ; m:face_node_connectivity = "fn" ; ` + pair +
			`int fn(f, c) ; fn:start_index = 1 ; fn:_FillValue = -1 ; float a(t, f) ; a:mesh = "m" ; a:location = "face" ; float b(n) ; b:mesh = "m" ; b:location = "node" ;
			data: ` + nodes + `fn = 1, 2, 5, 4, 2, 3, 6, _, 2, 6, 5, _ ; a = 1, 2, 3, 4, 5, 6 ; b = 1, 2, 3, 4, 5, 6 ; }`,
		"icon.nc": `netcdf c { dimensions: cell = 2 ; nv = 3 ; variables: double clon(cell) ; clon:standard_name = "longitude" ; clon:units = "radian" ; clon:bounds = "clon_vertices" ; double clat(cell) ;
			clat:standard_name = "latitude" ; clat:units = "radian" ; clat:bounds = "clat_vertices" ; double clon_vertices(cell, nv), clat_vertices(cell, nv) ; float a(cell) ; a:coordinates = "clat clon" ;
			data: clon = 0.1, 0.2 ; clat = 0.1, 0.1 ; clon_vertices = 0, 0.2, 0.1, 0.1, 0.2, 0.3 ; clat_vertices = 0, 0, 0.2, 0.2, 0, 0.2 ; a = 1, 2 ; }`,
		"exodus.e": `netcdf c { dimensions: num_nodes = 6 ; e = 2 ; k = 4 ; t = 1 ; variables: double coordx(num_nodes), coordy(num_nodes) ; int connect1(e, k) ; connect1:elem_type = "QUAD4" ; double a(t, e), b(t, num_nodes) ;
			data: coordx = 0, 10, 20, 0, 10, 20 ; coordy = 0, 0, 0, 10, 10, 10 ; connect1 = 1, 2, 5, 4, 2, 3, 6, 5 ; a = 1, 2 ; b = 1, 2, 3, 4, 5, 6 ; }`,
		"stations.nc": `netcdf c { dimensions: t = 2 ; n = 3 ; variables: ` + pair + `float a(t, n) ; a:coordinates = "x y" ; :featureType = "timeSeries" ; data: x = 0, 10, 20 ; y = 0, 5, 10 ; a = 1, 2, 3, 4, 5, 6 ; }`,
		"track.nc":    `netcdf c { dimensions: n = 3 ; variables: ` + pair + `float a(n) ; a:coordinates = "x y" ; :featureType = "trajectory" ; data: x = 170, 179, -172 ; y = 0, 5, 10 ; a = 1, 2, 3 ; }`,
	}
	s := serveOn(t, generated(t, files))
	b := openBrowser(t, 1000, 800)
	type place struct{ x, y, value float64 } // 0 for none
	for query, places := range map[string][]place{
		"curved.nc&var=a":                  {{351, 1, 1}, {1, 2, 2}, {9, 11, 6}, {30, 5, 0}},
		"curved.nc&var=a&projection=globe": {{351, 1, 1}, {1, 2, 2}, {9, 11, 6}, {30, 5, 0}},
		"bounds.nc&var=a":                  {{1, 1, 1}, {28, 8, 2}, {15, 5, 0}, {25, 25, 4}},
		"rotated.nc&var=a":                 {{18, 50.75, 5}, {18, 55.5, 8}},
		"lambert.nc&var=a":                 {{-97, 39, 5}, {-97, 43.5, 2}, {-91, 39, 6}, {-103, 35, 7}},
		"polar.nc&var=a":                   {{30, 89.5, 5}, {-45, 81, 2}, {135, 81, 8}, {0, 75, 3}, {45, 60, 0}},
		"goes.nc&var=a":                    {{-75, 1, 5}, {-75, 17, 2}, {-58.5, 1, 6}, {-92, -17, 7}},
		"faces.nc&var=a":                   {{3, 4, 1}, {18, 3, 2}, {12, 9, 3}},
		"faces.nc&var=b":                   {{1, 1, 1}, {19, 9, 6}, {10.4, 8, 5}},
		"icon.nc&var=a":                    {{5.5, 3, 1}, {11.5, 8, 2}},
		"exodus.e&var=a":                   {{1, 9, 1}, {11, 1, 2}},
		"exodus.e&var=b":                   {{1, 9, 4}, {11, 1, 2}},
		"edges.nc&var=a":                   {{5.5, 1.3, 1}, {15.8, 3.15, 2}, {5.5, 8.7, 3}, {18.5, 1.3, 0}},
		"sweep.nc&var=a":                   {{-97, 35.4, 1}, {-97, 36.2, 2}, {-95.6, 35, 4}, {-97, 33.8, 6}, {-97, 37.5, 0}},
		"contiguous.nc&var=a":              {{0, 0, 1}, {10, 5, 2}, {20, 10, 3}, {5, 5, 0}},
		"indexed.nc&var=a":                 {{0, 0, 2}, {10, 5, 1}},
		"stations.nc&var=a":                {{0, 0, 1}, {10, 5, 2}, {5, 2.5, 0}},
		"track.nc&var=a":                   {{179, 5, 2}, {188, 10, 3}},
	} {
		b.view(s, "?file="+query+"&palette=viridis&from=0&to=12&coast=0")
		beside := 2.5 // pixels
		if strings.HasPrefix(query, "edges") {
			beside = 0
		}
		for _, p := range places {
			require.True(t, eval[bool](b, `(async () => {`+colours+`
  const projection = await import("./map/projection.js");
  const p = projection.make(document.getElementById("projection").value || "flat", JSON.parse(canvas.dataset.eye), box), to = new Float64Array(2);
  p.forward(%[1]g, %[2]g, to);
  const found = pixel(to[0] + %[4]g, to[1] - %[4]g); // beside the lines of coordinates
  return %[3]g > 0 ? is(found, %[3]g, 0, 12) : Math.max(...found) - Math.min(...found) < 16;
})()`, p.x, p.y, p.value, beside), "%s at %g, %g: not %g", query, p.x, p.y, p.value)
		}
		b.shot("mesh-" + strings.NewReplacer("&", "-", "=", "-").Replace(query))
	}
	// The series at a place of a ragged array is that of its station or profile, whose values lie among those of others.
	values := func() string { return eval[string](b, `document.getElementById("series").dataset.values`) }
	b.view(s, "?file=contiguous.nc&var=a")
	require.Equal(t, "[1,7]", values())
	require.Contains(t, b.text("missing"), "each place shows its first observation")
	b.view(s, "?file=contiguous.nc&var=a&point=2")
	require.Equal(t, "[2,8,9]", values())
	require.Equal(t, "2 at 5°N, 10°E, station 1 — obs[2]", b.text("readout"))
	require.Equal(t, "station 1", b.text("series-where"))
	require.Equal(t, "time", eval[string](b, `document.getElementById("by").value`))
	require.Equal(t, "a[2:5]", eval[string](b, `(document.getElementById("get-series").click(), document.getElementById("selection").value)`))
	b.view(s, "?file=indexed.nc&var=a&point=0")
	require.Equal(t, "[1,3,5]", values())
	require.True(t, strings.HasPrefix(b.text("series-y"), "↓ z"), b.text("series-y"))
	b.shot("ragged")
	// A chosen face has a series, and keys go to its neighbours.
	b.view(s, "?file=faces.nc&var=a&point=0,0")
	b.until(`document.getElementById("series").dataset.values === "[1,4]"`)
	require.Equal(t, "1 at 5°N, 5°E — f[0]", b.text("readout"))
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	b.until(`document.getElementById("series").dataset.values === "[3,6]"`)
	require.Contains(t, eval[string](b, `location.search`), "at=0,x")
	b.clean()
}
