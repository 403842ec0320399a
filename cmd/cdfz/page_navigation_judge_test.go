//go:build judge && linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// active returns what has the focus: the file or the variable of an entry, or else the id.
const active = `((a) => a.dataset.file ?? a.dataset.num ?? a.parentElement?.dataset?.folder ?? a.id)(document.activeElement)`

// TestJudgePageKeys chooses files and variables by the keyboard: / goes to a filter, arrows to its entries.
func TestJudgePageKeys(t *testing.T) {
	t.Parallel()
	var vars strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&vars, "float v%03d(x) ; ", i)
	}
	dir := generated(t, map[string]string{"many.nc": "netcdf many { dimensions: x = 2 ; variables: " + vars.String() + "}"})
	for _, folder := range []string{"a", "b", "b/c"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o755))
	}
	for i := range 1500 {
		name := filepath.Join(dir, []string{"", "a", "b", "b/c"}[min(3, i/375)], fmt.Sprintf("f%04d.nc", i))
		require.NoError(t, os.Link(filepath.Join(dir, "many.nc"), name))
	}
	s := serveOn(t, dir)
	b := openBrowser(t, 1200, 900)
	key := func(keys ...string) string {
		for _, k := range keys {
			if k == "/" { // chromedp sends the character even if the page has taken the key
				eval[bool](b, `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }))`)
				continue
			}
			b.do(chromedp.KeyEvent(k))
		}
		return eval[string](b, active)
	}
	b.do(chromedp.Navigate(s.at + "/page/"))
	b.until(`document.querySelectorAll("#tree a").length === 376`)
	require.Equal(t, "files-filter", key("/"))
	require.Equal(t, "378", b.text("files-filter-count"), "two folders are closed, with many.nc")
	key("f1", "49")
	// The folders are searched, also those in folders.
	b.until(`document.getElementById("files-filter-count").textContent === "10 of 1,501"`)
	require.Equal(t, "b", key(kb.ArrowDown))
	require.Equal(t, "b/c/f1491.nc", key(kb.ArrowDown, kb.ArrowDown, kb.ArrowDown))
	require.Equal(t, "b/c/f1490.nc", key(kb.ArrowUp))
	require.Equal(t, "b/c/f1499.nc", key(kb.End))
	b.after(func() { key(kb.Enter) })
	require.Equal(t, "b/c/f1499.nc", b.text("path"))
	require.Equal(t, "files-filter", key("/"))
	key(kb.Escape)
	b.until(`document.getElementById("files-filter-count").textContent === "1,501"`)
	inSight := func(list string) bool {
		return eval[bool](b, `(() => {
  const [list, link] = [%[1]q, %[1]q + " [aria-current]"].map((q) => document.querySelector(q).getBoundingClientRect());
  return link.height > 0 && list.top <= link.top && link.bottom <= list.bottom;
})()`, list)
	}
	require.True(t, inSight("#tree"), "also without the filter")
	require.True(t, eval[bool](b, `document.querySelector('#tree details[data-folder="b"]').open && !document.querySelector('#tree details[data-folder="a"]').open`))

	// Variables. Without a focus in a list, / goes to them.
	eval[bool](b, `document.activeElement.blur() ?? true`)
	require.Equal(t, "filter", key("/"))
	b.after(func() { key("v77", "7", kb.Enter) })
	require.Equal(t, "1 of 1,000", b.text("filter-count"))
	require.Equal(t, "v777", b.text("title"))
	require.Equal(t, "filter", key(kb.Escape))
	require.True(t, inSight("#vars"))
	// The filter answers within a frame or two. A limit of a second is one for slow machines.
	require.Less(t, eval[float64](b, `(() => {
  const f = document.getElementById("filter"), from = performance.now();
  for (const text of ["v", "v1", "v12", "v1", "v", ""]) {
    f.value = text;
    f.dispatchEvent(new Event("input"));
    document.getElementById("vars").offsetHeight;
  }
  return (performance.now() - from) / 6;
})()`), 1000.0)
	// A slash in a field is a slash.
	b.do(chromedp.Click(chromedp.CSS("#get summary")), chromedp.Focus(chromedp.CSS("#selection")))
	require.Equal(t, "selection", key("/"))
	b.clean()
}

