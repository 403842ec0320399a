//go:build judge && linux

package main

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/hostile"
)

// classic writes headers of classic files of format CDF-5.
type classic struct{ bytes.Buffer }

func (c *classic) num(n int)       { _ = binary.Write(c, binary.BigEndian, int64(n)) }
func (c *classic) tag(n int32)     { _ = binary.Write(c, binary.BigEndian, n) }
func (c *classic) text(s string)   { c.num(len(s)); c.WriteString(s); c.Write(make([]byte, -len(s)&3)) }
func (c *classic) list(tag, n int) { c.tag(int32(tag)); c.num(n) }
func (c *classic) attributes(pairs ...string) {
	c.list(12, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		c.text(pairs[i])
		c.tag(2) // char
		c.text(pairs[i+1])
	}
}

// evil are texts that a page must only show.
var evil = []string{
	`<img src=x onerror=window.hacked=1>`, `<script>window.hacked=1<` + `/script>`, `javascript:window.hacked=1`, `"><svg onload=window.hacked=1>`,
	"\u202etxt.cn\u202c", "a\x00b", "__proto__", "constructor", "{{constructor.constructor('window.hacked=1')()}}", "=cmd|'/c calc'!A1", "' onclick='window.hacked=1",
}

// evilFile is a classic file whose names and attributes are evil.
func evilFile() []byte {
	var c classic
	c.WriteString("CDF\x05")
	c.num(0)
	name := func(s string) string { return strings.NewReplacer("/", "_", "\x00", "").Replace(s) }
	c.list(10, 2)
	c.text(name(evil[0]))
	c.num(3)
	c.text(name(evil[3]))
	c.num(4)
	c.attributes("title", evil[1], "Conventions", evil[2], "featureType", evil[7], name(evil[6]), evil[6], "source", evil[4])
	c.list(11, len(evil))
	begin := 1 << 14
	for _, e := range evil {
		c.text(name(e))
		c.num(2)
		c.num(0)
		c.num(1)
		c.attributes("units", e, "long_name", evil[0]+e, "coordinates", strings.Join(evil[6:8], " ")+" toString", "flag_meanings", evil[1], "grid_mapping", evil[6], "standard_name", e, "axis", e, "url", evil[2])
		c.tag(5) // float
		c.num(48)
		c.num(begin)
		begin += 48
	}
	out := make([]byte, begin)
	copy(out, c.Bytes())
	return out
}

// manyDimensions is a file of that many dimensions.
func manyDimensions(n int) []byte {
	var c classic
	c.WriteString("CDF\x05")
	c.num(0)
	c.list(10, n)
	for i := range n {
		c.text(strconv.Itoa(i))
		c.num(1)
	}
	c.Write(make([]byte, 12)) // no attributes
	c.list(11, 1)
	c.text("v")
	c.num(1)
	c.num(n - 1)
	c.Write(make([]byte, 12))
	c.tag(5)
	c.num(4)
	c.num(c.Len() + 8)
	return append(c.Bytes(), 0x3f, 0x80, 0, 0)
}

// terabytes is a short file whose variable has four terabytes, which read as zeros.
func terabytes() []byte {
	var c classic
	c.WriteString("CDF\x05")
	c.num(0)
	c.list(10, 2)
	for _, d := range []string{"y", "x"} {
		c.text(d)
		c.num(1_000_000)
	}
	c.Write(make([]byte, 12))
	c.list(11, 1)
	c.text("endless")
	c.num(2)
	c.num(0)
	c.num(1)
	c.Write(make([]byte, 12))
	c.tag(5)
	c.num(4_000_000_000_000)
	c.num(c.Len() + 8)
	return append(c.Bytes(), 0x3f, 0x80, 0, 0)
}

