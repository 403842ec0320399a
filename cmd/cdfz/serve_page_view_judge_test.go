//go:build judge && linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// generated writes netCDF files from CDL, by name, and returns their folder.
func generated(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, cdl := t.TempDir(), filepath.Join(t.TempDir(), "x.cdl")
	for name, text := range files {
		require.NoError(t, os.WriteFile(cdl, []byte(text), 0o644))
		out, err := self(t, "gen", "-o", filepath.Join(dir, name), cdl).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return dir
}

// text returns the text of an element.
func (b *browser) text(id string) string {
	b.t.Helper()
	return eval[string](b, `document.getElementById(%q).textContent`, id)
}

// view opens an address of the page and waits until it has shown a slice.
func (b *browser) view(s *served, query string) {
	b.t.Helper()
	b.do(chromedp.Navigate(s.at + "/page/" + query))
	b.until(`Number(document.body?.dataset.ready ?? 0) > 0`)
}

// TestJudgePageWords checks texts of the page that depend on numbers.
func TestJudgePageWords(t *testing.T) {
	t.Parallel()
	s := serveOn(t, t.TempDir())
	b := openBrowser(t, 800, 600)
	b.do(chromedp.Navigate(s.at + "/page/"))
	require.Equal(t, []string{"every 2nd x", "every 3rd x", "every 4th x", "every 11th x", "every 12th x", "every 13th x", "every 21st x", "every 112th x", "every 122nd x"},
		eval[[]string](b, `import("./panels/format.js").then((f) => [2, 3, 4, 11, 12, 13, 21, 112, 122].map((n) => f.every(n, "x")))`))
	// Times at ticks, and the day that all of them have.
	for script, want := range map[string][]string{
		`["2001-01-01T00:00:00", "2001-01-02T12:00:00"]`:                           {"2001-01-01", "2001-01-02", ""},
		`["2001-01-01T00:00:00", "2001-01-01T12:00:00"]`:                           {"00:00", "12:00", "2001-01-01"},
		`["2001-01-01T12:00:00", "2001-01-01T18:00:00", "2001-01-02T00:00:00"]`:    {"2001-01-01 12:00", "2001-01-01 18:00", "2001-01-02 00:00", ""},
		`["2001-01-01T12:00:00", "2001-01-01T12:00:10", "2001-01-01T12:00:20"]`:    {"12:00:00", "12:00:10", "12:00:20", "2001-01-01"},
		`["2001-01-01T12:00:00.250000", "2001-01-01T12:00:00.500000"]`:             {"12:00:00.250000", "12:00:00.500000", "2001-01-01"},
		`["2001-01-01T12:00:00", "", "2001-01-01T12:00:20"]`:                       {"12:00:00", "", "12:00:20", "2001-01-01"},
		`["-0044-03-15T12:00:00", "-0044-03-15T12:00:00", "-0044-03-16T12:00:00"]`: {"-0044-03-15", "-0044-03-15", "-0044-03-16", ""},
		`["2001-01-01T23:59:50", "2001-01-02T00:00:00", "2001-01-02T00:00:10"]`:    {"2001-01-01 23:59:50", "2001-01-02 00:00:00", "2001-01-02 00:00:10", ""},
	} {
		require.Equal(t, want, eval[[]string](b, `import("./panels/format.js").then((f) => f.times(%s)).then(({ texts, day }) => [...texts, day ?? ""])`, script), script)
	}
	require.Equal(t, []string{"12:00:05", "12:00:15"}, eval[[]string](b, `import("./map/axes.js").then((t) => t.ticks({ start: 0, step: 1, values: [0, 1, 2, 3], dates: ["2001-01-01T12:00:00", "2001-01-01T12:00:05", "2001-01-01T12:00:10", "2001-01-01T12:00:15"] }, 1, 3, 2).map(([, text]) => text))`))
	// Ticks for some indices of an axis of the map: place by place, with their text.
	for script, want := range map[string][]string{
		`t.ticks({ start: 0, step: 1, values: [0, 1, 2, 3] }, 0, 4, 9)`:                             {"0.125 0", "0.375 1", "0.625 2", "0.875 3"},
		`t.ticks({ start: 0, step: 1, values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] }, 0, 12, 5)`:  {"0.0417 0", "0.458 5", "0.875 10"},
		`t.ticks({ start: 10, step: 5, values: [10, 15, 20, 25] }, 15, 10, 4)`:                      {"0.15 16", "0.35 18", "0.55 20"},
		`t.ticks({ start: 0, step: 1, values: [0.5, 1, 1.5, 2] }, 0, 4, 9)`:                         {"0.175 0.6", "0.275 0.8", "0.375 1", "0.475 1.2", "0.575 1.4", "0.675 1.6", "0.775 1.8", "0.875 2"},
		`t.ticks({ start: 0, step: 1, units: "degrees_north", values: [60, 30, 0, -30] }, 0, 4, 9)`: {"0.125 60°N", "0.25 45°N", "0.375 30°N", "0.5 15°N", "0.625 0°", "0.75 15°S", "0.875 30°S"},
	} {
		require.Equal(t, want, eval[[]string](b, `import("./map/axes.js").then((t) => %s.map(([at, text]) => String(Number(at.toPrecision(3))) + " " + text))`, script), script)
	}
	b.clean()
}

// TestJudgePageMean checks that means say how values are weighted.
func TestJudgePageMean(t *testing.T) {
	t.Parallel()
	s := serveOn(t, generated(t, map[string]string{"x.nc": `netcdf x { dimensions: lat = 3 ; lon = 2 ; time = 2 ; variables:
		float lat(lat) ; lat:units = "degrees_north" ; float lon(lon) ; lon:units = "degrees_east" ;
		float a(lat, lon) ; float b(time, lat) ;
		data: lat = 0, 60, 90 ; lon = 0, 10 ; a = 3, 3, 6, _, 100, 100 ; b = 1, 2, 3, 4, 5, 6 ; }`}))
	b := openBrowser(t, 800, 600)
	b.view(s, "?file=x.nc&var=a")
	require.Contains(t, b.text("stats"), "mean 42.4 (not weighted), 6.16019 weighted by the areas of cells, standard")
	b.view(s, "?file=x.nc&var=b")
	require.Contains(t, b.text("stats"), "mean 3.5 (not weighted), standard")
	b.clean()
}

// TestJudgePageDark checks that the hatching of missing values is dark in the dark theme,
// and that a change of the theme draws the page again.
func TestJudgePageDark(t *testing.T) {
	t.Parallel()
	s := serveOn(t, generated(t, map[string]string{"x.nc": `netcdf x { dimensions: y = 2 ; x = 2 ; variables: float a(y, x) ; data: a = 1, 2, 3, _ ; }`}))
	b := openBrowser(t, 800, 600)
	b.view(s, "?file=x.nc&var=a")
	// The range of lightness in the cell without a value, from 0 to 255.
	missing := func() []int {
		return eval[[]int](b, `(() => {
  const c = document.getElementById("map-canvas"), { x, y, w, h } = JSON.parse(c.dataset.box);
  const p = c.getContext("2d").getImageData(x + w / 2 + 9, y + 9, w / 2 - 18, h / 2 - 18).data.filter((_, i) => i %% 4 === 1);
  return [Math.min(...p), Math.max(...p)];
})()`)
	}
	light := missing()
	require.Greater(t, light[0], 128)
	b.after(func() {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
		})
		require.NoError(t, err)
	})
	dark := missing()
	require.Less(t, dark[1], 80)
	require.Less(t, dark[1]-dark[0], light[1]-light[0])
	require.Greater(t, dark[1], dark[0], "hatched")
	b.clean()
}

