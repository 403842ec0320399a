//go:build judge && linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// ferret is the folder of Debian's package ferret-datasets.
const ferret = "/usr/share/ferret-vis/data/"

// browser is a tab of Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string // of the console, of scripts and of requests
}

// openBrowser starts Chromium with a window of a size in pixels.
func openBrowser(t *testing.T, width, height int) *browser {
	t.Helper()
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("/usr/bin/chromium-headless-shell"), chromedp.NoSandbox,
		chromedp.Flag("disable-lcd-text", true))
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), o...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	note := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.errors = append(b.errors, fmt.Sprintf(format, args...))
	}
	require.NoError(t, chromedp.Listen(ctx, func(e any) {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			note("exception: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.URL)
		case *runtime.EventConsoleAPICalled:
			note("console: %s", e.Type)
		case *log.EventEntryAdded:
			note("log: %s %s", e.Entry.Text, e.Entry.URL)
		case *network.EventResponseReceived:
			if e.Response.Status >= 400 {
				note("status %d: %s", e.Response.Status, e.Response.URL)
			}
		}
	}))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	b.do(chromedp.EmulateViewport(int64(width), int64(height)))
	return b
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// eval evaluates JavaScript.
func eval[T any](b *browser, script string, args ...any) T {
	b.t.Helper()
	script = fmt.Sprintf(script, args...)
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, script)
	return out
}

// until waits for a condition of the page. The limit is long, since the computer may be busy.
func (b *browser) until(script string, args ...any) {
	b.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !eval[bool](b, script, args...); time.Sleep(10 * time.Millisecond) {
		require.True(b.t, time.Now().Before(end), "waiting for %s", fmt.Sprintf(script, args...))
	}
}

// after does something and waits until the page has shown the slice that follows.
func (b *browser) after(f func()) {
	b.t.Helper()
	n := eval[string](b, `document.body.dataset.ready ?? "0"`)
	f()
	b.until(`Number(document.body.dataset.ready ?? 0) > %s`, n)
}

// shot writes a picture of the whole page if CDFZ_SCREENSHOTS names a folder.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("CDFZ_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// clean fails if the browser had errors.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.errors)
}

// pythonValues reads values with netCDF4-python. Missing ones are nil.
func pythonValues(t *testing.T, file, index string) []*float64 {
	t.Helper()
	script := fmt.Sprintf(`import json, netCDF4, numpy
x = numpy.ma.masked_invalid(netCDF4.Dataset(%q)%s)
print(json.dumps([None if m else float(v) for v, m in zip(x.data.ravel(), numpy.ma.getmaskarray(x).ravel())]))`, file, index)
	out, ok := strings.CutSuffix(output(t.TempDir(), "/usr/bin/python3", "-c", script), "<nil>")
	require.True(t, ok, out)
	var values []*float64
	require.NoError(t, json.Unmarshal([]byte(out), &values))
	return values
}

// mapPixels returns whether each cell of the map, by rows of the file, has the colour of a
// value at its middle. Values are those of JSON.
const mapPixels = `(async () => {
  const [palette, scale] = await Promise.all([import("./colour/palette.js"), import("./colour/scale.js")]);
  const { x, y, w, h, flip } = JSON.parse(document.getElementById("map-canvas").dataset.box);
  const image = document.getElementById("map-canvas").getContext("2d").getImageData(x, y, w, h).data;
  const values = %s, columns = %d, rows = values.length / columns;
  const known = values.filter((v) => v !== null);
  const low = Math.min(...known), high = Math.max(...known);
  const colours = scale.of({ data: Float64Array.from(values, (v) => v ?? NaN), min: low, max: high }, { palette: "auto" });
  let wrong = 0;
  values.forEach((v, i) => {
    const row = Math.floor(i / columns), column = i %% columns;
    const px = Math.floor(((column + 0.5) * w) / columns), py = Math.floor((((flip ? rows - 1 - row : row) + 0.5) * h) / rows);
    const pixel = colours.pixels[colours.place(v)];
    const want = v === null ? palette.missing(px, py) : [24, 16, 8].map((bits) => (pixel >>> bits) & 255);
    if (want.some((c, k) => image[4 * (py * w + px) + k] !== c)) wrong++;
  });
  return wrong;
})()`

