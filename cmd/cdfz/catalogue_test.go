package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCatalogueRequests checks what an archive and a catalogue at a URL cost: a request for the end of an
// archive, one for its structure unless the end contains it, and one for each coordinate at most.
func TestCatalogueRequests(t *testing.T) {
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var requests atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.FileServer(http.Dir(".")).ServeHTTP(w, r)
	}))
	defer srv.Close()
	require.NoError(t, os.WriteFile("x.nc", image, 0o644))
	cdfz := func(args ...string) (int, string) {
		t.Helper()
		var out, msg bytes.Buffer
		code := run(t.Context(), args, new(bytes.Buffer), &out, &msg)
		require.Empty(t, msg.String())
		return code, out.String()
	}
	// More than fits the end that is read first.
	code, _ := cdfz("archive", "-q", "--preset", "portable", "-F", "*,none", "x.nc")
	require.Zero(t, code)
	url := srv.URL + "/x.nc.cdfz"
	code, _ = cdfz("catalogue", "-q", "-o", "cat.parquet", url)
	require.Zero(t, code)
	t.Logf("%d requests", requests.Load())
	require.LessOrEqual(t, requests.Load(), int64(5)) // lat, lon, time
	code, out := cdfz("find", "--catalogue", srv.URL+"/cat.parquet", "tas", "--time", "2002-12")
	require.Zero(t, code)
	require.Equal(t, url+"\n", out)
	code, out = cdfz("catalogue", "-o", "local.parquet", "x.nc.cdfz", srv.URL+"/cat.parquet")
	require.Zero(t, code)
	require.Contains(t, out, "local.parquet: 2 files, ")
}
