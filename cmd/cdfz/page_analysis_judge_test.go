//go:build judge && linux

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// ocean is CDL of a file with uneven depths: temperature grows with longitude, latitude and time, and falls with depth.
func ocean() string {
	const times, depths, lats, lons = 5, 4, 6, 8
	var temp []string
	for t := range times {
		for z := range depths {
			for y := range lats {
				for x := range lons {
					temp = append(temp, strconv.Itoa(1000*t+100*(depths-z)+10*y+x))
				}
			}
		}
	}
	return `netcdf ocean { dimensions: time = UNLIMITED ; depth = 4 ; lat = 6 ; lon = 8 ; variables:
		double time(time) ; time:units = "days since 2001-01-01" ; float depth(depth) ; depth:units = "m" ; depth:positive = "down" ;
		float lat(lat) ; lat:units = "degrees_north" ; float lon(lon) ; lon:units = "degrees_east" ;
		float temp(time, depth, lat, lon) ; temp:units = "degC" ;
		data: time = 0, 1, 2, 3, 4 ; depth = 5, 15, 50, 200 ; lat = -50, -30, -10, 10, 30, 50 ; lon = 0, 45, 90, 135, 180, 225, 270, 315 ;
		temp = ` + strings.Join(temp, ", ") + " ; }"
}

// asked counts the requests for values of a page since the last call.
func (b *browser) asked() int {
	return eval[int](b, `(() => {
  const n = performance.getEntriesByType("resource").filter((r) => r.name.includes("/api/values/")).length;
  performance.clearResourceTimings();
  return n;
})()`)
}

// choose clicks an element and waits until the page is at rest.
func (b *browser) choose(id string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS("#" + id)))
	b.rest()
}

// rest waits until the page has asked for all that it shows.
func (b *browser) rest() {
	b.t.Helper()
	eval[bool](b, `new Promise((done) => {
  let n = -1;
  const look = () => {
    const now = performance.getEntriesByType("resource").length;
    if (now === n) return done(true);
    n = now;
    setTimeout(look, 300);
  };
  look();
})`)
}

