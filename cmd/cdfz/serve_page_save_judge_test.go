//go:build judge && linux

package main

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// downloads makes the browser keep downloads in a folder, and returns a function that clicks a button and returns the path
// of the file that comes.
func (b *browser) downloads() func(id, name string) string {
	b.t.Helper()
	dir := b.t.TempDir()
	_, err := chromedp.Call(b.ctx, protocol.SetDownloadBehavior, protocol.SetDownloadBehaviorParams{Behavior: protocol.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir})
	require.NoError(b.t, err)
	return func(id, name string) string {
		b.t.Helper()
		require.True(b.t, eval[bool](b, `(document.getElementById(%q).click(), true)`, id))
		path := filepath.Join(dir, name)
		// Chromium may give the file its name before all bytes are there.
		size := int64(0)
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			if text, err := os.ReadFile(path); err == nil && len(text) > 0 && text[0] != 0 {
				if int64(len(text)) == size {
					return path
				}
				size = int64(len(text))
			}
			if strings.HasPrefix(b.text("save-error"), "The browser recorded no video.") { // when the machine has much to do
				require.True(b.t, eval[bool](b, `(document.getElementById(%q).click(), true)`, id))
				continue
			}
			require.Empty(b.t, b.text("save-error"))
			list, _ := filepath.Glob(dir + "/*")
			require.True(b.t, time.Now().Before(end), "waiting for %s, found %s", name, list)
		}
	}
}

// pillow opens a picture in Python, and prints what an expression of its frames makes.
func pillow(t *testing.T, path, expression string) string {
	t.Helper()
	out, ok := strings.CutSuffix(output(t.TempDir(), "/usr/bin/python3", "-c", fmt.Sprintf(`from PIL import Image, ImageSequence
im = Image.open(%q)
im.load()
frames = [f.convert("RGB") for f in ImageSequence.Iterator(im)]
print(%s)`, path, expression)), "<nil>")
	require.True(t, ok, out)
	return strings.TrimSpace(out)
}

