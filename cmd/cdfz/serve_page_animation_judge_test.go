//go:build judge && linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// waves is a classic netCDF file with a wave that goes east around the globe in some steps, on a grid of a degree.
func waves(t *testing.T, steps int, time string) []byte {
	t.Helper()
	dir := generated(t, map[string]string{"waves.nc": fmt.Sprintf(`netcdf waves { dimensions: time = %d ; lat = 180 ; lon = 360 ; variables:
  double time(time) ; %s float lat(lat) ; lat:units = "degrees_north" ; float lon(lon) ; lon:units = "degrees_east" ;
  float height(time, lat, lon) ; height:units = "m" ; height:long_name = "wave height" ; }`, steps, time)})
	b, err := os.ReadFile(filepath.Join(dir, "waves.nc"))
	require.NoError(t, err)
	h, err := cdf3.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	put := func(name string, value func(i int) float64) {
		for _, v := range h.Vars {
			if v.Name != name {
				continue
			}
			size := int(v.Type.Size())
			for i := range int(v.Len) / size {
				if at := b[int(v.Begin)+i*size:]; size == 8 {
					binary.BigEndian.PutUint64(at, math.Float64bits(value(i)))
				} else {
					binary.BigEndian.PutUint32(at, math.Float32bits(float32(value(i))))
				}
			}
		}
	}
	put("time", func(i int) float64 { return float64(i) })
	put("lat", func(i int) float64 { return float64(i) - 89.5 })
	put("lon", func(i int) float64 { return float64(i) + 0.5 })
	put("height", func(i int) float64 {
		k, y, x := i/(180*360), i/360%180, i%360
		turn := 2 * math.Pi * (float64(x)/90 - float64(k)/float64(steps))
		return math.Cos(float64(y-90)*math.Pi/180) * (math.Sin(turn) + 0.3*math.Sin(3*turn+float64(y)/20))
	})
	return b
}

const days = `time:units = "days since 2001-01-01" ;`

// requests returns how many requests for values the page has made.
func (b *browser) requests() int {
	b.t.Helper()
	return eval[int](b, `performance.getEntriesByType("resource").filter((e) => e.name.includes("api/values")).length`)
}

// shown returns how many frames the animation has shown.
const framesShown = `Number(document.getElementById("animation").dataset.shown ?? 0)`