// TestJudgePagePlots checks the profile and the Hovmöller diagram of a chosen point, their requests, and axes to scale.
func TestJudgePagePlots(t *testing.T) {
	t.Parallel()
	s := serveOn(t, generated(t, map[string]string{"ocean.nc": ocean()}))
	b := openBrowser(t, 1280, 900)
	b.view(s, "?file=ocean.nc&var=temp&at=0,0,y,x&point=0,0,2,3")
	b.rest()
	require.Equal(t, 2, b.asked(), "the map and the series")
	b.choose("tab-profile")
	require.Equal(t, 1, b.asked())
	require.Equal(t, "↓ depth (m)", b.text("profile-y"))
	require.Equal(t, "temp (degC) →", b.text("profile-x"))
	require.Contains(t, b.text("profile-where"), "time 2001-01-01, lat 10°S, lon 135°E")
	b.until(`location.search.includes("plot=profile")`)
	// The surface is at the top: values fall from there.
	b.shot("profile")

	b.choose("tab-hovmoller")
	require.Equal(t, 1, b.asked())
	require.Contains(t, b.text("hovmoller-where"), "depth 5 m, lat 10°S")
	require.Equal(t, []string{"lon", "depth", "lat"}, sorted(eval[[]string](b, `[...document.getElementById("across").options].map((o) => o.textContent)`), "lon", "depth", "lat"))
	b.do(chromedp.Focus(chromedp.CSS("#hovmoller-cursor")), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowRight))
	require.Equal(t, "1421 degC at time 2001-01-02, lon 45°E", eval[string](b, `document.querySelector("#hovmoller .readout").textContent`))
	// Enter shows the map at the time.
	b.after(func() { b.do(chromedp.KeyEvent(kb.Enter)) })
	b.until(`location.search.includes("at=1,0,y,x")`)
	b.shot("hovmoller")
	eval[bool](b, `(() => { const s = document.getElementById("across"); s.value = [...s.options].find((o) => o.textContent === "depth").value; return s.dispatchEvent(new Event("change")); })()`)
	b.until(`location.search.includes("across=depth")`)
	b.rest()
	require.Equal(t, "↓ depth (m)", eval[string](b, `document.querySelector("#hovmoller .axis").textContent`))

	// The tab and the dimension are in the address; wrong ones are said.
	b.view(s, "?file=ocean.nc&var=temp&at=0,0,y,x&point=0,0,2,3&plot=hovmoller&across=lat")
	require.Equal(t, "lat", eval[string](b, `document.getElementById("across").selectedOptions[0].textContent`))
	b.view(s, "?file=ocean.nc&var=temp&at=0,0,y,x&plot=profile")
	require.Equal(t, "click a point of the map", b.text("profile-where"))
	b.view(s, "?file=ocean.nc&var=temp&at=0,0,y,x&plot=spiral&across=x&spacing=wide")
	require.Equal(t, "In the address: spacing=wide is not scale or index; plot=spiral is not one of series, profile, hovmoller, means; across=x is not a dimension of the variable.", b.text("note"))

	// A section is to scale: 50 m are a sixth of the way from 0 to 275 m.
	b.view(s, "?file=ocean.nc&var=temp&at=0,y,x,0")
	require.True(t, eval[bool](b, `document.getElementById("spacing").checked && !document.getElementById("spacing-row").hidden`))
	at := func(down float64) string {
		return eval[string](b, `(() => {
  const c = document.getElementById("map-cursor"), r = c.getBoundingClientRect(), { x, y, w, h, scale } = JSON.parse(document.getElementById("map-canvas").dataset.box);
  c.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + (x + w / 2) / scale, clientY: r.top + (y + h * %f) / scale }));
  return document.getElementById("readout").textContent;
})()`, down)
	}
	require.Contains(t, at(0.02), "depth[0]")
	require.Contains(t, at(0.06), "depth[1]")
	require.Contains(t, at(0.3), "depth[2]")
	require.Contains(t, at(0.5), "depth[3]")
	b.shot("section")
	b.choose("spacing")
	require.Contains(t, at(0.3), "depth[1]")
	b.until(`location.search.includes("spacing=index")`)
	b.view(s, "?file=ocean.nc&var=temp&at=0,y,x,0&spacing=index")
	require.Contains(t, at(0.3), "depth[1]")
	// Even axes have no scale.
	b.view(s, "?file=ocean.nc&var=temp&at=0,0,y,x")
	require.True(t, eval[bool](b, `document.getElementById("spacing-row").hidden`))
	b.clean()
}

// sorted returns the texts in the order of others.
func sorted(texts []string, order ...string) []string {
	var out []string
	for _, w := range order {
		for _, s := range texts {
			if s == w {
				out = append(out, s)
			}
		}
	}
	return out
}

