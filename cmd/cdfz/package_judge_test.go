//go:build judge && linux

package main

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestJudgePackage runs the checks of the npm package in Chromium: all vectors, the archives of earlier versions, and
// every value of the archives of testdata, and of the corpus if CDFZ_CORPUS names it, as cdfz serve answers them. An archive
// in a store like S3 is read there and in node.
func TestJudgePackage(t *testing.T) {
	t.Parallel()
	sources := []string{"../../testdata/classic", ferret + "coads_climatology.cdf"}
	if corpus := os.Getenv("CDFZ_CORPUS"); corpus != "" {
		for _, dir := range []string{"real", "wild", "generated"} {
			sources = append(sources, filepath.Join(corpus, dir))
		}
	}
	archives := filepath.Join(t.TempDir(), "archives")
	out, err := self(t, append([]string{"archive", "-q", "--block", "64K", "-o", archives + "/"}, sources...)...).CombinedOutput()
	require.NoError(t, err, string(out))

	list := struct {
		Vectors  []string          `json:"vectors"`
		Compat   map[string]string `json:"compat"`
		Archives []string          `json:"archives"`
		Large    string            `json:"large"`
		Store    string            `json:"store"`
	}{Compat: map[string]string{}}
	walk := func(dir, suffix string, use func(name string)) {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, suffix) {
				name, relative := filepath.Rel(dir, path)
				require.NoError(t, relative)
				use(name)
			}
			return err
		}))
	}
	for _, dir := range []string{"good", "bad"} {
		walk("../../testdata/vectors/"+dir, "", func(name string) { list.Vectors = append(list.Vectors, dir+"/"+name) })
	}
	for _, dir := range []string{"1", "1-contexts", "1-modes"} {
		sums := map[string]string{}
		b, err := os.ReadFile("../../testdata/compat/" + dir + "/SHA256SUMS")
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			sums[name] = sum
		}
		walk("../../testdata/compat/"+dir, ".cdfz", func(name string) {
			list.Compat[dir+"/"+name] = sums[strings.TrimSuffix(name, ".cdfz")]
		})
	}
	walk(archives, ".cdfz", func(name string) {
		list.Archives = append(list.Archives, strings.TrimSuffix(name, ".cdfz"))
		if strings.HasPrefix(filepath.Base(name), "coads") {
			list.Large = strings.TrimSuffix(name, ".cdfz")
		}
	})

	large, err := os.ReadFile(filepath.Join(archives, list.Large+".cdfz"))
	require.NoError(t, err)
	store := newPresigned(t, large)
	out, err = exec.Command("node", "../../js/test/stores.mjs", store.URL).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "6\n", string(out))
	store = newPresigned(t, large)
	list.Store = store.URL

	program, err := url.Parse(serveOn(t, archives).at)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' "+store.URL)
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><script type="module" src="/js/test/browser.js"></script>`))
	})
	mux.HandleFunc("/list.json", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(list) })
	mux.Handle("/js/", http.StripPrefix("/js/", http.FileServer(http.Dir("../../js"))))
	mux.Handle("/testdata/", http.StripPrefix("/testdata/", http.FileServer(http.Dir("../../testdata"))))
	mux.Handle("/program/", http.StripPrefix("/program", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(program) }}))
	s := httptest.NewServer(mux)
	defer s.Close()

	b := openBrowser(t, 800, 600)
	b.do(chromedp.Navigate(s.URL + "/"))
	b.until("window.done !== undefined")
	done := eval[map[string]any](b, "window.done")
	require.Nil(t, done["error"], "%v", done)
	require.Greater(t, done["vectors"], 100.0)
	require.Greater(t, done["compat"], 80.0)
	require.Greater(t, done["values"], 500.0)
	require.Greater(t, done["damage"], 1000.0)
	require.Equal(t, 8.0, done["stores"])
	require.Zero(t, store.preflights.Load(), "no request needs leave")
	t.Logf("%v", done)
}