// TestJudgeAnimation plays, pauses and steps. It reads no frame twice, and prints how many frames a second Chromium shows.
func TestJudgeAnimation(t *testing.T) {
	const steps = 24
	_, archives := archived(t, map[string][]byte{"waves.nc": waves(t, steps, days)})
	s := serveOn(t, archives)
	b := openBrowser(t, 1280, 900)
	b.view(s, "?file=waves.nc&var=height&at=0,y,x&speed=30&from=-1&to=1")
	require.Equal(t, 1, b.requests())
	b.do(chromedp.Click(chromedp.CSS("#play")))
	b.until(framesShown+` >= %d`, 2*steps)
	require.Equal(t, steps, b.requests(), "each frame once")
	// From memory.
	rate := eval[float64](b, `(async () => {
  const shown = () => %s, from = shown(), began = performance.now();
  while (shown() < from + 60) await new Promise((r) => setTimeout(r, 5));
  return ((shown() - from) * 1000) / (performance.now() - began);
})()`, framesShown)
	t.Logf("animation of 360 x 180 values from memory: %.1f frames a second of 30 wanted", rate)

	// What the lines of coasts cost, and meshes: the shortest of some times, because other tests run at the same time.
	took := eval[map[string]float64](b, `(async () => {
  const [cells, stage, scale] = await Promise.all(["map/cells", "map/stage", "colour/scale"].map((m) => import("./" + m + ".js")));
  const g = Object.assign(document.createElement("canvas"), { width: 1000, height: 520 }).getContext("2d", { willReadFrequently: true });
  const box = { x: 10, y: 10, w: 980, h: 500, scale: 1 }, colours = scale.make({ palette: "viridis", low: -1, high: 1 });
  const draw = (geo, name, eye) => {
    const [rows, columns] = geo.kind === "grid" ? [180, 360] : [1, geo.n];
    const axes = [rows, columns].map((n, k) => ({ dim: rows > 1 ? k : k - 1, start: 0, step: 1, values: geo.axes?.[k].values ?? [] }));
    const source = { shape: [rows, columns], all: [rows, columns], axes, geo, data: Float32Array.from({ length: geo.n }, (_, i) => Math.sin(i / 100)) };
    const began = performance.now();
    stage.draw(g, box, { slice: source, source, shown: null, name, eye: { lon: 0, lat: 20, zoom: 1, ...eye }, coast: true, scaled: [], contours: false }, colours);
    return performance.now() - began;
  };
  const least = (n, f) => Math.min(...Array.from({ length: n }, (_, i) => f(i)));
  const axes = [{ values: Array.from({ length: 180 }, (_, i) => i - 89.5) }, { values: Array.from({ length: 360 }, (_, i) => i + 0.5) }];
  const grid = { ...cells.grid(axes, 1), axes };
  draw(grid, "globe");
  await new Promise((r) => setTimeout(r, 300)); // coastlines are read
  const out = { globe: least(9, () => draw(grid, "globe")), zoomed: least(9, () => draw(grid, "globe", { zoom: 4 })) };
  const [nx, ny] = [1000, 500], lon = new Float64Array((nx + 1) * (ny + 1)), lat = new Float64Array(lon.length), corners = new Int32Array(6 * nx * ny);
  for (let j = 0, k = 0; j <= ny; j++) for (let i = 0; i <= nx; i++, k++) [lon[k], lat[k]] = [(360 * i) / nx - 180, (180 * j) / ny - 90];
  for (let j = 0, c = 0; j < ny; j++) for (let i = 0, a = j * (nx + 1); i < nx; i++, a++, c += 6) corners.set([a, a + 1, a + nx + 2, a, a + nx + 2, a + nx + 1], c);
  const mesh = cells.faces({ lon, lat, corners, starts: Int32Array.from({ length: 2 * nx * ny + 1 }, (_, i) => 3 * i) });
  for (const name of ["plate", "globe"]) out["mesh, " + name] = least(4, (i) => draw(mesh, name, { lon: i }));
  return out;
})()`)
	t.Logf("milliseconds of a frame of 360 x 180 values, and of a new view of a mesh of 10^6 faces: %v", took)

	// A pause shows all that belongs to the frame, which is in the address.
	b.after(func() { b.do(chromedp.Click(chromedp.CSS("#play"))) })
	require.Equal(t, "false", eval[string](b, `document.getElementById("play").getAttribute("aria-pressed")`))
	frame := eval[string](b, `document.getElementById("at-0").value`)
	require.Equal(t, "2001-01-"+fmt.Sprintf("%02d", eval[int](b, `Number(document.getElementById("at-0").value) + 1`)), b.text("value-0"))
	b.until(`location.search.includes("at=%s,y,x") && location.search.includes("speed=30")`, frame)
	b.shot("animation")
	require.Equal(t, steps, b.requests())
	picture := func() string {
		b.until(`document.getElementById("map-canvas").dataset.coast === "true"`)
		return eval[string](b, `document.getElementById("map-canvas").toDataURL() + document.getElementById("stats").textContent`)
	}
	want := picture()
	b.view(s, "?file=waves.nc&var=height&at="+frame+",y,x&from=-1&to=1")
	require.Equal(t, want, picture(), "the same as without an animation")

	// Some frames, once, by the keyboard.
	b.view(s, "?file=waves.nc&var=height&at=7,y,x&frames=4:20:4&loop=0&speed=20")
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")))
	b.after(func() { b.do(chromedp.KeyEvent("p")) })
	require.Equal(t, "16", eval[string](b, `document.getElementById("at-0").value`))
	require.Equal(t, 4, b.requests(), "7, and then 8, 12, 16")
	require.Equal(t, "3", eval[string](b, framesShown+".toString()"))
	step := func(id, at string) {
		b.t.Helper()
		b.after(func() { b.do(chromedp.Focus(chromedp.CSS("#"+id)), chromedp.KeyEvent(kb.Enter)) })
		require.Equal(t, at, eval[string](b, `document.getElementById("at-0").value`), id)
	}
	step("frame-first", "4")
	step("frame-next", "8")
	step("frame-next", "12")
	step("frame-back", "8")
	step("frame-last", "16")
	step("frame-next", "16")
	require.Equal(t, 5, b.requests(), "4 is new")

	// What is wrong in an address is said, and in the controls, too.
	b.view(s, "?file=waves.nc&var=height&at=0,y,x&frames=9:9&speed=7&loop=2&through=depth")
	for _, part := range []string{"through=depth", "frames=9:9", "speed=7", "loop=2"} {
		require.Contains(t, b.text("note"), part)
	}
	b.do(chromedp.Click(chromedp.CSS("#animation summary")), chromedp.SetValue(chromedp.CSS("#frames-to"), "24"))
	eval[bool](b, `document.getElementById("frames-to").dispatchEvent(new Event("change"))`)
	require.Contains(t, b.text("frames-error"), "from 0 to 23")
	b.clean()

	// It stops in a hidden tab and at an error.
	play := func() {
		b.t.Helper()
		n := eval[int](b, framesShown)
		b.do(chromedp.Click(chromedp.CSS("#play")))
		b.until(framesShown+` > %d`, n)
	}
	play()
	b.after(func() {
		eval[bool](b, `(() => { Object.defineProperty(document, "hidden", { value: true, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); return delete document.hidden; })()`)
	})
	require.Contains(t, b.text("play"), "Play")
	play()
	eval[bool](b, `(() => { window.fetch = async () => { throw new Error("no network"); }; return true; })()`)
	b.until(`document.getElementById("message").textContent.includes("does not answer")`)
	require.Contains(t, b.text("play"), "Play")

	// Less motion.
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	require.NoError(t, err)
	b.until(`document.getElementById("frames-note").textContent.includes("at most 2 frames")`)
	require.InDelta(t, 500, eval[float64](b, `import("./panels/animation.js").then((a) => a.period())`), 0)
}