// TestJudgePageMeans compares means with those of CDO: of the map, of its latitudes, and of a part.
func TestJudgePageMeans(t *testing.T) {
	t.Parallel()
	// CDO takes great circles for the edges of cells, so that its areas are those on circles of latitude only for narrow cells.
	const columns = 360
	cdl := func(lat, lon, more, data string) string {
		var values []string
		for i := range 5 * columns {
			if i%13 == 5 {
				values = append(values, "_")
			} else {
				values = append(values, strconv.Itoa(i*37%101+i/columns*10))
			}
		}
		return `netcdf x { dimensions: lat = 5 ; lon = 360 ; nv = 2 ; variables: double lat(lat) ; lat:units = "degrees_north" ; lat:standard_name = "latitude" ; double lon(lon) ; lon:units = "degrees_east" ; lon:standard_name = "longitude" ;
			double a(lat, lon) ; a:_FillValue = -1. ; ` + more + ` data: lat = ` + lat + ` ; lon = ` + lon + ` ; a = ` + strings.Join(values, ", ") + ` ; ` + data + ` }`
	}
	steps := func(by float64) string {
		var values []string
		for i := range columns {
			values = append(values, strconv.FormatFloat(float64(i)*by, 'g', -1, 64))
		}
		return strings.Join(values, ", ")
	}
	even := steps(1)
	dir := generated(t, map[string]string{
		"even.nc":  cdl("-72, -36, 0, 36, 72", even, "", ""),
		"poles.nc": cdl("90, 45, 0, -45, -90", even, "", ""),
		"part.nc":  cdl("10, 20, 30, 40, 50", steps(0.25), "", ""),
		"edges.nc": cdl("-72, -30, 0, 30, 72", even, `lat:bounds = "edges" ; double edges(lat, nv) ; `, "edges = -90, -50, -50, -20, -20, 20, 20, 50, 50, 90 ;"),
	})
	small := generated(t, map[string]string{"measured.nc": `netcdf x { dimensions: lat = 2 ; lon = 2 ; variables: float lat(lat) ; lat:units = "degrees_north" ; float lon(lon) ; lon:units = "degrees_east" ; float cells(lat, lon) ;
		float a(lat, lon) ; a:cell_measures = "area: cells" ; float b(lat, lon) ; b:cell_measures = "area: areacella" ; data: lat = 0, 10 ; lon = 0, 10 ; cells = 4, 3, 2, 1 ; a = 1, 2, 3, _ ; b = 1, 2, 3, 4 ; }`})
	require.NoError(t, os.Rename(filepath.Join(small, "measured.nc"), filepath.Join(dir, "measured.nc")))
	// A curved grid with corners, whose edges are great circles for CDO, too.
	place := func(j, i float64) (lat, lon float64) { return 30 + 3*j + 0.7*i, 4*i - 0.5*j }
	var lats, lons, corners [2]string // the second one of lats has values
	for j := range 9 {
		for i := range 12 {
			lat, lon := place(float64(j), float64(i))
			lats[0] += fmt.Sprintf(", %g", lat)
			lons[0] += fmt.Sprintf(", %g", lon)
			for _, c := range [][2]float64{{-0.5, -0.5}, {-0.5, 0.5}, {0.5, 0.5}, {0.5, -0.5}} {
				lat, lon := place(float64(j)+c[0], float64(i)+c[1])
				corners[0] += fmt.Sprintf(", %g", lat)
				corners[1] += fmt.Sprintf(", %g", lon)
			}
			lats[1] += fmt.Sprintf(", %d", (j*37+i*11)%23+j)
		}
	}
	bent := generated(t, map[string]string{"curved.nc": `netcdf x { dimensions: j = 9 ; i = 12 ; four = 4 ; variables: double lat(j, i) ; lat:units = "degrees_north" ; lat:standard_name = "latitude" ; lat:bounds = "latb" ; double lon(j, i) ; lon:units = "degrees_east" ;
		lon:standard_name = "longitude" ; lon:bounds = "lonb" ; double latb(j, i, four) ; double lonb(j, i, four) ; double a(j, i) ; a:coordinates = "lon lat" ; data: lat = ` + lats[0][2:] + ` ; lon = ` + lons[0][2:] + ` ; latb = ` + corners[0][2:] + ` ; lonb = ` + corners[1][2:] + ` ; a = ` + lats[1][2:] + ` ; }`})
	require.NoError(t, os.Rename(filepath.Join(bent, "curved.nc"), filepath.Join(dir, "curved.nc")))
	coads, err := os.ReadFile(ferret + "coads_climatology.cdf")
	require.NoError(t, err, "install ferret-datasets")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "coads.nc"), coads, 0o644))
	s := serveOn(t, dir)
	b := openBrowser(t, 1280, 900)
	cdo := func(command, file string) []float64 {
		out, ok := strings.CutSuffix(output(t.TempDir(), strings.Fields("/usr/bin/cdo -s outputf,%.12g,1 "+command+" "+filepath.Join(dir, file))...), "<nil>")
		require.True(t, ok, out)
		var values []float64
		for _, w := range strings.Fields(out) {
			x, err := strconv.ParseFloat(w, 64)
			require.NoError(t, err, out)
			values = append(values, x)
		}
		return values
	}
	zonal := func() []float64 {
		var values []*float64
		require.NoError(t, json.Unmarshal([]byte(eval[string](b, `document.getElementById("zonal").dataset.values`)), &values))
		var known []float64
		for _, v := range values {
			if v != nil {
				known = append(known, *v)
			}
		}
		return known
	}
	area := func() float64 {
		x, err := strconv.ParseFloat(eval[string](b, `document.getElementById("area-mean").dataset.value`), 64)
		require.NoError(t, err)
		return x
	}
	for _, c := range []struct{ query, file, sel string }{
		{"file=even.nc&var=a", "even.nc", ""},
		{"file=poles.nc&var=a", "poles.nc", ""},
		{"file=part.nc&var=a", "part.nc", ""},
		{"file=edges.nc&var=a", "edges.nc", ""},
		{"file=even.nc&var=a&at=y,x&part=1:3,2:50", "even.nc", "-selindexbox,3,50,2,3 "},
		{"file=coads.nc&var=SST&at=6,y,x", "coads.nc", "-seltimestep,7 -selname,SST "},
		{"file=coads.nc&var=SST&at=6,y,x&part=40:60,20:91", "coads.nc", "-selindexbox,21,91,41,60 -seltimestep,7 -selname,SST "},
	} {
		b.view(s, "?"+c.query+"&plot=means")
		b.until(`document.getElementById("area-mean").textContent !== ""`)
		b.rest()
		require.InEpsilon(t, cdo("-fldmean "+c.sel, c.file)[0], area(), 1e-4, "%s: %s", c.query, b.text("area-mean"))
		var known []float64
		for _, x := range cdo("-setmissval,-1e30 -zonmean "+c.sel, c.file) {
			if x > -1e29 {
				known = append(known, x)
			}
		}
		require.InEpsilonSlice(t, known, zonal(), 2e-6, c.query)
	}
	b.shot("means")
	require.Contains(t, b.text("area-mean"), " of the part that is shown, weighted by the areas of the cells on a sphere, as the cosine of latitude gives them, from edges half way between coordinates; ")
	require.Contains(t, b.text("zonal-how"), "Zonal mean: over COADSX, each value counts alike; ")
	b.view(s, "?file=curved.nc&var=a&plot=means")
	b.until(`document.getElementById("area-mean").textContent !== ""`)
	require.InEpsilon(t, cdo("-fldmean", "curved.nc")[0], area(), 1e-6, b.text("area-mean"))
	require.Contains(t, b.text("area-mean"), "weighted by the areas of the cells on a sphere, from their corners in the file; ")
	require.Contains(t, b.text("zonal-how"), "Zonal mean: over bands of 1° of latitude, to which cells belong by their middles, with the same weights; none of 108 missing.")
	b.view(s, "?file=measured.nc&var=a&plot=means")
	b.until(`document.getElementById("area-mean").textContent === "Mean 1.77778 over 3 cells of the map, weighted by the areas of the cells in cells; 1 is missing and not counted."`)
	b.view(s, "?file=measured.nc&var=b&plot=means")
	b.until(`document.getElementById("area-mean").textContent.includes("half way between coordinates; its areas are in areacella, which is not in the file; none is missing.")`)
	b.view(s, "?file=edges.nc&var=a&plot=means")
	b.until(`document.getElementById("area-mean").textContent.includes("from edges in the file; 139 are missing and not counted")`)
	b.clean()
}

