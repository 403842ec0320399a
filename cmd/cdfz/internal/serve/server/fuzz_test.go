package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzRequest requests any path with any query. Nothing outside of the source and no hidden
// file is in an answer, and no request panics.
func FuzzRequest(f *testing.F) {
	s := seeds.Of(f)
	for name, path := range map[string]string{"list": "/files/", "image": "/files/a.nc", "up": "/files/../secret.txt", "link": "/files/link", "linked-folder": "/files/up/secret.txt",
		"hidden": "/files/.secret.txt", "zero": "/files/a\x00.nc", "backslash": `/files/..\secret.txt`, "dds": "/dap/a.nc.dds", "dap-up": "/dap/../secret.txt.dds", "metrics": "/metrics"} {
		s.Add(name, path, "", "")
	}
	s.Add("range", "/files/a.nc", "", "bytes=0-9,20-29")
	s.Add("huge-range", "/files/a.nc", "", "bytes=9223372036854775807-")
	s.Add("dods", "/dap/a.nc.dods", "tas[0:1][0][0:2:4]", "")
	s.Add("page-up", "/page/../page.go", "", "")
	s.Add("meta", "/api/meta/a.nc", "", "")
	s.Add("values", "/api/values/a.nc", "var=9&at=0,y,x&max=3", "")
	s.Add("blocks", "/api/blocks/a.nc", "var=9", "")
	s.Add("get", "/api/get/a.nc", "select=tas[0]&format=nc", "")
	s.Add("ascii", "/dap/a.nc.ascii", "time,stamp", "")
	const secret = "what nobody may read"
	top := f.TempDir()
	dir := filepath.Join(top, "src")
	require.NoError(f, os.Mkdir(dir, 0o755))
	image, err := os.ReadFile("../../../../../testdata/classic/cdf1_climate_small.nc")
	require.NoError(f, err)
	for name, b := range map[string][]byte{"secret.txt": []byte(secret), "src/.secret.txt": []byte(secret), "src/a.nc": image} {
		require.NoError(f, os.WriteFile(filepath.Join(top, name), b, 0o644))
	}
	for from, to := range map[string]string{"link": "../secret.txt", "up": "..", "root": "/"} {
		_ = os.Symlink(to, filepath.Join(dir, from)) // where there are links
	}
	server, err := New(dir, nil)
	require.NoError(f, err)
	f.Cleanup(server.close)
	f.Fuzz(func(t *testing.T, path, query, ranges string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = "localhost"
		r.URL = &url.URL{Path: path, RawQuery: query}
		r.Header.Set("Range", ranges)
		w := httptest.NewRecorder()
		server.http.Handler.ServeHTTP(w, r)
		require.NotContains(t, w.Body.String(), secret)
	})
}
