//go:build judge && linux

package main

import (
	"encoding/json"
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
	b.view(s, "?file=edges.nc&var=a&plot=means")
	b.until(`document.getElementById("area-mean").textContent.includes("from edges in the file; 139 are missing and not counted")`)
	b.clean()
}