// TestJudgePageCompare checks two variables and two files side by side, their difference, and that zoom, cursor and time are linked.
func TestJudgePageCompare(t *testing.T) {
	t.Parallel()
	grid := func(name, times, lat, lon, more string) string {
		return `netcdf ` + name + ` { dimensions: time = UNLIMITED ; lat = 4 ; lon = 8 ; variables: double time(time) ; time:units = "days since 2001-01-01" ;
			float lat(lat) ; lat:units = "degrees_north" ; float lon(lon) ; lon:units = "degrees_east" ; float a(time, lat, lon) ; a:units = "K" ; ` + more + `
			data: time = ` + times + ` ; lat = ` + lat + ` ; lon = ` + lon + ` ; `
	}
	ramp := func(n, from, by int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = strconv.Itoa(from + i*by)
		}
		return strings.Join(out, ", ")
	}
	const lat, lon = "-30, -10, 10, 30", "0, 45, 90, 135, 180, 225, 270, 315"
	s := serveOn(t, generated(t, map[string]string{
		"one.nc":    grid("one", "0, 10", lat, lon, `float b(time, lat, lon) ; b:units = "m" ;`) + "a = " + ramp(64, 0, 1) + " ; b = " + ramp(64, 0, 3) + " ; }",
		"two.nc":    grid("two", "1, 9, 20", "30, 10, -10, -30", lon, "") + "a = " + ramp(96, 0, 2) + " ; }",
		"coarse.nc": `netcdf coarse { dimensions: lat = 2 ; lon = 4 ; variables: float lat(lat) ; lat:units = "degrees_north" ; float lon(lon) ; lon:units = "degrees_east" ; float a(lat, lon) ; a:units = "K" ; data: lat = -20, 20 ; lon = 0, 90, 180, 270 ; a = 1, 2, 3, 4, 5, 6, 7, 8 ; }`,
	}))
	b := openBrowser(t, 1280, 900)
	b.view(s, "?file=one.nc&var=a&at=1,y,x")
	b.do(chromedp.Click(chromedp.CSS("#compare summary")))
	b.until(`document.getElementById("compare-with").options.length === 2`)
	eval[bool](b, `(() => { const s = document.getElementById("compare-with"); s.value = "b"; return s.dispatchEvent(new Event("change")); })()`)
	b.until(`!document.getElementById("twins").hidden && location.search.includes("with=b")`)
	require.Contains(t, b.text("compare-note"), "The units differ: K here and m there; values are not converted.")
	require.Equal(t, "b", eval[string](b, `document.querySelector("#beside h3").textContent`))
	b.shot("beside")

	// The cursor is on both, from each of them.
	hover := func(id string, across, down float64) {
		eval[bool](b, `(() => {
  const c = document.getElementById(%q + "-cursor"), r = c.getBoundingClientRect(), { x, y, w, h, scale } = JSON.parse(document.getElementById(%q + "-canvas").dataset.box);
  c.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + (x + w * %f) / scale, clientY: r.top + (y + h * %f) / scale }));
  return true;
})()`, id, id, across, down)
	}
	beside := func() string {
		return eval[string](b, `document.querySelector("#beside .readout").textContent`)
	}
	hover("map", 0.3, 0.9)
	require.Equal(t, "34 K at 30°S, 90°E — lat[0], lon[2]", b.text("readout"))
	require.Equal(t, "102 m at 30°S, 90°E", beside())
	hover("beside", 0.4, 0.1)
	require.Equal(t, "59 K at 30°N, 135°E — lat[3], lon[3]", b.text("readout"))
	require.Equal(t, "177 m at 30°N, 135°E", beside())
	// So is the zoom.
	b.choose("zoom-in")
	require.Equal(t, eval[string](b, `document.getElementById("map-canvas").dataset.view`), eval[string](b, `document.getElementById("beside-canvas").dataset.view`))
	b.choose("zoom-all")

	// The time of another file is the nearest one, and its rows may be the other way round: day 10 has 64 to ..., row by row.
	b.view(s, "?file=one.nc&var=a&at=1,y,x&with=a&withfile=two.nc&compare=both")
	b.until(`!document.getElementById("difference").hidden && !document.getElementById("twins").hidden`)
	require.Equal(t, "There: time 2001-01-10. The second grid has another order of rows or columns, and was put into that of the first.", b.text("compare-note"))
	require.Equal(t, "a minus a of two.nc", eval[string](b, `document.querySelector("#difference h3").textContent`))
	hover("map", 0.3, 0.9)
	require.Equal(t, "116 K at 30°S, 90°E", beside())
	require.Equal(t, "-82 K at 30°S, 90°E", eval[string](b, `document.querySelector("#difference .readout").textContent`))
	b.shot("difference")
	// Both are saved in one picture, and their values in one table.
	save := b.downloads()
	require.Equal(t, "True", pillow(t, save("save-map-png", "one-a-1.png"), `im.width > 800 and len(frames[0].getcolors(1 << 24)) > 100`))
	csv, err := os.ReadFile(save("save-map-csv", "one-a-1.csv"))
	require.NoError(t, err)
	require.Contains(t, string(csv), "lon (degrees_east),a (K),a of two.nc (K),difference (K)\n")
	require.Contains(t, string(csv), "-30,90,34,116,-82\n")
	svg, err := os.ReadFile(save("save-map-svg", "one-a-1.svg"))
	require.NoError(t, err)
	require.Contains(t, string(svg), ">a minus a of two.nc</text>")
	// A point may be chosen on the second map.
	eval[bool](b, `(() => {
  const c = document.getElementById("beside-cursor"), r = c.getBoundingClientRect(), { x, y, w, h, scale } = JSON.parse(document.getElementById("beside-canvas").dataset.box);
  c.dispatchEvent(new PointerEvent("pointerup", { clientX: r.left + (x + w * 0.9) / scale, clientY: r.top + (y + h * 0.9) / scale }));
  return true;
})()`)
	b.until(`location.search.includes("point=1,0,7")`)

	// Grids that differ have no difference.
	b.view(s, "?file=one.nc&var=a&at=0,y,x&with=a&withfile=coarse.nc&compare=both")
	b.until(`!document.getElementById("twins").hidden`)
	require.Equal(t, "The grids differ: lat=4, lon=8 here and lat=2, lon=4 there, so there is no difference of them.", b.text("compare-note"))
	require.True(t, eval[bool](b, `document.getElementById("difference").hidden`))
	hover("map", 0.3, 0.9)
	require.Equal(t, "2 K at 20°S, 90°E", beside())
	// Wrong ones are said.
	b.view(s, "?file=one.nc&var=a&at=0,y,x&with=c")
	b.until(`document.getElementById("compare-note").textContent === "The file one.nc has no variable c."`)
	b.clean()
}

