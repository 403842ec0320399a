//go:build judge && linux

package main

import (
	"encoding/base64"
	"math"
	"math/rand/v2"
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

// meshFile is a classic file of a mesh of triangles, whose nodes lie a little apart from a grid, and of two times of values at
// the nodes, which do not compress.
func meshFile(rows, columns int) []byte {
	nodes, faces := (rows+1)*(columns+1), 2*rows*columns
	var c classic
	c.WriteString("CDF\x05")
	c.num(0)
	c.list(10, 4)
	for i, name := range []string{"time", "node", "face", "three"} {
		c.text(name)
		c.num([]int{2, nodes, faces, 3}[i])
	}
	c.Write(make([]byte, 12)) // no attributes
	c.list(11, 5)
	begin := 1 << 12
	for _, v := range []struct {
		name       string
		typ, size  int
		dims       []int
		attributes []string
	}{
		{"mesh", 4, 4, nil, []string{"cf_role", "mesh_topology", "node_coordinates", "lon lat", "face_node_connectivity", "faces"}},
		{"lon", 5, 4 * nodes, []int{1}, []string{"units", "degrees_east"}},
		{"lat", 5, 4 * nodes, []int{1}, []string{"units", "degrees_north"}},
		{"faces", 4, 12 * faces, []int{2, 3}, []string{"cf_role", "face_node_connectivity"}},
		{"zeta", 5, 8 * nodes, []int{0, 1}, []string{"mesh", "mesh", "location", "node"}},
	} {
		c.text(v.name)
		c.num(len(v.dims))
		for _, d := range v.dims {
			c.num(d)
		}
		c.attributes(v.attributes...)
		c.tag(int32(v.typ))
		c.num(v.size)
		c.num(begin)
		begin += v.size
	}
	c.Write(make([]byte, 1<<12-c.Len()+4)) // and the one value of mesh
	random := rand.New(rand.NewPCG(1, 2))
	at := func(i int, every float64) float32 { return float32(float64(i)*every + 0.3*every*random.Float64()) }
	float := func(x float32) { c.tag(int32(math.Float32bits(x))) }
	for i := range nodes {
		float(at(i%(columns+1), 0.1))
	}
	for i := range nodes {
		float(at(i/(columns+1), 0.1))
	}
	for f := range faces {
		a := f/2/columns*(columns+1) + f/2%columns
		for _, n := range [][]int{{a, a + 1, a + columns + 2}, {a, a + columns + 2, a + columns + 1}}[f%2] {
			c.tag(int32(n))
		}
	}
	for range 2 * nodes {
		float(random.Float32())
	}
	return c.Bytes()
}

// TestJudgeViewer opens archives in the viewer, which has no server: from another origin, by a few requests, and as
// a dropped file from file://. It shows what the page of cdfz serve shows.
func TestJudgeViewer(t *testing.T) {
	t.Parallel()
	coads, err := os.ReadFile(ferret + "coads_climatology.cdf")
	require.NoError(t, err, "install ferret-datasets")
	_, archives := archived(t, map[string][]byte{"coads.nc": coads, "mesh.nc": meshFile(150, 200)})
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
	plain := data.URL + "/coads.nc.cdfz"
	file := plain + "%3FX-Amz-Signature=5ecret" // as a part of the page's address
	b.do(chromedp.Navigate(pages.URL + "/?url=" + file + "&var=SST&at=6,y,x&point=6,45,80"))
	b.until(`Boolean(document.getElementById("series")?.dataset.values) && document.getElementById("map-canvas").dataset.coast === "true"`)
	require.Equal(t, want, shown())
	require.Equal(t, plain, b.text("path"))
	// Two open the archive, one is for the map, and the series needs one or two.
	require.LessOrEqual(t, requests.Load(), int64(5))
	b.do(chromedp.Click(chromedp.CSS("#lines summary")))
	b.until(`document.getElementById("lines-list").textContent.includes("cdfz.open_dataset(")`)
	b.do(chromedp.Click(chromedp.CSS("#blocks summary")))
	b.until(`document.getElementById("blocks-body").textContent.includes("preset default")`)
	b.shot("viewer")
	b.clean()

	// The first picture of a mesh: two requests open the archive, one is for the values, and one for nodes and faces, which lie
	// beside each other.
	requests.Store(0)
	b.do(chromedp.Navigate(pages.URL + "/?url=" + data.URL + "/mesh.nc.cdfz"))
	b.until(`Number(document.body?.dataset.ready ?? 0) > 0`)
	require.Equal(t, "zeta", b.text("title"))
	require.Equal(t, "30351", eval[string](b, `document.getElementById("stats").textContent.split(" ")[0]`))
	require.NotEmpty(t, eval[string](b, `document.getElementById("map-canvas").dataset.eye ?? ""`))
	require.LessOrEqual(t, requests.Load(), int64(4))
	b.shot("viewer-mesh")
	b.clean()
	b.do(chromedp.Navigate(pages.URL + "/?url=" + file + "&var=SST&at=6,y,x"))
	b.until(`Number(document.body?.dataset.ready ?? 0) > 0`)

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
	require.Contains(t, output(t.TempDir(), "ncdump", "-h", own), " cdfz viewer "+plain+" \\'SST[6, 40:50, 80:90]\\'")
	require.NotContains(t, part, "5ecret")
	name, whole := download("original", "", "nc")
	require.Equal(t, "coads.nc", name)
	require.Equal(t, string(coads), whole)
	b.clean()

	// A server that does not allow it: the message says what to set.
	open = false
	b.do(chromedp.Navigate(pages.URL + "/?url=" + data.URL + "/other.nc.cdfz%3FX-Amz-Signature=5ecret"))
	b.until(`document.getElementById("message")?.textContent.includes("Access-Control-Allow-Origin")`)
	require.NotContains(t, b.text("message"), "5ecret")

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
