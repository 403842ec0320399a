//go:build judge && linux

package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestJudgeProxy reads through a proxy that strips a path: the page with Chromium, its lines for other programs with
// ncdump and curl, and the lists with curl, which follows redirects.
func TestJudgeProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "x.nc"), climateImage(t), 0o644))
	s := serveOn(t, dir)
	to, err := url.Parse(s.at)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/data/", http.StripPrefix("/data", httputil.NewSingleHostReverseProxy(to)))
	proxy := httptest.NewServer(mux)
	t.Cleanup(proxy.Close)

	b := openBrowser(t, 1280, 900)
	b.do(chromedp.Navigate(proxy.URL + "/data/"))
	b.until(`document.querySelector('#tree details[data-folder="sub"] summary') !== null`)
	require.Equal(t, "/data/page/", eval[string](b, `location.pathname`))
	b.do(chromedp.Click(chromedp.CSS(`#tree details[data-folder="sub"] summary`)))
	b.after(func() { b.do(chromedp.Click(chromedp.CSS(`#tree a[data-file="sub/x.nc"]`))) })
	require.Equal(t, "sub/x.nc", eval[string](b, `document.getElementById("path").textContent`))
	address := eval[string](b, `location.href`)
	require.Contains(t, address, proxy.URL+"/data/page/?file=sub/x.nc")
	b.do(chromedp.Click(chromedp.CSS("#get summary")))
	b.until(`document.getElementById("download").href.startsWith(%q)`, proxy.URL+"/data/api/get/sub/x.nc?")
	b.do(chromedp.Click(chromedp.CSS("#lines summary")))
	dap := proxy.URL + "/data/dap/sub/x.nc"
	b.until(`document.getElementById("lines-list").textContent.includes(%q)`, "ncdump -h "+dap)
	b.do(chromedp.Navigate(address)) // as a bookmark
	b.until(`document.body.dataset.ready === "1"`)
	b.clean()

	require.Equal(t, output(dir, "ncdump", "-h", s.at+"/dap/sub/x.nc"), output(dir, "ncdump", "-h", dap))
	for _, at := range []string{"/data/files/sub", "/data/dap/sub"} {
		require.Contains(t, output(dir, "curl", "-sSfL", proxy.URL+at), ">x.nc</a>")
	}
}
