//go:build judge && linux

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/serve/server"
)

// theme sets the colour scheme.
func (b *browser) theme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	require.NoError(b.t, err)
}

// settled waits until the page has shown a file, or said why it cannot.
func (b *browser) settled() {
	b.t.Helper()
	b.until(`Number(document.body?.dataset.ready ?? 0) > 0 || (document.getElementById("message") !== null && !document.getElementById("message").hidden)`)
}

// serveQuietly serves a folder, whose files may be damaged, and returns the address.
func serveQuietly(t *testing.T, dir string) string {
	t.Helper()
	h, err := server.New(dir, nil)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- h.Serve(ctx, l, nil) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	return "http://" + l.Addr().String()
}

// TestJudgePageAxe checks the page with axe-core, by the rules of WCAG 2.2, level AA, and its best practices: seven kinds
// of files, in light and dark, wide and narrow, and the viewer without a server.
func TestJudgePageAxe(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("../../js/node_modules/axe-core/axe.min.js")
	require.NoError(t, err, "run .ci/deps")
	names := []string{"global", "icon", "stations", "profile", "damaged"}
	dir := kindArchives(t, append(names, "ocean")...)
	at := serveQuietly(t, dir)
	// The viewer without a server is beside its archives.
	out, err := self(t, "export", "--viewer", filepath.Join(dir, "viewer")).CombinedOutput()
	require.NoError(t, err, string(out))
	static := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(static.Close)
	b := openBrowser(t, 1280, 900)
	// The first one has a second map, the difference, arrows and another plot.
	queries := []string{"global.nc&var=SST&at=6,y,x&point=6,45,80&with=AIRT&compare=both&arrows=1&plot=hovmoller"}
	for _, name := range names {
		queries = append(queries, name+".nc")
	}
	viewer := static.URL + "/viewer/index.html?url=" + static.URL + "/"
	queries = append(queries, "ocean.nc&var=thetao&at=0,0,y,x&point=0,0,30,40&plot=profile&contours=1", "icon.nc&plot=means", viewer+"ocean.nc.cdfz&var=thetao&plot=means&with=nav_lat&compare=both")
	for i, name := range queries {
		widths := []int64{1280, 390}
		if i > len(names) { // the same panels as before, with other plots
			widths = widths[:1]
		}
		for _, width := range widths {
			for _, theme := range []string{"light", "dark"} {
				if len(widths) > 1 && (width == 390) != (theme == "dark") && os.Getenv("CDFZ_SOAK") == "" {
					continue // each width in one theme
				}
				b.theme(theme)
				address := name
				if !strings.HasPrefix(name, "http") {
					address = at + "/page/?file=" + name
				}
				b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(address))
				b.settled()
				if strings.Contains(name, "with=") {
					b.until(`!document.getElementById("twins").hidden`)
				}
				eval[bool](b, "%s; true", axe)
				found := eval[[]string](b, `(async () => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  await new Promise((r) => setTimeout(r, 100));
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.map((v) => v.impact + " " + v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120) + " " + n.failureSummary.split("\n")[1]).join(" | "));
})()`)
				assert.Empty(t, found, fmt.Sprintf("%s, %d px, %s", name, width, theme))
				assert.LessOrEqual(t, eval[int64](b, `document.documentElement.scrollWidth`), width, name)
			}
		}
	}
}
