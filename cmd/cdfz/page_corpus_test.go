//go:build corpus && judge && linux

package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// shownTexts waits until the page has been at rest for a while, and returns what it shows: texts, and which sections there are.
const shownTexts = `(async () => {
  const id = (name) => document.getElementById(name);
  const texts = () => ["title", "subtitle", "stats", "missing", "note", "bar-note", "series-where", "text", "message"].map((name) => id(name).textContent).
    concat(["map", "series", "text"].filter((name) => !id(name + "-section").hidden).join(), id("series").dataset.values ?? "");
  for (let last = "", since = performance.now(); ; await new Promise((r) => setTimeout(r, 20))) {
    const now = JSON.stringify(texts());
    if (now !== last || !(Number(document.body.dataset.ready ?? 0) > 0 || !id("message").hidden) || document.body.dataset.choosing) [last, since] = [now, performance.now()];
    else if (performance.now() - since > 150) return texts();
  }
})()`

// TestCorpusPage opens every fiftieth file of the corpus, also of those found in the wild, by cdfz serve and by the viewer without a
// server; in the soak, all files. No script may fail. Both must show the same: a map, a series, a text, or the reason why there is none.
func TestCorpusPage(t *testing.T) {
	archives := t.TempDir()
	step := 50
	if os.Getenv("CDFZ_SOAK") != "" {
		step = 1
	}
	for _, dir := range []string{"real", "wild", "generated"} {
		files, err := filepath.Glob(filepath.Join(corpus.Dir(t), dir, "*"))
		require.NoError(t, err)
		files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, ".json") })
		args := []string{"archive", "-q", "--decompress", "-o", filepath.Join(archives, dir) + "/"}
		for i := 0; i < len(files); i += step {
			args = append(args, files[i])
		}
		out, err := self(t, args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	viewer := filepath.Join(t.TempDir(), "viewer")
	out, err := self(t, "export", "--viewer", viewer).CombinedOutput()
	require.NoError(t, err, string(out))
	at := serveQuietly(t, archives)
	static := httptest.NewServer(http.FileServer(http.Dir(viewer)))
	defer static.Close()
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "Content-Range, ETag")
		http.ServeFile(w, r, filepath.Join(archives, filepath.FromSlash(r.URL.Path)))
	}))
	defer data.Close()
	names, err := filepath.Glob(filepath.Join(archives, "*", "*.cdfz"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for some := range slices.Chunk(names, 25) {
		t.Run("", func(t *testing.T) {
			b := openBrowser(t, 1000, 800)
			open := func(address, file string) []string {
				t.Helper()
				b.errors = nil
				b.do(chromedp.Navigate(address + url.QueryEscape(file)))
				b.settled()
				texts := eval[[]string](b, shownTexts)
				texts[8] = strings.TrimPrefix(texts[8], file+": ")
				if len(b.errors) > 0 {
					t.Errorf("%s: %q", address+file, b.errors)
				}
				if texts[9] == "" && texts[8] == "" {
					t.Errorf("%s: nothing is shown", address+file)
				}
				return texts
			}
			for _, name := range some {
				name, err := filepath.Rel(archives, name)
				require.NoError(t, err)
				want := open(at+"/page/?file=", strings.TrimSuffix(name, ".cdfz"))
				got := open(static.URL+"/?url=", data.URL+"/"+(&url.URL{Path: name}).EscapedPath())
				if !slices.Equal(want, got) {
					t.Errorf("%s: the viewer differs from cdfz serve:\n%q\n%q", name, want, got)
				}
			}
		})
	}
}