func TestJudgePage(t *testing.T) {
	t.Parallel()
	coads, err := os.ReadFile(ferret + "coads_climatology.cdf")
	require.NoError(t, err, "install ferret-datasets")
	etopo, err := os.ReadFile(ferret + "etopo60.cdf")
	require.NoError(t, err)
	originals, archives := archived(t, map[string][]byte{"coads_climatology.cdf": coads, "land/etopo60.cdf": etopo})
	s := serveOn(t, archives)
	file := filepath.Join(originals, "coads_climatology.cdf")

	b := openBrowser(t, 1280, 900)
	b.do(chromedp.Navigate(s.at + "/"))
	b.after(func() {
		b.do(chromedp.Click(chromedp.CSS(`#tree a[data-file="coads_climatology.cdf"]`)))
	})
	require.Equal(t, "SEA SURFACE TEMPERATURE", eval[string](b, `document.getElementById("title").textContent`))
	b.do(chromedp.Click(chromedp.CSS("#coast"))) // lines and land would hide cells

	// Every cell of the first map and of the one of July, which is seven steps away.
	pixels := func(month int) {
		values, err := json.Marshal(pythonValues(t, file, fmt.Sprintf(`["SST"][%d]`, month)))
		require.NoError(t, err)
		require.Zero(t, eval[int](b, mapPixels, values, 180), "month %d", month)
	}
	pixels(0)
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")))
	for range 6 {
		b.after(func() { b.do(chromedp.KeyEvent(kb.PageDown)) })
	}
	pixels(6)
	require.Equal(t, "0000-07-16 20:54:36", eval[string](b, `document.getElementById("value-0").textContent`))

	// A click on a cell shows its series and its value.
	const row, column = 45, 80
	b.do(chromedp.ScrollIntoView(chromedp.CSS("#map-canvas")))
	at := eval[[]float64](b, `(() => {
  const { x, y, w, h, scale } = JSON.parse(document.getElementById("map-canvas").dataset.box);
  const r = document.getElementById("map-canvas").getBoundingClientRect();
  return [r.left + (x + ((%d + 0.5) * w) / 180) / scale, r.top + (y + ((90 - %d - 0.5) * h) / 90) / scale];
})()`, column, row)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
	b.until(`document.getElementById("series").dataset.values !== undefined`)
	series := pythonValues(t, file, fmt.Sprintf(`["SST"][:, %d, %d]`, row, column))
	shown := eval[[]float64](b, `JSON.parse(document.getElementById("series").dataset.values)`)
	require.Len(t, shown, 12)
	for i := range shown {
		require.InDelta(t, *series[i], shown[i], 0, "month %d", i)
	}
	require.True(t, strings.HasPrefix(eval[string](b, `document.getElementById("readout").textContent`),
		fmt.Sprintf("%v Deg C at 1°N, 179°W", float32(*series[6]))), eval[string](b, `document.getElementById("readout").textContent`))
	require.Contains(t, eval[string](b, `document.getElementById("stats").textContent`), " missing")

	// The keyboard does the same.
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	next, err := json.Marshal(pythonValues(t, file, fmt.Sprintf(`["SST"][:, %d, %d]`, row, column+1)))
	require.NoError(t, err)
	b.until(`document.getElementById("series").dataset.values === JSON.stringify(%s)`, next)
	b.do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.Enter))

	// What compressed the variable, downloads and lines.
	b.do(chromedp.Click(chromedp.CSS("#blocks summary")))
	b.until(`document.getElementById("blocks-body").textContent.includes("lorenz")`)
	require.Contains(t, eval[string](b, `document.getElementById("blocks-body").textContent`), "preset default")
	b.do(chromedp.Click(chromedp.CSS("#get summary")), chromedp.Click(chromedp.CSS("#get-series")), chromedp.SetValue(chromedp.CSS("#format"), "csv"))
	// A map that is only drawn again takes no selection back.
	require.Equal(t, "SST[:, 45, 80]", eval[string](b, `(async () => {
  for (const width of ["90%%", ""]) {
    document.getElementById("map").style.width = width;
    await new Promise((r) => setTimeout(r, 400));
  }
  return document.getElementById("selection").value;
})()`))
	link := eval[string](b, `document.getElementById("format").dispatchEvent(new Event("input")); document.getElementById("download").href`)
	csv, ok := strings.CutSuffix(output(t.TempDir(), "curl", "-sSf", link), "<nil>")
	require.True(t, ok, csv)
	lines := strings.Split(strings.TrimSpace(csv), "\n")
	require.Len(t, lines, 13)
	require.True(t, strings.HasSuffix(lines[7], fmt.Sprintf(",%v", float32(*series[6]))), lines[7])
	b.do(chromedp.Click(chromedp.CSS("#lines summary")))
	b.until(`document.getElementById("lines-list").textContent.includes(%q)`, s.at+"/dap/coads_climatology.cdf")
	b.do(chromedp.Click(chromedp.CSS("#attributes summary")))
	b.shot("wide")

	// A file in a folder, and the address of a view.
	b.do(chromedp.Click(chromedp.CSS(`#tree details[data-folder="land"] summary`)))
	b.after(func() { b.do(chromedp.Click(chromedp.CSS(`#tree a[data-file="land/etopo60.cdf"]`))) })
	require.Equal(t, "land/etopo60.cdf", eval[string](b, `document.getElementById("path").textContent`))
	b.shot("etopo")
	b.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile), chromedp.Navigate(s.at+"/page/?file=coads_climatology.cdf&var=AIRT&at=6,y,x&point=6,45,80&coast=0"))
	b.until(`document.body.dataset.ready === "1"`)
	require.Equal(t, "AIR TEMPERATURE", eval[string](b, `document.getElementById("title").textContent`))
	for _, id := range []string{"get", "lines", "blocks", "attributes"} {
		b.do(chromedp.Click(chromedp.CSS("#" + id + " summary")))
	}
	b.until(`document.getElementById("blocks-body").textContent.includes("lorenz")`)
	require.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), 360)
	values, err := json.Marshal(pythonValues(t, file, `["AIRT"][6]`))
	require.NoError(t, err)
	require.Zero(t, eval[int](b, mapPixels, values, 180))
	b.shot("phone")
	b.clean()
}