// TestJudgeSave saves the map, a series and an animation, and opens the files with other programs.
func TestJudgeSave(t *testing.T) {
	t.Parallel()
	const steps = 12
	originals, archives := archived(t, map[string][]byte{"waves.nc": waves(t, steps, days)})
	viewer := filepath.Join(t.TempDir(), "viewer")
	out, err := self(t, "export", "--viewer", viewer).CombinedOutput()
	require.NoError(t, err, string(out))
	s := serveOn(t, archives)
	b := openBrowser(t, 900, 900)
	save := b.downloads()
	keep := func(path string) {
		if dir := os.Getenv("CDFZ_SCREENSHOTS"); dir != "" {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "save-"+filepath.Base(path)), text, 0o644))
		}
	}

	b.view(s, "?file=waves.nc&var=height&at=3,y,x&point=3,90,10&from=-1&to=1&frames=0:12:3&speed=20")
	b.until(`Boolean(document.getElementById("series")?.dataset.values)`)
	b.do(chromedp.Click(chromedp.CSS("#save summary")))
	b.shot("save")
	png := save("save-map-png", "waves-height-3.png")
	keep(png)
	require.Equal(t, "PNG", pillow(t, png, "im.format"))
	// The middle of the map in the picture has a colour of the map.
	require.Equal(t, "True", pillow(t, png, `len(frames[0].getcolors(1 << 24)) > 200 and frames[0].getpixel((2, 2)) == (255, 255, 255)`))
	series := save("save-series-png", "waves-height-series.png")
	keep(series)
	require.Equal(t, "True", pillow(t, series, `(11, 92, 173) in [c for _, c in frames[0].getcolors(1 << 24)]`))

	svg := func(path string, texts ...string) string {
		t.Helper()
		keep(path)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var words []string
		d := xml.NewDecoder(bytes.NewReader(text))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if c, ok := token.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
				words = append(words, string(c))
			}
		}
		for _, want := range texts {
			require.Contains(t, words, want)
		}
		return string(text)
	}
	text := svg(save("save-map-svg", "waves-height-3.svg"), "wave height", "height, m · waves.nc", "time 2001-01-04", "30°N", "60°E", "0.5", "↑ lat", "lon →")
	require.Equal(t, 2, strings.Count(text, "<image "), "the cells, and the pattern of missing values")
	_, encoded, _ := strings.Cut(text, `href="data:image/png;base64,`)
	encoded, _, _ = strings.Cut(encoded, `"`)
	cells, err := base64.StdEncoding.DecodeString(encoded)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "cells.png")
	require.NoError(t, os.WriteFile(file, cells, 0o644))
	require.Equal(t, eval[string](b, `(({ w, h }) => "(" + w + ", " + h + ")")(JSON.parse(document.getElementById("map-canvas").dataset.box))`), pillow(t, file, "im.size"))
	text = svg(save("save-series-svg", "waves-height-series.svg"), "wave height", "↑ height (m)", "time →", "2001-01-01")
	require.NotContains(t, text, "<image ", "only lines")
	require.Contains(t, text, `stroke="#0b5cad"`)

	csv, err := os.ReadFile(save("save-map-csv", "waves-height-3.csv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(csv), "\n"), "\n")
	require.Len(t, lines, 1+180*360)
	require.Equal(t, "time,lat (degrees_north),lon (degrees_east),height (m)", lines[0])
	values := pythonValues(t, filepath.Join(originals, "waves.nc"), `["height"][3, 90]`)
	require.Equal(t, fmt.Sprintf("2001-01-04T00:00:00,0.5,10.5,%v", float32(*values[10])), lines[1+90*360+10])
	csv, err = os.ReadFile(save("save-series-csv", "waves-height-series.csv"))
	require.NoError(t, err)
	require.Len(t, strings.Split(strings.TrimSpace(string(csv)), "\n"), 1+steps)
	require.Contains(t, string(csv), fmt.Sprintf("\n0.5,10.5,2001-01-04T00:00:00,%v\n", float32(*values[10])))

	// Other plots are saved where the series is.
	b.view(s, "?file=waves.nc&var=height&at=3,y,x&point=3,90,10&from=-1&to=1&plot=hovmoller")
	keep(save("save-series-png", "waves-height-hovmoller.png"))
	svg(save("save-series-svg", "waves-height-hovmoller.svg"), "lon →")
	csv, err = os.ReadFile(save("save-series-csv", "waves-height-hovmoller.csv"))
	require.NoError(t, err)
	require.Len(t, strings.Split(strings.TrimSpace(string(csv)), "\n"), 1+steps*360)
	b.view(s, "?file=waves.nc&var=height&at=3,y,x&plot=means")
	b.until(`(document.getElementById("zonal")?.dataset.values ?? "") !== ""`)
	svg(save("save-series-svg", "waves-height-means.svg"), "height (m) →")
	b.view(s, "?file=waves.nc&var=height&at=3,y,x&point=3,90,10&from=-1&to=1&frames=0:12:3&speed=20")

	// Animations: frames 0, 3, 6 and 9, which are not the same.
	gif := save("save-frames-gif", "waves-height.gif")
	keep(gif)
	require.Equal(t, "GIF 4 [50, 50, 50, 50] 4", pillow(t, gif, `" ".join(str(x) for x in (im.format, im.n_frames, [f.info["duration"] for f in ImageSequence.Iterator(im)], len({f.tobytes() for f in frames})))`))
	packed := save("save-frames-zip", "waves-height.zip")
	list := output(filepath.Dir(packed), "unzip", "-tq", packed)
	require.Contains(t, list, "No errors detected")
	z, err := zip.OpenReader(packed)
	require.NoError(t, err)
	defer z.Close()
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"waves-height-00000.png", "waves-height-00003.png", "waves-height-00006.png", "waves-height-00009.png"}, names)
	r, err := z.File[1].Open()
	require.NoError(t, err)
	second, err := io.ReadAll(r)
	require.NoError(t, err)
	first, err := os.ReadFile(png)
	require.NoError(t, err)
	require.True(t, bytes.Equal(first, second), "the picture of a frame is that of its map")
	video, err := os.ReadFile(save("save-frames-webm", "waves-height.webm"))
	require.NoError(t, err)
	require.Equal(t, []byte{0x1a, 0x45, 0xdf, 0xa3}, video[:4], "EBML")
	require.Contains(t, string(video[:100]), "webm")
	require.Equal(t, "9", eval[string](b, `document.getElementById("at-0").value`), "the last frame is shown")
	b.clean()

	// Without a server, from a file.
	b.do(chromedp.Navigate("file://" + viewer + "/index.html"))
	archive, err := os.ReadFile(filepath.Join(archives, "waves.nc.cdfz"))
	require.NoError(t, err)
	require.Equal(t, len(archive), eval[int](b, `(() => {
  const bytes = Uint8Array.from(atob(%q), (c) => c.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], "dropped.nc.cdfz"));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  return bytes.length;
})()`, base64.StdEncoding.EncodeToString(archive)))
	b.until(`Number(document.body?.dataset.ready ?? 0) > 0`)
	require.Equal(t, "12", pillow(t, save("save-frames-gif", "dropped-height.gif"), "im.n_frames"))
	b.clean()

	// A browser that records no video.
	_, err = chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: "delete window.MediaRecorder"})
	require.NoError(t, err)
	b.view(s, "?file=waves.nc&var=height&at=3,y,x")
	require.Contains(t, b.text("save-frames-note"), "records no WebM video")
	require.True(t, eval[bool](b, `document.getElementById("save-frames-webm").disabled`))

	// A section through time has frames, too, which are read once.
	b.view(s, "?file=waves.nc&var=height&at=0,x,5&speed=30&loop=0")
	n := b.requests()
	b.after(func() { b.do(chromedp.Click(chromedp.CSS("#play"))) })
	require.Equal(t, "11", eval[string](b, `document.getElementById("at-0").value`))
	require.Equal(t, steps-1, b.requests()-n)
	save = b.downloads()
	csv, err = os.ReadFile(save("save-series-csv", "waves-height-series.csv"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(csv), "time,lon (degrees_east),lat (degrees_north),height (m)\n2001-01-12T00:00:00,5.5,-89.5,"), string(csv[:100]))
	b.clean()
}
