//go:build judge && linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
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

// TestJudgePageAxe checks the page with axe-core, by the rules of WCAG 2.2, level AA, and its best practices: five kinds
// of files, in light and dark, wide and narrow.
func TestJudgePageAxe(t *testing.T) {
	axe, err := os.ReadFile("../../js/node_modules/axe-core/axe.min.js")
	require.NoError(t, err, "run .ci/deps")
	names := []string{"global", "icon", "stations", "profile", "damaged"}
	at := serveQuietly(t, kindArchives(t, names...))
	b := openBrowser(t, 1280, 900)
	// The first one has a second map, the difference, arrows and another plot.
	queries := []string{"global.nc&var=SST&at=6,y,x&point=6,45,80&with=AIRT&compare=both&arrows=1&plot=hovmoller"}
	for _, name := range names {
		queries = append(queries, name+".nc")
	}
	for _, name := range queries {
		for _, width := range []int64{1280, 390} {
			for _, theme := range []string{"light", "dark"} {
				b.theme(theme)
				b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(at+"/page/?file="+name))
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
