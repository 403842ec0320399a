//go:build judge && linux

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestJudgeSite makes the site, which checks its links, and compares the figures of its front page with the results. A page that
// loads something from the network, and a link to nothing, must fail.
func TestJudgeSite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := exec.Command("../../.ci/site/build", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	b, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	name := regexp.MustCompile(`/(bench/results/[0-9-]+ratio\.txt)"`).FindSubmatch(b)
	require.NotNil(t, name)
	results, err := os.ReadFile("../../" + string(name[1]))
	require.NoError(t, err)
	bars := regexp.MustCompile(`--n:([0-9.]+)">([0-9.]+)<`).FindAllSubmatch(b, -1)
	require.Len(t, bars, 5)
	for _, bar := range bars {
		require.Regexp(t, ` `+regexp.QuoteMeta(string(bar[1]))+`(\s|$)`, string(results))
		ratio, err := strconv.ParseFloat(string(bar[1]), 64)
		require.NoError(t, err)
		shown, err := strconv.ParseFloat(string(bar[2]), 64)
		require.NoError(t, err)
		require.InDelta(t, ratio, shown, 0.00501)
	}
	for name, text := range map[string]string{
		"load": `<script src="https://example.org/x.js"></script>`, "link": `<a href="nowhere.html">x</a>`, "part": `<a href="index.html#nowhere">x</a>`,
	} {
		page := filepath.Join(dir, "fault.html")
		require.NoError(t, os.WriteFile(page, []byte(text), 0o666))
		require.Error(t, exec.Command("../../.ci/site/check", dir).Run(), name)
		require.NoError(t, os.Remove(page))
	}
	require.NoError(t, exec.Command("../../.ci/site/check", dir).Run())

	// In a browser: no page is wider than a window of a phone or of a desktop, in light and dark, and the search finds a page.
	at := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer at.Close()
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	require.NoError(t, err)
	require.Greater(t, len(pages), 30)
	for _, width := range []int{390, 1280} {
		b := openBrowser(t, width, 900)
		for _, theme := range []string{"light", "dark"} {
			_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
			})
			require.NoError(t, err)
			for _, page := range pages {
				// What is too wide is so first for a phone.
				if (theme == "dark" || width > 390 && os.Getenv("CDFZ_SOAK") == "") && filepath.Base(page) != "index.html" {
					continue
				}
				b.do(chromedp.Navigate(at.URL + "/" + filepath.Base(page)))
				require.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), width, page)
			}
			eval[any](b, `localStorage.clear()`) // the site keeps what was chosen
			b.do(chromedp.Navigate(at.URL + "/index.html"))
			scheme := map[string]string{"light": "default", "dark": "slate"}[theme]
			b.until(`document.body.dataset.mdColorScheme === %q`, scheme)
			b.shot(fmt.Sprint("site-", theme, width))
		}
		if width > 1000 {
			b.do(chromedp.Navigate(at.URL + "/index.html?q=parity"))
			b.until(`[...document.querySelectorAll(".md-search-result__link")].some((a) => a.href.includes("parity.html"))`)
		}
		b.clean()
	}
}