// TestJudgePageArrows checks which vectors a map has, how its arrows point, and their key.
func TestJudgePageArrows(t *testing.T) {
	t.Parallel()
	s := serveOn(t, generated(t, map[string]string{
		"wind.nc": `netcdf wind { dimensions: lat = 4 ; lon = 8 ; variables: float lat(lat) ; lat:units = "degrees_north" ; float lon(lon) ; lon:units = "degrees_east" ;
			float t(lat, lon) ; t:units = "K" ; float ew(lat, lon) ; ew:standard_name = "eastward_wind" ; ew:units = "m s-1" ; float ns(lat, lon) ; ns:standard_name = "northward_wind" ; ns:units = "m s-1" ;
			data: lat = 45, 15, -15, -45 ; lon = 0, 45, 90, 135, 180, 225, 270, 315 ; t = ` + strings.TrimSuffix(strings.Repeat("1, 2, ", 16), ", ") + ` ; ew = ` + strings.TrimSuffix(strings.Repeat("3, ", 32), ", ") + ` ; ns = ` + strings.TrimSuffix(strings.Repeat("4, ", 31), ", ") + `, _ ; }`,
		"rotated.nc": `netcdf rotated { dimensions: rlat = 3 ; rlon = 3 ; variables: int pole ; pole:grid_mapping_name = "rotated_latitude_longitude" ; pole:grid_north_pole_latitude = 0. ; pole:grid_north_pole_longitude = 0. ;
			float rlat(rlat) ; rlat:units = "degrees" ; rlat:standard_name = "grid_latitude" ; float rlon(rlon) ; rlon:units = "degrees" ; rlon:standard_name = "grid_longitude" ;
			float u(rlat, rlon) ; u:units = "m s-1" ; u:grid_mapping = "pole" ; float v(rlat, rlon) ; v:units = "m s-1" ; v:grid_mapping = "pole" ; data: rlat = 10, 20, 30 ; rlon = 20, 30, 40 ; u = 1, 1, 1, 1, 1, 1, 1, 1, 1 ; v = 0, 0, 0, 0, 0, 0, 0, 0, 0 ; }`,
		"calm.nc": `netcdf calm { dimensions: y = 2 ; x = 2 ; variables: float t(y, x) ; data: t = 1, 2, 3, 4 ; }`,
	}))
	b := openBrowser(t, 1280, 900)
	b.view(s, "?file=wind.nc&var=t")
	require.False(t, eval[bool](b, `document.getElementById("arrows").checked`))
	b.rest()
	b.asked()
	b.choose("arrows")
	require.Equal(t, 2, b.asked(), "both components")
	b.until(`location.search.includes("arrows=1")`)
	require.Equal(t, "5 m s-1 (ew, ns).", b.text("arrows-note"))
	require.Equal(t, "31", eval[string](b, `document.getElementById("map-arrows").dataset.drawn`))
	// The arrow of a cell points up and to the right: there is ink on that side of its middle only.
	ink := func(dx, dy float64) bool {
		return eval[bool](b, `(() => {
  const c = document.getElementById("map-arrows"), { x, y, w, h, scale } = JSON.parse(document.getElementById("map-canvas").dataset.box);
  const px = x + w * 2.5 / 8 + %f * scale, py = y + h * 1.5 / 4 + %f * scale;
  const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(c, 0, 0);
  return copy.getImageData(px - 1, py - 1, 3, 3).data.some((v, i) => i %% 4 === 3 && v > 0);
})()`, dx, dy)
	}
	require.True(t, ink(6, -8) && ink(-6, 8) && ink(0, 0))
	require.False(t, ink(6, 8) || ink(-6, -8))
	b.shot("arrows")
	// On a globe, too.
	b.view(s, "?file=wind.nc&var=t&arrows=1&projection=globe")
	b.until(`Number(document.getElementById("map-arrows").dataset.drawn) > 5`)
	b.shot("arrows-globe")
	// Without names that tell it, components are along the axes of a rotated grid.
	b.view(s, "?file=rotated.nc&var=u&arrows=1")
	b.until(`document.getElementById("arrows-note").textContent.includes("along the axes of the grid")`)
	b.until(`document.getElementById("map-arrows").dataset.drawn === "9"`)
	b.shot("arrows-rotated")
	b.view(s, "?file=wind.nc&var=t&arrows=wind")
	require.Equal(t, "In the address: arrows=wind is not a variable.", b.text("note"))
	b.view(s, "?file=calm.nc&var=t")
	require.True(t, eval[bool](b, `document.getElementById("arrows-row").hidden`))
	b.clean()
}

