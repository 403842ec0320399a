//go:build judge && linux

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestJudgePageColours checks that palettes, scales and ranges follow the values and the attributes, say so, and are in the
// address.
func TestJudgePageColours(t *testing.T) {
	t.Parallel()
	const rows, columns, times = 20, 30, 3
	list := func(n int, value func(i int) string) string {
		out := make([]string, n)
		for i := range out {
			out[i] = value(i)
		}
		return strings.Join(out, ", ")
	}
	const n = rows * columns
	cdl := `netcdf c { dimensions: time = 3 ; y = 20 ; x = 30 ; lat = 18 ; lon = 36 ; variables:
  float both(time, y, x) ; float fill(y, x) ; fill:units = "K" ; float wind(y, x) ; wind:units = "degree" ; wind:standard_name = "wind_from_direction" ;
  byte kind(y, x) ; kind:flag_values = 0b, 1b, 4b ; kind:flag_meanings = "land open_water sea_ice" ; float many(y, x) ;
  float lat(lat) ; lat:units = "degrees_north" ; float lon(lon) ; lon:units = "degrees_east" ; float earth(lat, lon) ; data:
  both = ` + list(times*n, func(i int) string { return fmt.Sprint((i%n - 200) * (i/n + 1)) }) + ` ;
  fill = ` + list(n, func(i int) string {
		if i < 3 {
			return "-99900"
		}
		return fmt.Sprint(280 + i%20)
	}) + ` ;
  wind = ` + list(n, func(i int) string { return fmt.Sprint(i % 360) }) + ` ;
  kind = ` + list(n, func(i int) string { return []string{"0", "1", "4"}[i%3] }) + ` ;
  many = ` + list(n, func(i int) string { return fmt.Sprintf("1e%d", i%8-2) }) + ` ;
  lat = ` + list(18, func(i int) string { return fmt.Sprint(10*i - 85) }) + ` ; lon = ` + list(36, func(i int) string { return fmt.Sprint(10 * i) }) + ` ;
  earth = ` + list(18*36, func(i int) string { return fmt.Sprint(100 + i/36) }) + ` ; }`
	s := serveOn(t, generated(t, map[string]string{"c.nc": cdl}))
	b := openBrowser(t, 1000, 1000)
	label := func() string {
		return eval[string](b, `document.getElementById("bar").getAttribute("aria-label")`)
	}
	// colour returns the colour of a cell.
	colour := func(row, column int) string {
		b.t.Helper()
		return eval[string](b, `(() => {
  const c = document.getElementById("map-canvas"), { x, y, w, h, flip } = JSON.parse(c.dataset.box);
  const down = flip ? %[3]d - 1 - %[1]d : %[1]d;
  return [...c.getContext("2d").getImageData(x + Math.floor(((%[2]d + 0.5) * w) / %[4]d), y + Math.floor(((down + 0.5) * h) / %[3]d), 1, 1).data.slice(0, 3)].join();
})()`, row, column, rows, columns)
	}

	b.view(s, "?file=c.nc&var=both&at=0,y,x")
	require.Equal(t, "Blue to red, with the middle at 0, because values are on both sides.", b.text("bar-note"))
	require.Equal(t, "Colours from -200 to 399", label())
	require.Equal(t, "241,240,239", colour(6, 20), "0")
	b.shot("diverging")
	// The range of all times, once read, is that of each.
	requests := b.requests()
	b.do(chromedp.Click(chromedp.CSS("#colours-more summary")), chromedp.Click(chromedp.CSS("#hold")))
	b.until(`document.getElementById("bar-note").textContent.includes("held for all 3 slices")`)
	require.Equal(t, "Colours from -600 to 1197", label())
	require.Equal(t, requests+2, b.requests())
	b.after(func() { b.do(chromedp.Focus(chromedp.CSS("#map-cursor")), chromedp.KeyEvent(kb.PageDown)) })
	require.Equal(t, "Colours from -600 to 1197", label())
	b.until(`location.search.includes("hold=1")`)
	address := eval[string](b, `location.search`)
	b.view(s, address)
	require.Equal(t, "Colours from -600 to 1197", label())
	require.Equal(t, address, eval[string](b, `location.search`))
	b.clean()

	b.view(s, "?file=c.nc&var=fill")
	require.Equal(t, "3 values of -99900 are outside.", b.text("bar-note"))
	require.Equal(t, "Colours from 280 to 299 K", label())
	require.Contains(t, b.text("stats"), "; without 3 values of -99900")
	b.do(chromedp.Focus(chromedp.CSS("#range-all")), chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "Colours from -99900 to 299 K", label())
	b.until(`location.search.includes("range=all")`)
	b.do(chromedp.Click(chromedp.CSS("#range-all")))
	require.Equal(t, "Colours from 280 to 299 K", label())
	b.shot("outliers")

	b.view(s, "?file=c.nc&var=wind")
	require.Equal(t, "Colours go round, as directions do.", b.text("bar-note"))
	require.Equal(t, "Colours from 0 to 360 degree", label())

	b.view(s, "?file=c.nc&var=kind&point=1,2")
	require.Equal(t, "Colours: 0 land; 1 open water; 4 sea ice", label())
	require.Equal(t, "4 (sea ice) at 1, 2 — y[1], x[2]", b.text("readout"))
	require.Equal(t, []string{"0,114,178", "230,159,0", "0,158,115"}, []string{colour(0, 0), colour(0, 1), colour(0, 2)})
	b.shot("categories")

	// A logarithm, with contours: dark lines, which the plain map has not.
	b.view(s, "?file=c.nc&var=many&scale=log&range=all&palette=cividis_r")
	require.Equal(t, "Colours from 0.01 to 100000, logarithmic", label())
	dark := func() int {
		return eval[int](b, `(() => {
  const c = document.getElementById("map-canvas"), { x, y, w, h } = JSON.parse(c.dataset.box), p = c.getContext("2d").getImageData(x, y, w, h).data;
  let n = 0;
  for (let i = 0; i < p.length; i += 4) if (p[i + 3] === 255 && p[i] < 28 && p[i + 1] < 28 && p[i + 2] < 40) n++;
  return n;
})()`)
	}
	require.Zero(t, dark())
	b.do(chromedp.Click(chromedp.CSS("#contours")))
	require.Greater(t, dark(), 500)
	b.until(`location.search === "?file=c.nc&var=many&at=y,x&palette=cividis_r&scale=log&range=all&contours=1"`)
	b.shot("logarithm")
	b.clean()

	// In a projection the contours of values by latitude are whole parallels.
	b.view(s, "?file=c.nc&var=earth&projection=north&coast=0&palette=cividis_r")
	before := dark()
	b.do(chromedp.Click(chromedp.CSS("#colours-more summary")), chromedp.Click(chromedp.CSS("#contours")))
	require.Greater(t, dark(), before+200)
	b.shot("contours-north")
	b.clean()

	b.view(s, "?file=c.nc&var=many&scale=square&range=most&hold=2&contours=yes")
	for _, part := range []string{"scale=square is not one of linear, log, symlog", "range=most is not one of auto, all", "hold=2", "contours=yes"} {
		require.Contains(t, b.text("note"), part)
	}
	b.clean()
}