// TestJudgePagePart zooms: what is pasted, downloaded and counted is the part that is shown.
func TestJudgePagePart(t *testing.T) {
	t.Parallel()
	var values []string
	for i := range 2 * 20 * 30 {
		values = append(values, fmt.Sprint(i))
	}
	data := "data: time = 0, 1 ; a = " + strings.Join(values, ", ") + " ; "
	const head = "dimensions: time = 2 ; lat = 20 ; lon = 30 ; variables: float a(time, lat, lon) ; double time(time) ; "
	dir := generated(t, map[string]string{
		"cf.nc":  "netcdf x { " + head + `time:units = "days since 2001-01-01" ; ` + data + "}",
		"old.nc": "netcdf x { " + head + `time:units = "hour since 0000-01-01 00:00:00" ; ` + data + "}",
	})
	require.NoError(t, self(t, "archive", "-q", filepath.Join(dir, "cf.nc"), filepath.Join(dir, "old.nc")).Run())
	require.NoError(t, os.Remove(filepath.Join(dir, "cf.nc")))
	require.NoError(t, os.Remove(filepath.Join(dir, "old.nc")))
	s := serveOn(t, dir)
	b := openBrowser(t, 1000, 900)
	b.view(s, "?file=cf.nc&var=a&at=1,y,x&part=4:14,10:25")
	require.Equal(t, "a[1, 4:14, 10:25]", eval[string](b, `document.getElementById("selection").value`))
	require.Equal(t, "of the part of the map", b.text("hist-what"))
	require.Contains(t, b.text("stats"), "150 values from 730 to 1014, ")
	b.do(chromedp.Click(chromedp.CSS("#lines summary")))
	b.until(`document.getElementById("lines-list").textContent !== ""`)
	lines := func() map[string]string {
		return eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll("#lines-list .snippet")].map((s) => [s.querySelector("b").textContent, s.querySelector("pre").textContent]))`)
	}
	l := lines()
	require.Contains(t, l["xarray"], "ds = cdfz.open_dataset(\""+s.at+"/files/cf.nc.cdfz\")\npart = ds[\"a\"].isel({\"time\": 1, \"lat\": slice(4, 14), \"lon\": slice(10, 25)})")
	require.Equal(t, "cdo infon -seltimestep,2 -selindexbox,11,25,5,14 -selname,a "+s.at+"/dap/cf.nc", l["CDO"])

	// They run, and have the values of the part.
	const want = "150 730.0 1014.0"
	python := func(script string) string {
		return output(t.TempDir(), "/usr/bin/python3", "-c", script+"\nimport numpy; part = numpy.asarray(part); print(part.size, part.min(), part.max())")
	}
	require.Contains(t, python(l["xarray, by OPeNDAP"]), want)
	require.Contains(t, python(l["netCDF4-python"]), want)
	require.Contains(t, output(t.TempDir(), "sh", "-c", l["CDO"]), "730.00      872.00      1014.0")
	part := t.TempDir()
	require.Equal(t, "<nil>", output(part, "sh", "-c", l["NCO"]))
	require.Contains(t, output(part, "ncdump", "-h", "part.nc"), "lat = 10 ;\n\tlon = 15 ;")
	require.Equal(t, "<nil>", output(part, "sh", "-c", strings.Replace(l["curl: this part as CSV"], "curl ", "curl -sSf ", 1)))
	csv, err := os.ReadFile(filepath.Join(part, "part.csv"))
	require.NoError(t, err)
	require.Equal(t, 151, strings.Count(string(csv), "\n"))

	// Another part, by the keyboard: all follow.
	b.do(chromedp.Focus(chromedp.CSS("#map-cursor")), chromedp.KeyEvent("0"))
	b.until(`document.getElementById("selection").value === "a[1, :, :]" && document.getElementById("hist-what").textContent === "of the map"`)
	require.Contains(t, b.text("stats"), "600 values from 600 to 1199, ")
	require.NotContains(t, lines()["CDO"], "selindexbox")
	b.do(chromedp.KeyEvent("+"))
	b.until(`document.getElementById("selection").value === "a[1, 5:15, 8:23]" && document.getElementById("stats").textContent.startsWith("150 values from 758 to ")`)
	require.Equal(t, "part=5:15,8:23", strings.Split(eval[string](b, `new Promise((r) => setTimeout(() => r(location.search), 300))`), "&")[3])

	// Times that xarray cannot decode.
	b.view(s, "?file=old.nc&var=a")
	b.do(chromedp.Click(chromedp.CSS("#lines summary")))
	b.until(`document.getElementById("lines-list").textContent !== ""`)
	require.Contains(t, python(lines()["xarray, by OPeNDAP"]), "600 0.0 599.0", "without decode_times=False it fails")
	require.NotContains(t, python(strings.Replace(lines()["xarray, by OPeNDAP"], ", decode_times=False", "", 1)), "600 0.0 599.0", "the option is needed")
	b.clean()
}