// TestJudgePageFiles has many files: the list has a filter, and shows the file that is open.
func TestJudgePageFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	image := climateImage(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "deep"), 0o755))
	for i := range 150 {
		for _, name := range []string{fmt.Sprintf("t%03d.nc", i), fmt.Sprintf("deep/u%03d.nc", i)} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), image, 0o644))
		}
	}
	s := serveOn(t, dir)
	b := openBrowser(t, 1200, 800)
	b.do(chromedp.Navigate(s.at + "/page/?file=t120.nc"))
	b.until(`document.body.dataset.ready === "1" && document.querySelector("#tree a[aria-current]") !== null`)
	visible := func(file string) bool {
		return eval[bool](b, `((file) => {
			const a = document.querySelector('#tree a[data-file="' + file + '"]').getBoundingClientRect(), box = document.getElementById("tree").getBoundingClientRect();
			return a.height > 0 && a.top >= box.top && a.bottom <= box.bottom;
		})(%q)`, file)
	}
	require.True(t, visible("t120.nc"))
	require.False(t, visible("t000.nc"))
	filter := func(text string) string {
		b.do(chromedp.Focus(chromedp.CSS("#files-filter")))
		eval[bool](b, `((text) => { const f = document.getElementById("files-filter"); f.value = text; f.dispatchEvent(new Event("input")); return true; })(%q)`, text)
		return eval[string](b, `document.getElementById("files-filter-count").textContent`)
	}
	filter("T14 nc")
	b.until(`document.getElementById("files-filter-count").textContent === "10 of 300"`) // the closed folder has been searched
	b.shot("files")
	require.Equal(t, "300", filter(""))

	b.do(chromedp.Navigate(s.at + "/page/?file=deep%2Fu099.nc"))
	b.until(`document.body.dataset.ready === "1" && document.querySelector("#tree a[aria-current]") !== null`)
	require.True(t, visible("deep/u099.nc"))
	require.Equal(t, "1 of 300", filter("u007"))

	// Answers that come late do not replace what was chosen after them.
	b.do(chromedp.Navigate(s.at + "/page/?file=t000.nc"))
	b.until(`document.body.dataset.ready === "1" && document.querySelector('#tree a[data-file="t001.nc"]') !== null`)
	eval[bool](b, `(() => {
		const real = window.fetch;
		window.fetch = async (at, o) => {
			if (/meta.t001|x%%2C1%%2C1/.test(at)) await new Promise((go) => setTimeout(go, 300));
			return real(at, o);
		};
		for (const n of [1, 2]) document.querySelector('#tree a[data-file="t00' + n + '.nc"]').click();
		return true;
	})()`)
	b.until(`document.body.dataset.ready === "2"`)
	require.Equal(t, "t002.nc", eval[string](b, `new Promise((go) => setTimeout(() => go(document.getElementById("path").textContent), 400))`))
	where := eval[string](b, `import("./map/look.js").then(async ({ choose }) => {
		for (const cell of [[1, 1], [2, 2]]) {
			choose(cell);
			await new Promise((go) => setTimeout(go, 60));
		}
		await new Promise((go) => setTimeout(go, 400));
		return document.getElementById("series-where").textContent;
	})`)
	require.Equal(t, "at lat 67.5°S, lon 24°E", where)
	b.clean()
}

