//go:build judge && linux

package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// distant serves folders as a host that is some time away: each request takes that long, and each connection as long again.
// It returns the address and a function with the ranges of the requests so far, which it forgets.
func distant(t *testing.T, away time.Duration, dir string) (string, func() []string) {
	t.Helper()
	type key struct{}
	var mu sync.Mutex
	var asked []string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Range"))
		mu.Unlock()
		time.Sleep(away)
		if !r.Context().Value(key{}).(*atomic.Bool).Swap(true) {
			time.Sleep(away)
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "Content-Range, ETag")
		w.Header().Set("ETag", `"1"`)
		http.ServeFile(w, r, filepath.Join(dir, filepath.Clean("/"+r.URL.Path)))
	}))
	s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, key{}, new(atomic.Bool))
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := asked
		asked = nil
		return out
	}
}

// TestJudgeViewerSpeed opens an archive from a host 50 ms away in the viewer on another one, with empty caches, and prints the
// time until the map is there. It counts requests. CDFZ_VIEWER_ARCHIVE names another archive.
func TestJudgeViewerSpeed(t *testing.T) {
	file := os.Getenv("CDFZ_VIEWER_ARCHIVE")
	if file == "" {
		_, archives := archived(t, map[string][]byte{"waves.nc": waves(t, 12, days)})
		file = filepath.Join(archives, "waves.nc.cdfz")
	}
	stat, err := os.Stat(file)
	require.NoError(t, err)
	viewer := filepath.Join(t.TempDir(), "viewer")
	out, err := self(t, "export", "--viewer", viewer).CombinedOutput()
	require.NoError(t, err, string(out))
	pages, pageRequests := distant(t, 50*time.Millisecond, viewer)
	data, dataRequests := distant(t, 50*time.Millisecond, filepath.Dir(file))
	var times []float64
	for range 3 {
		b := openBrowser(t, 1280, 900)
		b.do(chromedp.Navigate(pages + "/?url=" + data + "/" + filepath.Base(file)))
		b.until(`Number(document.body?.dataset.ready ?? 0) > 0`)
		times = append(times, eval[float64](b, `Number(document.body.dataset.first)`))
		requests := dataRequests()
		t.Logf("archive of %d bytes: %d requests for the page, %d for the archive: %q; map after %.0f ms", stat.Size(), len(pageRequests()), len(requests), requests, times[len(times)-1])
		// The beginning, the end, and the blocks.
		require.LessOrEqual(t, len(requests), 4)
		b.shot("viewer-speed")
		b.clean()
	}
	slices.Sort(times)
	t.Logf("map after %.0f ms (median)", times[1])
}