// TestJudgeViewerCompare compares two archives in the viewer without a server: at an address, and one that was chosen in the form.
func TestJudgeViewerCompare(t *testing.T) {
	t.Parallel()
	file := func(values string) []byte {
		dir := generated(t, map[string]string{"x.nc": `netcdf x { dimensions: lat = 2 ; lon = 3 ; variables: float lat(lat) ; lat:units = "degrees_north" ; float lon(lon) ; lon:units = "degrees_east" ;
			float a(lat, lon) ; a:units = "K" ; data: lat = 0, 10 ; lon = 0, 10, 20 ; a = ` + values + ` ; }`})
		b, err := os.ReadFile(filepath.Join(dir, "x.nc"))
		require.NoError(t, err)
		return b
	}
	_, archives := archived(t, map[string][]byte{"one.nc": file("1, 2, 3, 4, 5, 6"), "two.nc": file("1, 1, 1, 1, 1, 1")})
	viewer := filepath.Join(t.TempDir(), "viewer")
	out, err := self(t, "export", "--viewer", viewer).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.CopyFS(viewer, os.DirFS(archives)))
	pages := httptest.NewServer(http.FileServer(http.Dir(viewer)))
	defer pages.Close()
	b := openBrowser(t, 1280, 900)
	b.do(chromedp.Navigate(pages.URL + "/?url=one.nc.cdfz&var=a&with=a&withfile=two.nc.cdfz&compare=difference"))
	b.until(`document.querySelector("#difference .hint")?.textContent === "Colours from -5 to 5 K; no missing"`)
	require.Equal(t, "a minus a of two.nc.cdfz", eval[string](b, `document.querySelector("#difference h3").textContent`))
	archive, err := os.ReadFile(filepath.Join(archives, "two.nc.cdfz"))
	require.NoError(t, err)
	b.do(chromedp.Navigate(pages.URL + "/?url=one.nc.cdfz&var=a"))
	b.until(`Number(document.body?.dataset.ready ?? 0) > 0`)
	eval[bool](b, `(() => {
  const data = new DataTransfer(), input = document.getElementById("compare-drop");
  data.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], "dropped.nc.cdfz"));
  document.getElementById("compare").open = true;
  input.files = data.files;
  return input.dispatchEvent(new Event("change"));
})()`, base64.StdEncoding.EncodeToString(archive))
	b.until(`document.querySelector("#beside h3")?.textContent === "a of dropped.nc.cdfz"`)
	b.clean()
}