// TestJudgePageZoom zooms and moves the map, and points at cells of a curvilinear grid.
func TestJudgePageZoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var temp, lat, lon []string
	for i := range 20 * 30 {
		y, x := i/30, i%30
		temp = append(temp, fmt.Sprint(1000+i))
		lat = append(lat, fmt.Sprint(float64(40+y)+float64(x)/4))
		lon = append(lon, fmt.Sprint(float64(5+x)-float64(y)/4))
	}
	cdl := "netcdf grid { dimensions: y = 20 ; x = 30 ; variables: float temp(y, x) ; temp:coordinates = \"lat lon\" ; " +
		"float lat(y, x) ; lat:units = \"degrees_north\" ; float lon(y, x) ; lon:units = \"degrees_east\" ; data: temp = " +
		strings.Join(temp, ", ") + " ; lat = " + strings.Join(lat, ", ") + " ; lon = " + strings.Join(lon, ", ") + " ; }"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "grid.cdl"), []byte(cdl), 0o644))
	out, err := self(t, "gen", "-o", filepath.Join(dir, "grid.nc"), filepath.Join(dir, "grid.cdl")).CombinedOutput()
	require.NoError(t, err, string(out))
	s := serveOn(t, dir)
	b := openBrowser(t, 1000, 900)
	b.do(chromedp.Navigate(s.at + "/page/?file=grid.nc&var=temp&at=y,x&point=3,4&projection=cells"))
	b.until(`document.body.dataset.ready === "1"`)
	readout := func() string { return eval[string](b, `document.getElementById("readout").textContent`) }
	require.Equal(t, "1094 at 44°N, 8.25°E — y[3], x[4]", readout())
	view := func() string { return eval[string](b, `document.getElementById("map-canvas").dataset.view`) }
	require.JSONEq(t, `{"row":0,"column":0,"rows":20,"columns":30}`, view())
	b.shot("curvilinear")

	// Buttons zoom around the chosen cell, keys move the cursor and with it the part.
	b.do(chromedp.Click(chromedp.CSS("#zoom-in")))
	require.JSONEq(t, `{"row":2,"column":2,"rows":10,"columns":15}`, view())
	pixel := func(row, column int) {
		require.True(t, eval[bool](b, `(async () => {
  const scale = await import("./colour/scale.js");
  const c = document.getElementById("map-canvas");
  const { x, y, w, h, flip } = JSON.parse(c.dataset.box), v = JSON.parse(c.dataset.view);
  const down = flip ? v.rows - 1 - (%[1]d - v.row) : %[1]d - v.row;
  const p = c.getContext("2d").getImageData(x + Math.floor(((%[2]d - v.column + 0.5) * w) / v.columns), y + Math.floor(((down + 0.5) * h) / v.rows), 1, 1).data;
  const colours = scale.make({ palette: "viridis", low: 1000, high: 1599 });
  return scale.packed(p, 0) === colours.pixels[colours.place(1000 + 30 * %[1]d + %[2]d)];
})()`, row, column), "%d %d", row, column)
	}
	for row := 2; row < 12; row++ {
		pixel(row, 2)
		pixel(row, 16)
	}
	b.shot("zoomed")
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")), chromedp.KeyEvent("0"))
	require.JSONEq(t, `{"row":0,"column":0,"rows":20,"columns":30}`, view())
	b.do(chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	require.JSONEq(t, `{"row":3,"column":3,"rows":5,"columns":8}`, view())
	b.do(chromedp.KeyEvent(kb.End))
	require.JSONEq(t, `{"row":3,"column":22,"rows":5,"columns":8}`, view())
	require.Equal(t, "1119 at 50.25°N, 33.25°E — y[3], x[29]", readout())
	pixel(3, 29)

	// The wheel zooms at the pointer, dragging moves by whole cells, two fingers zoom.
	b.do(chromedp.KeyEvent("0"))
	pointer := func(script string) {
		eval[bool](b, `(() => {
  const c = document.getElementById("map-cursor"), r = c.getBoundingClientRect();
  const { x, y, w, h, scale } = JSON.parse(document.getElementById("map-canvas").dataset.box);
  const at = (fx, fy) => ({ clientX: r.left + (x + fx * w) / scale, clientY: r.top + (y + fy * h) / scale, bubbles: true, cancelable: true });
  const send = (type, id, fx, fy) => c.dispatchEvent(new PointerEvent(type, { ...at(fx, fy), pointerId: id, button: 0 }));
  c.setPointerCapture = () => {};
  `+script+`
  return true;
})()`)
	}
	pointer(`for (let i = 0; i < 3; i++) c.dispatchEvent(new WheelEvent("wheel", { ...at(0, 1), deltaY: -100 }));`)
	require.JSONEq(t, `{"row":0,"column":0,"rows":10,"columns":15}`, view())
	pointer(`send("pointerdown", 1, 0.9, 0.1); send("pointermove", 1, 0.5, 0.5); send("pointerup", 1, 0.5, 0.5);`)
	require.JSONEq(t, `{"row":4,"column":6,"rows":10,"columns":15}`, view())
	pointer(`send("pointerdown", 1, 0.2, 0.5); send("pointerdown", 2, 0.8, 0.5); send("pointermove", 2, 0.5, 0.5); send("pointerup", 1, 0.2, 0.5); send("pointerup", 2, 0.5, 0.5);`)
	require.JSONEq(t, `{"row":0,"column":0,"rows":20,"columns":30}`, view())
	b.clean()
}