// TestJudgePageMany checks that the list of many variables can be filtered and skipped.
func TestJudgePageMany(t *testing.T) {
	t.Parallel()
	var vars strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&vars, "float v%d(x) ; v%d:long_name = \"Quantity %d of %d\" ; ", i, i, i%7, i)
	}
	s := serveOn(t, generated(t, map[string]string{
		"many.nc": "netcdf many { dimensions: x = 2 ; variables: " + vars.String() + "}",
		"few.nc":  "netcdf few { dimensions: x = 2 ; variables: float a(x) ; }",
	}))
	b := openBrowser(t, 1000, 700)
	b.view(s, "?file=many.nc&var=v5")
	shown := func() int {
		return eval[int](b, `[...document.querySelectorAll("#vars li")].filter((li) => li.offsetHeight > 0).length`)
	}
	require.Equal(t, 1000, shown())
	b.do(chromedp.SendKeys(chromedp.CSS("#filter"), "quantity v99"))
	require.Equal(t, 11, shown())
	require.Equal(t, "11 of 1,000", b.text("filter-count"))
	b.after(func() { b.do(chromedp.Click(chromedp.CSS("#vars li:not([hidden]) a"))) })
	require.Equal(t, "Quantity 1 of 99", b.text("title"))

	// The list shows the chosen variable.
	b.view(s, "?file=many.nc&var=v900")
	require.True(t, eval[bool](b, `(() => {
  const [list, link] = ["#vars", "#vars [aria-current]"].map((q) => document.querySelector(q).getBoundingClientRect());
  return list.top <= link.top && link.bottom <= list.bottom && window.scrollY === 0;
})()`))

	// The first key of a keyboard reaches a link past the lists, which leaves the address alone.
	b.view(s, "?file=many.nc&var=v5")
	b.until(`location.search.includes("at=")`) // the page adds it a moment after it is ready
	address := eval[string](b, `location.href`)
	b.do(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "skip", eval[string](b, `document.activeElement.id`))
	require.GreaterOrEqual(t, eval[int](b, `Math.round(document.activeElement.getBoundingClientRect().left)`), 0)
	b.do(chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "main", eval[string](b, `document.activeElement.id`))
	require.Equal(t, address, eval[string](b, `location.href`))
	b.view(s, "?file=few.nc")
	require.True(t, eval[bool](b, `document.getElementById("filter-row").hidden`))
	b.clean()
}