// hostileFolder has archives by their names, without .cdfz.
func hostileFolder(t *testing.T) string {
	t.Helper()
	dir := generated(t, map[string]string{"good.nc": "netcdf x { dimensions: y = 3 ; x = 4 ; variables: float a(y, x) ; data: a = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ; }"})
	put := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o644))
		return path
	}
	archive := func(path string, flags ...string) {
		out, err := self(t, append(append([]string{"archive", "-q"}, flags...), path)...).CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, os.Remove(path))
	}
	archive(put("evil.nc", evilFile()))
	archive(put("dimensions.nc", manyDimensions(1_000_000)))
	archive(put("terabytes.nc", terabytes()))
	// 80 MB of zeros in one block.
	var c classic
	c.WriteString("CDF\x05")
	c.num(0)
	c.list(10, 1)
	c.text("x")
	c.num(20 << 20)
	c.Write(make([]byte, 12))
	c.list(11, 1)
	c.text("v")
	c.num(1)
	c.num(0)
	c.Write(make([]byte, 12))
	c.tag(5)
	c.num(80 << 20)
	c.num(c.Len() + 8)
	archive(put("block.nc", append(c.Bytes(), make([]byte, 80<<20)...)), "--block", "128MiB", "-F", "v,32015,3")
	path := filepath.Join(dir, "good.nc")
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	field := put("field.nc", good)
	out, err := self(t, "archive", "-q", "-F", "a,32015,3", field).CombinedOutput()
	require.NoError(t, err, string(out))
	archive(path)
	b, err := os.ReadFile(field + ".cdfz")
	require.NoError(t, err)
	require.NoError(t, os.Remove(field))
	require.NoError(t, os.Remove(field+".cdfz"))

	// Archives with false claims and valid checksums.
	a, err := hostile.Parse(b)
	require.NoError(t, err)
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false))
	require.NoError(t, err)
	bomb := enc.EncodeAll(make([]byte, 2<<20), nil)
	var zipped bytes.Buffer
	w, err := flate.NewWriter(&zipped, flate.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 256<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	plan := string(a.Plan())
	size := regexp.MustCompile(`"image":\{"size":\d+`)
	require.Regexp(t, size, plan)
	with := func(name string, x *hostile.Archive) { put(name+".nc.cdfz", x.Bytes()) }
	with("claims", a.WithPlan([]byte(size.ReplaceAllString(plan, `"image":{"size":5000000000000`))))
	with("json", a.WithPlan([]byte(strings.Replace(plan, "{", `{"y":[`+strings.Repeat("{},", 2_000_000)+`{}],`, 1))))
	with("deep", a.WithPlan([]byte(strings.Replace(plan, "{", `{"y":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`,`, 1))))
	with("zeros", a.WithPlan(make([]byte, 256<<20)))
	with("zipbomb", a.WithHeader(zipped.Bytes()))
	with("zstdbomb", a.WithBlock(bomb))
	return dir
}

// refusals are what the viewer says of archives, by name.
var refusals = map[string]string{
	"dimensions": "The header of the file is too long for this page", "claims": "variables and rest are not the image", "json": "bytes", "deep": "levels", "zeros": "more than", "zipbomb": "", "zstdbomb": "", "block": "67108864 bytes",
}

// resident is the most memory that a process of Chromium has had, in bytes.
func (b *browser) resident() int64 {
	b.t.Helper()
	root := chromedp.FromContext(b.ctx).Browser.Process().Pid
	parents := map[int]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/status")
	require.NoError(b.t, err)
	most := map[int]int64{}
	field := regexp.MustCompile(`(?m)^(PPid|VmHWM):\s+(\d+)`)
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		for _, m := range field.FindAllSubmatch(text, -1) {
			n, _ := strconv.ParseInt(string(m[2]), 10, 64)
			if string(m[1]) == "PPid" {
				parents[pid] = int(n)
			} else {
				most[pid] = n << 10
			}
		}
	}
	var out int64
	for pid, n := range most {
		for p := pid; p > 1; p = parents[p] {
			if p == root {
				out = max(out, n)
				break
			}
		}
	}
	return out
}

// hosts notes the hosts of all requests.
func (b *browser) hosts() func() []string {
	var mu sync.Mutex
	seen := map[string]bool{}
	require.NoError(b.t, chromedp.Listen(b.ctx, func(e any) {
		if e, ok := e.(*network.EventRequestWillBeSent); ok {
			u, err := url.Parse(e.Request.URL)
			if err == nil && u.Scheme != "data" && u.Scheme != "blob" {
				mu.Lock()
				seen[u.Scheme+"://"+u.Host] = true
				mu.Unlock()
			}
		}
	}))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		var out []string
		for h := range seen {
			out = append(out, h)
		}
		slices.Sort(out)
		return out
	}
}

// harmless fails if the page has anything of a file but its text, or was refused something by its policy.
func (b *browser) harmless() {
	b.t.Helper()
	require.Equal(b.t, "0 false", eval[string](b, `document.querySelectorAll("img, svg, iframe, object, embed, form:not(#opening), a[href^='javascript' i], [onclick], [onerror], [onload], body script").length + " " + String(window.hacked ?? ({}).hacked ?? false)`))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		require.NotContains(b.t, e, "Content Security Policy")
		require.NotContains(b.t, e, "exception")
	}
}

// TestJudgePageHostile opens hostile archives in the viewer without a server, one after the other in one page. It says
// in words what is wrong, shows the next archive, runs nothing of a file, asks no other host, and its memory is bounded.
func TestJudgePageHostile(t *testing.T) {
	t.Parallel()
	dir := hostileFolder(t)
	viewer := filepath.Join(t.TempDir(), "viewer")
	out, err := self(t, "export", "--viewer", viewer).CombinedOutput()
	require.NoError(t, err, string(out))
	pages := httptest.NewServer(http.FileServer(http.Dir(viewer)))
	defer pages.Close()
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "Content-Range, ETag")
		http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
	}))
	defer data.Close()
	b := openBrowser(t, 1000, 900)
	hosts := b.hosts()
	b.do(chromedp.Navigate(pages.URL + "/index.html"))
	b.until(`document.getElementById("opening") !== null && !document.getElementById("opening").hidden`)
	opened := func(name string) string {
		eval[bool](b, `(() => {
  document.getElementById("message").hidden = true;
  document.body.dataset.ready = "0";
  document.getElementById("opening-url").value = %q;
  document.getElementById("opening").requestSubmit();
  return true;
})()`, data.URL+"/"+name+".nc.cdfz")
		b.settled()
		return eval[string](b, `document.getElementById("message").hidden ? "" : document.getElementById("message").textContent`)
	}
	for _, name := range []string{"evil", "dimensions", "terabytes", "block", "claims", "json", "deep", "zeros", "zipbomb", "zstdbomb"} {
		said := opened(name)
		t.Logf("%s: %.200s", name, said)
		if want, refused := refusals[name]; refused {
			assert.NotEmpty(t, said, name)
			assert.Contains(t, said, want)
			assert.Less(t, len(said), 600, "a sentence or two")
		} else {
			assert.Empty(t, said, name)
		}
		if name == "evil" {
			for i := range evil {
				b.after(func() { b.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`#vars a[data-num="%d"]`, i)))) })
				eval[bool](b, `[...document.querySelectorAll("details")].every((d) => d.open = true)`)
			}
			require.NotContains(t, b.text("vars"), "\u202e", "characters that turn the text around them are written as numbers")
		}
		b.harmless()
		require.Empty(t, opened("good"), name)
		require.Equal(t, "a", b.text("title"))
		require.Contains(t, b.text("stats"), "12 values from 1 to 12")
	}
	require.Less(t, b.resident(), int64(1200<<20))
	require.ElementsMatch(t, []string{data.URL, pages.URL}, hosts())
	b.mu.Lock()
	require.Empty(t, b.errors)
	b.mu.Unlock()
}

// TestJudgePageHostileServed does the same with the page of cdfz serve, and names of files.
func TestJudgePageHostileServed(t *testing.T) {
	t.Parallel()
	dir := hostileFolder(t)
	good, err := os.ReadFile(filepath.Join(dir, "good.nc.cdfz"))
	require.NoError(t, err)
	for _, e := range evil[:5] {
		name := strings.ReplaceAll(e, "/", "_")
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, name+".nc.cdfz"), good, 0o644))
	}
	at := serveQuietly(t, dir)
	b := openBrowser(t, 1000, 900)
	hosts := b.hosts()
	for _, name := range []string{"evil", "dimensions", "terabytes", "block", "claims", "zeros", "zstdbomb"} {
		b.do(chromedp.Navigate(at + "/page/?file=" + name + ".nc"))
		b.settled()
		eval[bool](b, `[...document.querySelectorAll("details")].every((d) => d.open = true)`)
		b.harmless()
	}
	b.view(&served{at: at}, "?file=good.nc")
	b.do(chromedp.SendKeys(chromedp.CSS("#files-filter"), "nc"))
	b.until(`document.querySelectorAll("#tree a").length >= 9 && !document.querySelector("#tree details:not([open])")`)
	for _, e := range evil[:5] {
		name := strings.ReplaceAll(e, "/", "_")
		b.after(func() {
			eval[bool](b, `[...document.querySelectorAll("#tree a")].find((a) => a.dataset.file === %q + "/" + %q + ".nc").click() ?? true`, name, name)
		})
		b.harmless()
	}
	require.NotContains(t, b.text("tree")+b.text("path"), "\u202e")
	require.Equal(t, []string{at}, hosts())
}