// TestJudgePageNumbers checks that labels of axes differ where their values do, and that a
// series that is too long for the page shows its peaks.
func TestJudgePageNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := output(dir, "/usr/bin/python3", "-c", `import netCDF4, numpy
d = netCDF4.Dataset("flow.nc", "w", format="NETCDF3_64BIT_OFFSET")
d.createDimension("time", 100000)
t = d.createVariable("time", "f8", ("time",))
t.units = "Julian days"
t[:] = 2450000 + numpy.arange(100000) / 24
v = d.createVariable("flow", "f8", ("time",))
a = numpy.full(100000, 4000000.0)
a[12345], a[54321] = 5207687, 17
v[:] = a
d.close()`)
	require.Equal(t, "<nil>", out)
	image, err := os.ReadFile(filepath.Join(dir, "flow.nc"))
	require.NoError(t, err)
	_, archives := archived(t, map[string][]byte{"flow.nc": image})
	s := serveOn(t, archives)
	b := openBrowser(t, 1280, 900)
	b.do(chromedp.Navigate(s.at + "/page/?file=flow.nc&var=flow"))
	b.until(`document.body.dataset.ready === "1"`)
	require.Equal(t, "the smallest and the largest of every 50 values", eval[string](b, `document.getElementById("series-where").textContent`))
	b.do(chromedp.Click(chromedp.CSS("#series-table summary")))
	b.until(`document.querySelector("#series-table td") !== null`)
	require.True(t, eval[bool](b, `document.getElementById("series-table").textContent.includes("123452450514.375 Julian days5207687")`), "index, day and peak")
	for script, want := range map[string][]string{
		`f.ticks([2450000, 2450025, 2450050])`:                                                          {"2450000", "2450025", "2450050"},
		`f.ticks([2450000.5, 2450000.75])`:                                                              {"2450000.5", "2450000.75"},
		`f.ticks([0, 1e-7, 2e-7])`:                                                                      {"0", "1e-7", "2e-7"},
		`f.ticks([0.30000000000000004, 0.4])`:                                                           {"0.3", "0.4"},
		`f.ticks([359.99975, 359.9998], "degrees_east")`:                                                {"0.00025°W", "0.0002°W"},
		`[0, 1].map((i) => f.coordinate({ values: [2450000.5, 2450001.5], units: "d" }, i))`:            {"2450000.5 d", "2450001.5 d"},
		`[f.coordinate({ values: [2450000.125] }, 0), f.coordinate({ values: [Math.fround(0.1)] }, 0)]`: {"2450000.125", "0.1"},
	} {
		require.Equal(t, want, eval[[]string](b, `(async () => { const f = await import("./panels/format.js"); return %s; })()`, script), script)
	}
	b.shot("flow")
	b.clean()

	// Values at the ends of their types are drawn, and no script fails.
	vars := map[string]string{
		"fill": "9.96921e36", "huge": "1e300, -1e300", "widest": "1.7976931348623157e308, -1.7976931348623157e308", "least": "4.9e-324", "small": "4.9e-324, 1e-310, 0",
		"close": "1e300, 1.0000000000000002e300", "same": "-9.96921e36, -9.96921e36", "only": "9.96921e36, _, _", "last": "_, 9.96921e36", "long": "1e18, 2e18",
	}
	var dims, head, data strings.Builder
	for name, values := range vars {
		n := strings.Count(values, ",") + 1
		fmt.Fprintf(&dims, "at_%s = %d ; ", name, n)
		head.WriteString(strings.NewReplacer("N", name, "K", strconv.Itoa(n)).Replace("double N(nK) ; N:missing_value = -1. ; double plain_N(nK) ; double at_N(at_N) ; double of_N(at_N) ; double map_N(two, at_N) ; "))
		data.WriteString(strings.NewReplacer("N", name, "V", values, "W", []string{"1", "1, 2", "1, 2, 3"}[n-1]).Replace("N = V ; plain_N = V ; at_N = V ; of_N = W ; map_N = V, V ; "))
	}
	made := generated(t, map[string]string{"extremes.nc": "netcdf x { dimensions: n1 = 1 ; n2 = 2 ; n3 = 3 ; two = 2 ; " + dims.String() + " variables: " + head.String() + " data: " + data.String() + " }"})
	extremes, err := os.ReadFile(filepath.Join(made, "extremes.nc"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(archives, "extremes.nc"), extremes, 0o644))
	b.do(chromedp.Navigate(s.at + "/page/?file=extremes.nc"))
	b.until(`document.body.dataset.ready === "1"`)
	for name := range vars {
		for _, prefix := range []string{"", "plain_", "of_", "map_"} {
			b.after(func() {
				eval[bool](b, `[...document.querySelectorAll("#vars a")].find((a) => a.firstChild.data === %q).click() ?? true`, prefix+name)
			})
			require.Empty(t, b.text("message"), prefix+name)
			require.True(t, eval[bool](b, `!document.getElementById("text-section").hidden || document.querySelector("#series canvas") !== null || !document.getElementById("map-section").hidden`), prefix+name)
		}
	}
	b.clean()
}
