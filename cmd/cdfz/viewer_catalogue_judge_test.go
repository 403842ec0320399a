//go:build judge && linux

package main

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestJudgeViewerCatalogue opens a catalogue in the viewer, chooses a file, and opens its address elsewhere. An address
// of a file that was dropped waits for that file.
func TestJudgeViewerCatalogue(t *testing.T) {
	t.Parallel()
	dir := generated(t, map[string]string{"x.nc": "netcdf x { dimensions: t = 2 ; y = 3 ; x = 4 ; variables: float a(t, y, x), b(t, y, x) ; data: a = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 ; b = 20, 21 ; }"})
	require.NoError(t, self(t, "archive", "-q", filepath.Join(dir, "x.nc")).Run())
	require.NoError(t, os.Remove(filepath.Join(dir, "x.nc")))
	archive, err := os.ReadFile(filepath.Join(dir, "x.nc.cdfz"))
	require.NoError(t, err)
	for _, name := range []string{"1987/a.nc.cdfz", "1987/spring/odd #1 %20 ü.nc.cdfz", "1988/b.nc.cdfz"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), archive, 0o644))
	}
	cmd := self(t, "catalogue", "-o", "cat.parquet", ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	viewer := filepath.Join(t.TempDir(), "viewer")
	out, err = self(t, "export", "--viewer", viewer).CombinedOutput()
	require.NoError(t, err, string(out))
	pages := httptest.NewServer(http.FileServer(http.Dir(viewer)))
	defer pages.Close()
	files := http.FileServer(http.Dir(dir))
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "Content-Range, ETag")
		files.ServeHTTP(w, r)
	}))
	defer data.Close()
	b := openBrowser(t, 1000, 900)
	b.do(chromedp.Navigate(pages.URL + "/?url=" + data.URL + "/cat.parquet"))
	b.until(`document.querySelectorAll("#tree li").length === 3`)
	require.Equal(t, []string{"1987/", "1988/", "x.nc.cdfz"}, eval[[]string](b, `[...document.querySelectorAll("#tree > li")].map((li) => (li.querySelector("summary") ?? li.querySelector("a").firstChild).textContent)`))
	b.do(chromedp.SendKeys(chromedp.CSS("#files-filter"), "odd"))
	b.until(`document.getElementById("files-filter-count").textContent === "1 of 4"`)
	b.after(func() {
		b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	})
	require.Contains(t, b.text("path"), "/1987/spring/odd%20%231%20%2520%20")
	b.after(func() { b.do(chromedp.Click(chromedp.CSS(`#vars a[data-num="1"]`))) })
	b.until(`location.search.includes("var=b&at=")`)
	address := eval[string](b, `location.href`)
	require.Contains(t, address, "catalog=")

	// Elsewhere.
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	b.until(`Number(document.body?.dataset.ready ?? 0) > 0 && document.querySelector("#tree a[aria-current]") !== null`)
	require.Equal(t, "b", b.text("title"))
	require.Equal(t, address, eval[string](b, `new Promise((r) => setTimeout(() => r(location.href), 300))`))
	b.clean()

	// On a narrow screen the list closes, and the focus goes to what was chosen.
	b.do(chromedp.EmulateViewport(390, 900), chromedp.Navigate("about:blank"), chromedp.Navigate(pages.URL+"/?url="+data.URL+"/cat.parquet"))
	b.until(`document.querySelectorAll("#tree li").length === 3`)
	b.after(func() {
		b.do(chromedp.Focus(chromedp.CSS(`#tree > li > a`)), chromedp.KeyEvent(kb.Enter))
	})
	require.Equal(t, "main false", eval[string](b, `document.activeElement.id + " " + document.getElementById("files").open`))
	b.do(chromedp.EmulateViewport(1000, 900))
	b.clean()

	// A file that was dropped there is dropped here.
	b.do(chromedp.Navigate(pages.URL + "/?url=x.nc.cdfz.local&var=b&at=1,y,x"))
	b.until(`document.getElementById("message")?.textContent !== ""`)
	b.errors = nil
	b.do(chromedp.Navigate("file://" + viewer + "/index.html?url=x.nc.cdfz&var=b&at=1,y,x"))
	b.until(`document.getElementById("message")?.textContent === "x.nc.cdfz: drop the file here: a page cannot open it by its name"`)
	b.after(func() {
		eval[bool](b, `(() => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], "x.nc.cdfz"));
  return document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })) || true;
})()`, base64.StdEncoding.EncodeToString(archive))
	})
	require.Equal(t, "b", b.text("title"))
	require.Equal(t, "1", eval[string](b, `document.querySelector("#controls input[type=number]").value`))
	require.True(t, eval[bool](b, `document.getElementById("message").hidden`))
	b.clean()

	// What is no catalogue.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "no.parquet"), []byte("PAR1 and no more than that PAR1"), 0o644))
	for name, want := range map[string]string{"no.parquet": "catalogue: the end is damaged", "none.parquet": "status 404"} {
		b.do(chromedp.Navigate(pages.URL + "/?url=" + data.URL + "/" + name))
		b.until(`document.getElementById("message")?.textContent.includes(%q)`, want)
	}
}
