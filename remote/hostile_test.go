package remote

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/faultsrv"
)

// TestHostile checks that opening and reading end soon, whatever a server does, and
// that they allocate for the requested bytes and not for claimed ones.
func TestHostile(t *testing.T) {
	log.SetOutput(io.Discard) // the transport logs unsolicited answers
	defer log.SetOutput(os.Stderr)
	data := random(100_000)
	for _, h := range faultsrv.Servers() {
		t.Run(h.Name, func(t *testing.T) {
			s := httptest.NewServer(h.Handler(data))
			defer s.Close()
			defer s.CloseClientConnections()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			f, err := Open(context.Background(), s.URL+faultsrv.Path, &Options{
				Timeout: 100 * time.Millisecond, Retries: 1, Sleep: (&faultsrv.Pauses{}).Sleep})
			if err == nil {
				p := make([]byte, 5000)
				for _, off := range []int64{0, 4000, 50_000, f.Size() / 2, f.Size() - 6000, f.Size() - 1, f.Size(), f.Size() + 1} {
					if off >= 0 {
						_, err = f.ReadAt(p, off)
					}
				}
				f.Preload(context.Background(), 10_000)
				f.CheckTail(context.Background())
				f.Close()
			}
			runtime.ReadMemStats(&after)
			t.Logf("%d KiB, %v: %v", (after.TotalAlloc-before.TotalAlloc)>>10, time.Since(start).Round(time.Millisecond), err)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
			require.Less(t, time.Since(start), 10*time.Second)
		})
	}
}

// TestHeaderLimit checks that the shared client limits the response header over HTTP/2
// as well.
func TestHeaderLimit(t *testing.T) {
	data := random(10_000)
	for _, length := range []int{10_000, 2 * maxResponseHeader} {
		s := faultsrv.New(data)
		s.ETag = `"` + strings.Repeat("x", length) + `"`
		s.Server = httptest.NewUnstartedServer(s)
		s.EnableHTTP2 = true
		s.StartTLS()
		defer s.Close()
		tr := sharedClient().Transport.(*http.Transport).Clone()
		tr.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		tr.ForceAttemptHTTP2 = true
		_, err := open(t, s, Options{Client: &http.Client{Transport: tr}, Retries: -1})
		if length < maxResponseHeader {
			require.NoError(t, err)
		} else {
			sourceFailed(t, err)
			t.Log(err)
		}
	}
}
