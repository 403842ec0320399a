//go:build judge && linux

package main

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestJudgeViewer opens archives in the viewer, which has no server: from another origin, by a few requests, and as
// a dropped file from file://. It shows what the page of cdfz serve shows.
func TestJudgeViewer(t *testing.T) {
	coads, err := os.ReadFile(ferret + "coads_climatology.cdf")
	require.NoError(t, err, "install ferret-datasets")
	_, archives := archived(t, map[string][]byte{"coads.nc": coads})
	viewer := filepath.Join(t.TempDir(), "viewer")
	out, err := self(t, "export", "--viewer", viewer).CombinedOutput()
	require.NoError(t, err, string(out))

	s := serveOn(t, archives)
	b := openBrowser(t, 1280, 900)
	b.view(s, "?file=coads.nc&var=SST&at=6,y,x&point=6,45,80")
	b.until(`Boolean(document.getElementById("series")?.dataset.values) && document.getElementById("map-canvas").dataset.coast === "true"`)
	shown := func() []string {
		return eval[[]string](b, `["title", "subtitle", "stats", "missing", "value-0"].map((id) => document.getElementById(id).textContent).
  concat(document.getElementById("series").dataset.values, document.getElementById("map-canvas").toDataURL())`)
	}
	want := shown()

	pages := httptest.NewServer(http.FileServer(http.Dir(viewer)))
	defer pages.Close()
	var requests atomic.Int64
	open := true
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if open {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Access-Control-Expose-Headers", "Content-Range, ETag")
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeFile(w, r, filepath.Join(archives, filepath.Base(r.URL.Path)))
	}))
	defer data.Close()
	file := data.URL + "/coads.nc.cdfz"
	b.do(chromedp.Navigate(pages.URL + "/?url=" + file + "&var=SST&at=6,y,x&point=6,45,80"))
	b.until(`Boolean(document.getElementById("series")?.dataset.values) && document.getElementById("map-canvas").dataset.coast === "true"`)
	require.Equal(t, want, shown())
	// Two open the archive, one is for the map, and the series needs one or two.
	require.LessOrEqual(t, requests.Load(), int64(5))
	b.do(chromedp.Click(chromedp.CSS("#lines summary")))
	b.until(`document.getElementById("lines-list").textContent.includes("cdfz.open_dataset(")`)
	b.do(chromedp.Click(chromedp.CSS("#blocks summary")))
	b.until(`document.getElementById("blocks-body").textContent.includes("preset default")`)
	b.shot("viewer")
	b.clean()

	// Downloads are made in the page, and are those of the program.
	eval[bool](b, `(() => {
  const create = URL.createObjectURL;
  URL.createObjectURL = (blob) => ((window.lastBlob = blob), create(blob));
  return true;
})()`)
	download := func(id, selection, format string) (name, bytes string) {
		made := eval[[]string](b, `(async () => {
  window.lastBlob = null;
  document.getElementById("selection").value = %q;
  document.getElementById("format").value = %q;
  const link = document.getElementById(%q);
  link.dispatchEvent(new Event("click", { cancelable: true }));
  for (let i = 0; i < 500 && !window.lastBlob; i++) await new Promise((r) => setTimeout(r, 10));
  const url = await new Promise((r) => { const f = new FileReader(); f.onload = () => r(f.result); f.readAsDataURL(window.lastBlob); });
  return [link.download, url.slice(url.indexOf(",") + 1), document.getElementById("get-error").textContent];
})()`, selection, format, id)
		require.Empty(t, made[2])
		raw, err := base64.StdEncoding.DecodeString(made[1])
		require.NoError(t, err)
		return made[0], string(raw)
	}
	name, csv := download("download", "SST[6, 45, 80:83]", "csv")
	require.Equal(t, "coads-SST.csv", name)
	require.Len(t, strings.Split(csv, "\n"), 5, csv)
	name, part := download("download", "SST[6, 40:50, 80:90]", "nc")
	require.Equal(t, "coads-SST.nc", name)
	own := filepath.Join(t.TempDir(), "coads-SST.nc")
	require.NoError(t, os.WriteFile(own, []byte(part), 0o644))
	judged := filepath.Join(t.TempDir(), "coads-SST.nc")
	out, err = self(t, "get", "-o", judged, filepath.Join(archives, "coads.nc.cdfz"), "SST[6, 40:50, 80:90]").CombinedOutput()
	require.NoError(t, err, string(out))
	dump := func(file string) string {
		return regexp.MustCompile(`(?s):history = .*? ;\n`).ReplaceAllString(output(t.TempDir(), "ncdump", file), "")
	}
	require.Equal(t, dump(judged), dump(own))
	require.Contains(t, output(t.TempDir(), "ncdump", "-h", own), " cdfz viewer "+file+" \\'SST[6, 40:50, 80:90]\\'")
	name, whole := download("original", "", "nc")
	require.Equal(t, "coads.nc", name)
	require.Equal(t, string(coads), whole)
	b.clean()

	// A server that does not allow it: the message says what to set.
	open = false
	b.do(chromedp.Navigate(pages.URL + "/?url=" + data.URL + "/other.nc.cdfz"))
	b.until(`document.getElementById("message")?.textContent.includes("Access-Control-Allow-Origin")`)

	// A dropped file, from file://.
	b.errors = nil
	b.do(chromedp.Navigate("file://" + viewer + "/index.html"))
	archive, err := os.ReadFile(filepath.Join(archives, "coads.nc.cdfz"))
	require.NoError(t, err)
	encoded := base64.StdEncoding.EncodeToString(archive)
	n := eval[int](b, `(() => {
  const bytes = Uint8Array.from(atob(%q), (c) => c.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], "coads.nc.cdfz"));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  return bytes.length;
})()`, encoded)
	require.Equal(t, len(archive), n)
	b.until(`Number(document.body?.dataset.ready ?? 0) > 0`)
	require.Equal(t, "SEA SURFACE TEMPERATURE", b.text("title"))
	b.until(`document.querySelectorAll("#tree a").length === 1`)
	b.shot("viewer-file")
	b.clean()
}
