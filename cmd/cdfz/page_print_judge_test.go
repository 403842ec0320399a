//go:build judge && linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestJudgePagePrint prints the page in the dark: map, legend, series, title and address are on paper, in light colours, and no controls.
func TestJudgePagePrint(t *testing.T) {
	t.Parallel()
	s := serveOn(t, kindArchives(t, "global"))
	b := openBrowser(t, 1000, 900)
	b.theme("dark")
	b.view(s, "?file=global.nc&var=SST&at=6,y,x&point=6,45,80")
	b.until(`Boolean(document.getElementById("series").dataset.values)`)
	// What the page draws for paper, and for the screen after that.
	eval[bool](b, `addEventListener("beforeprint", () => { window.paper = getComputedStyle(document.body).backgroundColor; }) ?? true`)
	pdf, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{})
	require.NoError(t, err)
	if dir := os.Getenv("CDFZ_SCREENSHOTS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "print.pdf"), pdf.Data, 0o644))
	}
	require.Equal(t, "rgb(255, 255, 255)", eval[string](b, `window.paper`))
	require.Equal(t, "rgb(20, 24, 28)", eval[string](b, `getComputedStyle(document.body).backgroundColor`))
	require.Equal(t, eval[string](b, `location.href`), b.text("printed-address"))
	require.Contains(t, b.text("printed"), "global.nc · TIME: 0000-07-16")

	_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(t, err)
	seen := func(selector string) []string {
		return eval[[]string](b, `[...document.querySelectorAll(%q)].filter((e) => e.offsetParent !== null).map((e) => e.id || e.tagName)`, selector)
	}
	require.Equal(t, []string{"title", "printed", "paper", "bar", "series", "printed-address"}, seen("#title, #printed, #paper, #map, #bar, #series, #printed-address"))
	require.Empty(t, seen("button, input, select, summary, nav, footer"))
	b.clean()
}