// TestJudgeViewerAnimation plays an archive from another server: no block is read twice.
func TestJudgeViewerAnimation(t *testing.T) {
	const steps = 24
	_, archives := archived(t, map[string][]byte{"waves.nc": waves(t, steps, days)})
	viewer := filepath.Join(t.TempDir(), "viewer")
	out, err := self(t, "export", "--viewer", viewer).CombinedOutput()
	require.NoError(t, err, string(out))
	pages := httptest.NewServer(http.FileServer(http.Dir(viewer)))
	defer pages.Close()
	var requests, sent atomic.Int64
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "Content-Range, ETag")
		w.Header().Set("ETag", `"1"`)
		var from, to int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "%d-%d", &from, &to); err == nil {
			sent.Add(to - from + 1)
		}
		http.ServeFile(w, r, filepath.Join(archives, "waves.nc.cdfz"))
	}))
	defer data.Close()
	stat, err := os.Stat(filepath.Join(archives, "waves.nc.cdfz"))
	require.NoError(t, err)
	b := openBrowser(t, 1280, 900)
	b.do(chromedp.Navigate(pages.URL + "/?url=" + data.URL + "/waves.nc.cdfz&var=height&at=0,y,x&speed=30"))
	b.until(`Number(document.body?.dataset.ready ?? 0) > 0`)
	b.do(chromedp.Click(chromedp.CSS("#play")))
	b.until(framesShown+` >= %d`, 2*steps)
	b.after(func() { b.do(chromedp.Click(chromedp.CSS("#play"))) })
	t.Logf("%d frames: %d requests, %d bytes of an archive of %d", steps, requests.Load(), sent.Load(), stat.Size())
	require.LessOrEqual(t, sent.Load(), stat.Size()+(128<<10), "no block twice; the beginning and the end of the archive when it is opened")
	// Two open the archive. At 30 frames a second all fit in what is read ahead, and share requests.
	require.LessOrEqual(t, requests.Load(), int64(2+4))
	b.clean()
}
