package archive

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
)

// bounded runs f, which must allocate at most 64 MiB and 8 times size bytes and end within
// a minute. The soak runs for hours beside other work, so there it has ten.
func bounded(t testing.TB, size int64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	runtime.ReadMemStats(&after)
	if !poolsDrop {
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20+8*size), "bytes allocated")
	}
	limit := time.Minute
	if os.Getenv("CDFZ_SOAK") != "" {
		limit *= 10
	}
	require.Less(t, time.Since(start), limit)
}

// TestHostileServers checks that opening and reading archives and classic files on
// hostile servers ends in bounded time and memory.
func TestHostileServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	log.SetOutput(io.Discard) // package http logs answers that nobody asked for
	defer log.SetOutput(os.Stderr)
	image, ar := largeArchive(t)
	small := pack(t, classicFiles(t)["cdf1_climate_small.nc"], &WriteOptions{Zarr: ZarrNever})
	kinds := map[string][]byte{"classic": image, "archive": ar, "small archive": small}
	if testing.Short() {
		kinds = map[string][]byte{"archive": ar}
	}
	for kind, data := range kinds {
		for i, h := range faultsrv.Servers() {
			if testing.Short() && i%3 != 0 {
				continue
			}
			t.Run(kind+"/"+h.Name, func(t *testing.T) {
				s := httptest.NewServer(h.Handler(data))
				defer s.Close()
				defer s.CloseClientConnections()
				bounded(t, int64(len(data)), func() { useHostile(t, s.URL+faultsrv.Path) })
			})
		}
	}
}

// useHostile uses a URL as users do.
func useHostile(t testing.TB, url string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	o := &remote.Options{Timeout: 100 * time.Millisecond, Retries: 1, Sleep: (&faultsrv.Pauses{}).Sleep}
	if f, err := openWith(t, url, o, nil); err == nil {
		defer f.Close()
		for v := range f.Header().Vars {
			if n := f.Header().Vars[v].Len; n < 1<<20 {
				f.newVar(v).values.ReadAt(make([]byte, n), 0)
			}
		}
		if _, ok := f.Info(); ok {
			f.Image().Copy(ctx, nil, nil)
			f.Stored(ctx)
		}
	}
	if r, err := remote.Open(ctx, url, o); err == nil {
		defer r.Close()
		_, err := verify.Verify(ctx, r, r.Size(), nil)
		t.Logf("verify: %v", err)
		p, err := repair.Repair(ctx, r, r.Size(), nil)
		t.Logf("repair: %v", err)
		if err == nil {
			p.Close()
		}
	}
	require.NoError(t, ctx.Err())
}