// TestJudgePageClosed checks that the tree lists archives that cannot be opened.
func TestJudgePageClosed(t *testing.T) {
	t.Parallel()
	dir := generated(t, map[string]string{"good.nc": `netcdf x { dimensions: x = 2 ; variables: float a(x) ; }`})
	require.NoError(t, self(t, "archive", "-q", filepath.Join(dir, "good.nc")).Run())
	b, err := os.ReadFile(filepath.Join(dir, "good.nc.cdfz"))
	require.NoError(t, err)
	for i := len(b) - 100; i < len(b); i++ {
		b[i] ^= 0x55
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.nc.cdfz"), b, 0o644))
	at := serveQuietly(t, dir)
	w := openBrowser(t, 1000, 700)
	w.do(chromedp.Navigate(at + "/page/"))
	w.until(`document.querySelectorAll("#tree li").length > 1`)
	require.True(t, strings.HasPrefix(w.text("tree"), "bad.nccannot be opened: damagedgood.nc"), w.text("tree"))
	w.clean()
}

// TestJudgePageFirst checks which variable a file opens with.
func TestJudgePageFirst(t *testing.T) {
	t.Parallel()
	const grid = "dimensions: time = UNLIMITED ; lat = 2 ; lon = 3 ; nv = 2 ; variables: "
	const bounds = `float lat(lat) ; lat:units = "degrees_north" ; lat:bounds = "edges" ; float edges(lat, nv) ; float area(lat, lon) ; `
	cases := map[string][2]string{ // by name of the file: the variable and CDL
		"bounds": {"tas", grid + bounds + `float tas(lat, lon) ; tas:units = "K" ; tas:cell_measures = "area: area" ; data: tas = 1, 2, 3, 4, 5, 6 ; area = 1, 2, 3, 4, 5, 6 ;`},
		"curved": {"temp", `dimensions: y = 2 ; x = 3 ; variables: float xlat(y, x), xlong(y, x) ; byte mask(y, x) ; float temp(y, x) ; temp:coordinates = "xlat xlong" ; data: temp = 1, 2, 3, 4, 5, 6 ;`},
		"mesh": {"depth_of_face", `dimensions: face = 2 ; node = 4 ; three = 3 ; variables: int mesh ; mesh:cf_role = "mesh_topology" ; mesh:face_node_connectivity = "faces" ;
			int faces(face, three) ; float depth_of_face(face) ; depth_of_face:mesh = "mesh" ; data: depth_of_face = 1, 2 ;`},
		"empty":   {"b", `dimensions: time = UNLIMITED ; x = 2 ; variables: float a(time, x) ; float b(x) ; data: b = 1, 2 ;`},
		"missing": {"b", `dimensions: y = 2 ; x = 2 ; variables: float a(y, x) ; a:units = "K" ; float b(y, x) ; data: a = _, _, _, _ ; b = 1, 2, 3, 4 ;`},
		"profile": {"TEMP", `dimensions: n = 1 ; level = 3 ; variables: float PRES(n, level), TEMP(n, level) ; char TEMP_QC(n, level) ; data: PRES = 1, 2, 3 ; TEMP = 1, 2, 3 ;`},
		"text":    {"name", `dimensions: n = 3 ; variables: char name(n) ; data: name = "abc" ;`},
		"nothing": {"b", `dimensions: time = UNLIMITED ; n = 2 ; variables: double time(time) ; float b(n) ; char name(n) ; float c(n) ; c:standard_name = "latitude" ; data: b = _, _ ; c = 1, 2 ;`},
		"names":   {"lat", `dimensions: time = UNLIMITED ; n = 2 ; variables: float a(time, n) ; float lat(n) ; char name(n) ;`},
		"flags":   {"rain", `dimensions: y = 2 ; x = 2 ; variables: short quality(y, x) ; quality:flag_values = 1s, 2s ; short rain(y, x) ; rain:scale_factor = 0.1 ; data: rain = 1, 2, 3, 4 ;`},
	}
	files := map[string]string{}
	for name, c := range cases {
		files[name+".nc"] = "netcdf x { " + c[1] + " }"
	}
	s := serveOn(t, generated(t, files))
	b := openBrowser(t, 1000, 700)
	for name, c := range cases {
		b.view(s, "?file="+name+".nc")
		b.until(`document.querySelector("#vars a[aria-current]").firstChild.data === %q`, c[0])
	}
	b.clean()
}

// TestJudgePageWrong checks that wrong addresses and numbers have a text, and what is shown
// instead.
func TestJudgePageWrong(t *testing.T) {
	t.Parallel()
	s := serveOn(t, generated(t, map[string]string{"x.nc": `netcdf x { dimensions: time = 4 ; y = 2 ; x = 3 ; r = UNLIMITED ; variables: float a(time, y, x) ; float b(x) ; float none(r, y, x) ;
		data: a = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24 ; b = 1, 2, 3 ; }`}))
	b := openBrowser(t, 1000, 900)
	for query, want := range map[string]string{
		"&var=a&at=1,y,x&point=1,1,2":   "",
		"&var=other":                    "In the address: the file has no variable other.",
		"&var=a&at=4,y,x":               "In the address: at=4,y,x is not a part of a(time=4, y=2, x=3).",
		"&var=a&at=1.5,y,x&point=0,0,9": "In the address: at=1.5,y,x is not a part of a(time=4, y=2, x=3); point=0,0,9 is not a point of a(time=4, y=2, x=3).",
		"&var=a&at=x,x,0":               "In the address: at=x,x,0 is not a part of a(time=4, y=2, x=3).",
		"&var=a&at=,y,x":                "In the address: at=,y,x is not a part of a(time=4, y=2, x=3).",
	} {
		b.view(s, "?file=x.nc"+query)
		b.until(`document.getElementById("note").textContent === %q`, want)
		require.Equal(t, want == "", eval[bool](b, `document.getElementById("note").hidden`))
		require.Equal(t, "a", eval[string](b, `document.querySelector("#vars a[aria-current]").firstChild.data`))
	}
	b.after(func() { b.do(chromedp.Click(chromedp.CSS(`#vars a[data-num="1"]`))) })
	require.Empty(t, b.text("note"))
	// Without a variable, and without the only file, the other parts of an address hold.
	for _, query := range []string{"?file=x.nc&at=2,y,x&point=2,1,2&palette=greys", "?at=2,y,x&point=2,1,2&palette=greys"} {
		b.view(s, query)
		b.until(`location.search === "?file=x.nc&var=a&at=2,y,x&point=2,1,2&palette=greys"`)
		require.Empty(t, b.text("note"))
		require.Equal(t, "greys", eval[string](b, `document.getElementById("palette").value`))
	}
	b.do(chromedp.Navigate(s.at + "/page/?file=x.nc&var=none"))
	b.until(`document.getElementById("message")?.textContent === "The variable has no values: its dimension r has length 0."`)
	b.view(s, "?file=x.nc&at=0,0,0,y,x")
	require.Equal(t, "In the address: at=0,0,0,y,x is not a part of a(time=4, y=2, x=3).", b.text("note"))

	// Numbers that are typed.
	b.view(s, "?file=x.nc&var=a")
	enter := func(id, value string) {
		eval[bool](b, `document.querySelector(%[1]q).value = %[2]q; document.querySelector(%[1]q).dispatchEvent(new Event("change"))`, id, value)
	}
	enter("#low", "two")
	require.Equal(t, `"two" is not a number`, b.text("range-error"))
	enter("#low", "9")
	require.Equal(t, "the first value is not below the second", b.text("range-error"))
	b.after(func() { enter("#controls input[type=number]", "2") })
	require.Empty(t, b.text("range-error"), "the values of the slice end at 18")
	for _, value := range []string{"4", "-1", "1.5", ""} {
		enter("#controls input[type=number]", value)
		require.Equal(t, "expected a whole number from 0 to 3", b.text("value-0"), value)
	}
	require.Equal(t, "true", eval[string](b, `document.querySelector("#controls input[type=number]").getAttribute("aria-invalid")`))
	b.after(func() { enter("#controls input[type=number]", "3") })
	require.Equal(t, "3", b.text("value-0"))
	b.clean()

	b.do(chromedp.Navigate(s.at + "/page/?file=none.nc&var=a"))
	b.until(`document.getElementById("message")?.textContent === "none.nc: no such file"`)
}

// TestJudgePageSharp checks that zooming reads finer data.
func TestJudgePageSharp(t *testing.T) {
	t.Parallel()
	const rows, columns = 40, 2500
	var values []string
	for i := range rows * columns {
		v := i % columns % 7
		if i == 20*columns+1201 {
			v = 99 // between the steps of the whole map
		}
		values = append(values, fmt.Sprint(v))
	}
	s := serveOn(t, generated(t, map[string]string{"x.nc": fmt.Sprintf("netcdf x { dimensions: y = %d ; x = %d ; variables: short a(y, x) ; data: a = %s ; }", rows, columns, strings.Join(values, ", "))}))
	b := openBrowser(t, 1000, 900)
	b.view(s, "?file=x.nc&var=a&at=y,x&point=20,1201&range=all")
	require.Equal(t, "no missing; the map shows every 3rd x", b.text("missing"))
	require.Contains(t, b.text("readout"), "y[20], x[1200]")
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")), chromedp.KeyEvent("+"))
	b.until(`document.getElementById("missing").textContent === "no missing; the map shows every 2nd x"`)
	b.do(chromedp.KeyEvent("+"))
	b.until(`document.getElementById("missing").textContent === "no missing"`)
	require.Equal(t, "99 at 20, 1201 — y[20], x[1201]", b.text("readout"))
	// Every index in the row of the value has its colour.
	require.Zero(t, eval[int](b, `(async () => {
  const scale = await import("./colour/scale.js");
  const c = document.getElementById("map-canvas");
  const { x, y, w, h, flip } = JSON.parse(c.dataset.box), v = JSON.parse(c.dataset.view);
  const down = flip ? v.rows - 1 - (20 - v.row) : 20 - v.row;
  const colours = scale.make({ palette: "viridis", low: 0, high: 99 });
  let wrong = 0;
  for (let px = 0; px < w; px++) {
    const p = c.getContext("2d").getImageData(x + px, y + Math.floor(((down + 0.5) * h) / v.rows), 1, 1).data;
    const column = v.column + Math.floor(((px + 0.5) * v.columns) / w);
    if (scale.packed(p, 0) !== colours.pixels[colours.place(column === 1201 ? 99 : column %% 7)]) wrong++;
  }
  return wrong;
})()`))
	b.do(chromedp.KeyEvent("0"))
	b.until(`document.getElementById("missing").textContent === "no missing; the map shows every 3rd x"`)
	b.clean()
}

// TestJudgePageAddress checks that the address has the palette, the range, the part of the map,
// the section and the dimension of series, and that it brings them back.
func TestJudgePageAddress(t *testing.T) {
	t.Parallel()
	var values []string
	for i := range 4 * 20 * 30 {
		values = append(values, fmt.Sprint(i))
	}
	s := serveOn(t, generated(t, map[string]string{"x.nc": "netcdf x { dimensions: z = 4 ; y = 20 ; x = 30 ; variables: short a(z, y, x) ; short b(z, y, x) ; data: a = " + strings.Join(values, ", ") + " ; }"}))
	b := openBrowser(t, 1000, 900)
	b.view(s, "?file=x.nc&var=a")
	change := func(id, value string) {
		eval[bool](b, `document.querySelector(%[1]q).value = %[2]q; document.querySelector(%[1]q).dispatchEvent(new Event("change"))`, id, value)
	}
	// A section of z and x.
	b.after(func() { change("#controls label:nth-child(2) select", "0") })
	b.after(func() { change("#controls input[type=number]", "7") })
	change("#palette", "cividis")
	change("#low", "-5")
	change("#high", "1e3")
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")), chromedp.KeyEvent(kb.Enter))
	b.until(`document.getElementById("series-where").textContent.startsWith("at ")`)
	change("#along", "2")
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")), chromedp.KeyEvent("+"))
	const want = "?file=x.nc&var=a&at=y,7,x&point=2,7,15&along=x&part=0:4,8:23&palette=cividis&from=-5&to=1e3"
	b.until(`location.search === %q`, want)

	b.view(s, want)
	state := func() []string {
		return eval[[]string](b, `[...["palette", "low", "high", "along"].map((id) => document.getElementById(id).value), document.getElementById("map-canvas").dataset.view, document.getElementById("bar").getAttribute("aria-label"), document.getElementById("readout").textContent, location.search]`)
	}
	first := []string{"cividis", "-5", "1e3", "2", `{"row":0,"column":8,"rows":4,"columns":15}`, "Colours from -5 to 1000", "1425 at 2, 15 — z[2], x[15]", want}
	require.Equal(t, first, state())
	// Another variable keeps the colours, not the range or the part. The way back has all.
	b.after(func() { b.do(chromedp.Click(chromedp.CSS(`#vars a[data-num="1"]`))) })
	require.Equal(t, "?file=x.nc&var=b&at=0,y,x&palette=cividis", eval[string](b, `location.search`))
	b.after(func() { eval[bool](b, `history.back() ?? true`) })
	require.Equal(t, first, state())
	for query, problem := range map[string]string{
		"&palette=rainbow":           "palette=rainbow is not one of auto, viridis, cividis, magma, inferno, plasma, greys, bluered, purpleorange, twilight, perhaps with _r",
		"&along=t":                   "along=t is not a dimension of a(z=4, y=20, x=30)",
		"&at=0,y,x&part=0:21,0:30":   "part=0:21,0:30 is not a part of the map",
		"&at=0,y,x&part=5:5,0:30":    "part=5:5,0:30 is not a part of the map",
		"&at=0,0,x&part=0:1,0:30":    "part=0:1,0:30 is not a part of the map",
		"&at=0,y,x&part=all&along=u": "along=u is not a dimension of a(z=4, y=20, x=30); part=all is not a part of the map",
	} {
		b.view(s, "?file=x.nc&var=a"+query)
		require.Equal(t, "In the address: "+problem+".", b.text("note"))
	}
	b.view(s, "?file=x.nc&var=a&from=low")
	require.Equal(t, `"low" is not a number`, b.text("range-error"))
	b.clean()
}

// TestJudgePageUnits checks that axes and colours have names and units.
func TestJudgePageUnits(t *testing.T) {
	t.Parallel()
	s := serveOn(t, generated(t, map[string]string{"x.nc": `netcdf x { dimensions: time = 3 ; lat = 2 ; depth = 2 ; cell = 2 ; variables:
		double time(time) ; time:units = "seconds since 2001-05-06 07:08:09" ; float lat(lat) ; lat:units = "degrees_north" ; float depth(depth) ; depth:units = "m" ;
		float temp(time, depth) ; temp:units = "Deg C" ; float salt(lat, cell) ; float flow(depth) ; flow:units = "m3 s-1" ;
		data: time = 0, 1, 2 ; lat = 1, 2 ; depth = 5, 10 ; temp = 1, 2, 3, 4, 5, 6 ; salt = 1, 2, 3, 4 ; flow = 1, 2 ; }`}))
	b := openBrowser(t, 1000, 900)
	texts := func(ids ...string) []string {
		out := []string{}
		for _, id := range ids {
			out = append(out, b.text(id))
		}
		return out
	}
	b.view(s, "?file=x.nc&var=temp&at=y,x&point=1,1")
	require.Equal(t, []string{"↑ time, 2001-05-06", "depth (m) →", "Deg C", "↑ temp (Deg C)", "time, 2001-05-06 →", "temp (Deg C) →"},
		texts("map-y", "map-x", "bar-units", "series-y", "series-x", "hist-x"))
	require.Equal(t, "Map in Deg C, across: depth (m), up: time, 2001-05-06", eval[string](b, `document.getElementById("map-cursor").getAttribute("aria-label")`))
	require.Equal(t, "Colours from 1 to 6 Deg C", eval[string](b, `document.getElementById("bar").getAttribute("aria-label")`))
	b.view(s, "?file=x.nc&var=salt")
	require.Equal(t, []string{"↑ lat", "cell (index) →", "", "", "salt →"}, texts("map-y", "map-x", "bar-units", "series-y", "hist-x"))
	b.view(s, "?file=x.nc&var=flow")
	require.Equal(t, []string{"↓ depth (m)", "flow (m3 s-1) →"}, texts("series-y", "series-x"))
	b.view(s, "?file=x.nc&var=temp")
	require.Equal(t, []string{"↓ depth (m)", "time, 2001-05-06 →"}, texts("map-y", "map-x"))
	b.clean()
}

// TestJudgePagePoints checks that observations are points at their times or depths.
func TestJudgePagePoints(t *testing.T) {
	t.Parallel()
	s := serveOn(t, generated(t, map[string]string{
		"point.nc": `netcdf x { dimensions: obs = 4 ; variables: double when(obs) ; when:units = "hours since 2001-05-06" ; float lon(obs) ; lon:units = "degrees_east" ;
			float temp(obs) ; temp:units = "K" ; temp:coordinates = "when lon" ; :featureType = "point" ; data: when = 30, 10, 20, 0 ; lon = 1, 2, 3, 4 ; temp = 7, 8, 9, _ ; }`,
		"profile.nc": `netcdf x { dimensions: n = 1 ; level = 3 ; variables: float pres(n, level) ; pres:units = "dbar" ; pres:axis = "Z" ; float temp(n, level) ; temp:units = "degree_C" ;
			:featureType = "profile" ; data: pres = 5, 10, 20 ; temp = 20, 19, 12 ; }`,
		"mesh.nc":    `netcdf x { dimensions: time = 1 ; face = 3 ; variables: double time(time) ; float u(time, face) ; data: u = 3, 1, 2 ; }`,
		"numbers.nc": `netcdf x { dimensions: station = 3 ; variables: float height_of_roof(station) ; data: height_of_roof = 3, 1, 2 ; }`,
		"series.nc":  `netcdf x { dimensions: time = 3 ; variables: double time(time) ; time:units = "days since 2001-01-01" ; float flow(time) ; data: time = 0, 1, 2 ; flow = 3, 1, 2 ; }`,
	}))
	b := openBrowser(t, 1000, 900)
	state := func() []string {
		return eval[[]string](b, `[document.getElementById("series").dataset.drawn, document.getElementById("series-y").textContent, document.getElementById("series-x").textContent, [...document.getElementById("by").options].filter((o) => !document.getElementById("series-by").hidden).map((o) => (o.selected ? "*" : "") + o.value).join()]`)
	}
	// pixels returns how many pixels of the plot have the colour of marks.
	pixels := func() int {
		return eval[int](b, `(() => {
  const c = document.querySelector("#series canvas");
  const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(c, 0, 0);
  const p = copy.getImageData(0, 0, c.width, c.height).data;
  let n = 0;
  for (let i = 0; i < p.length; i += 4) if (p[i] < 40 && p[i + 1] > 70 && p[i + 1] < 120 && p[i + 2] > 150) n++;
  return n;
})()`)
	}
	b.view(s, "?file=point.nc")
	require.Equal(t, []string{"points", "↑ temp (K)", "when →", "index,*when,lon"}, state())
	eval[bool](b, `document.querySelector("#series-table").open = true`)
	b.until(`document.querySelector("#series-table td") !== null`)
	require.Contains(t, b.text("series-table"), "02001-05-07 06:007")
	require.Greater(t, pixels(), 0)
	require.Less(t, pixels(), 300, "three points and no line")
	eval[bool](b, `document.getElementById("by").value = "lon"; document.getElementById("by").dispatchEvent(new Event("change"))`)
	b.until(`document.getElementById("series-x").textContent === "lon →"`)
	b.until(`location.search === "?file=point.nc&var=temp&at=x&by=lon"`)
	b.view(s, "?file=point.nc&var=temp&at=x&by=index")
	require.Equal(t, []string{"points", "↑ temp (K)", "obs (index) →", "*index,when,lon"}, state())
	b.view(s, "?file=point.nc&var=temp&at=x&by=depth")
	require.Equal(t, "In the address: by=depth is not a variable.", b.text("note"))

	b.view(s, "?file=profile.nc&var=temp")
	require.Equal(t, []string{"points", "↓ pres (dbar)", "temp (degree_C) →", "index,*pres"}, state())
	require.Less(t, pixels(), 300)
	b.shot("profile")
	b.view(s, "?file=numbers.nc")
	require.Equal(t, []string{"points", "↑ height_of_roof", "station (index) →", ""}, state())
	b.view(s, "?file=mesh.nc")
	require.Equal(t, []string{"points", "↑ u", "face (index) →", ""}, state())
	require.Equal(t, []float64{3, 7}, eval[[]float64](b, `import("./plots/plots.js").then((p) => p.dated([3, 3, 4, 7], 2))`))
	require.Equal(t, []float64{3}, eval[[]float64](b, `import("./plots/plots.js").then((p) => p.dated([3, 3, 3], 2))`))
	b.view(s, "?file=series.nc")
	require.Equal(t, []string{"line", "↑ flow", "time →", ""}, state())
	require.Greater(t, pixels(), 500)
	b.clean()
}

// TestJudgePageFails checks that a slice that cannot be read clears the page of the slice before it,
// that texts have no controls, and what the page says about missing values.
func TestJudgePageFails(t *testing.T) {
	t.Parallel()
	dir := generated(t, map[string]string{
		"good.nc": `netcdf x { dimensions: z = 2 ; y = 2 ; x = 3 ; n = 2 ; lat = 4 ; time = UNLIMITED ; variables: float depth(z) ; depth:positive = "down" ; float z(z) ; z:positive = "down" ; float a(y, x) ; char t(y, x) ; float b(n) ; float c(z, x) ; double lat(lat) ; lat:units = "degrees_north" ; lat:_FillValue = -1. ; float d(lat) ; float e(lat, x) ; float none(time, x) ; float f(lat) ;
			data: z = 5, 10 ; a = 1, 2, 3, 4, 5, 6 ; t = "abc", "def" ; c = 1, 2, 3, 4, 5, 6 ;
			lat = 10, -1, 30, 40 ; d = 1, 2, Infinityf, 4 ; e = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ; f = 3, 1.e35f, 5, 4 ; }`,
		"cut.nc": `netcdf x { dimensions: x = 3 ; variables: float a(x) ; }`,
	})
	require.NoError(t, os.Truncate(filepath.Join(dir, "cut.nc"), 50))
	s := serveOn(t, dir)
	b := openBrowser(t, 1000, 900)
	shown := func() []bool {
		return eval[[]bool](b, `["map", "text", "series", "hist"].map((id) => !document.getElementById(id + "-section").hidden)`)
	}
	b.view(s, "?file=good.nc&var=a")
	require.Equal(t, []bool{true, false, true, true}, shown())
	require.GreaterOrEqual(t, eval[int](b, `JSON.parse(document.getElementById("map-canvas").dataset.box).h`), 120)
	b.view(s, "?file=good.nc&var=t")
	require.Equal(t, []bool{false, true, false, false}, shown())
	require.Equal(t, "abc\ndef", b.text("text"))
	require.Empty(t, b.text("controls"))
	b.view(s, "?file=good.nc&var=b")
	require.Equal(t, "no values", b.text("series-readout"))
	require.True(t, eval[bool](b, `document.getElementById("hist-y").hidden`))
	b.view(s, "?file=good.nc&var=c")
	require.Equal(t, "↓ z", b.text("map-y"))
	// A coordinate is missing: the places of values are their indices, and no cell has an area.
	b.view(s, "?file=good.nc&var=d")
	require.Equal(t, "index of lat →", b.text("series-x"))
	require.Contains(t, b.text("stats"), "3 values from 1 to 4, mean 2.33333 (not weighted), standard deviation 1.24722; 0 missing; 1 infinite")
	b.view(s, "?file=good.nc&var=e")
	require.NotContains(t, b.text("stats"), "weighted by")
	b.view(s, "?file=good.nc&var=f")
	require.Contains(t, b.text("stats"), "3 values from 3 to 5, mean 4 (not weighted), standard deviation 0.816497; 0 missing; without 1 value of 1e+35")
	require.Equal(t, "without 1 value of 1e+35", b.text("series-where"))
	b.view(s, "?file=good.nc&var=none")
	require.Equal(t, "The variable has no values: its dimension time has length 0.", b.text("message"))
	require.Equal(t, []bool{false, false, false, false}, shown())
	b.clean()
	eval[bool](b, `(() => { window.fetch = async () => new Response("a block of the archive is damaged", { status: 500 }); return true; })()`)
	b.do(chromedp.Click(chromedp.CSS(`#vars a[data-num="2"]`)))
	b.until(`document.getElementById("message")?.textContent.startsWith("a block of the archive is damaged. Other variables")`)
	require.Equal(t, []bool{false, false, false, false}, shown())
	b.do(chromedp.Navigate(s.at + "/page/?file=cut.nc"))
	b.until(`document.getElementById("message")?.textContent === "cut.nc: not a classic netCDF file, or a damaged one"`)
}
