package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestURL: every verb that reads a FILE takes a URL, and says of it what it says of
// the file.
func TestURL(t *testing.T) {
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("www", 0o755))
	require.NoError(t, os.WriteFile("www/x.nc", image, 0o644))
	srv := httptest.NewServer(http.FileServer(http.Dir("www")))
	defer srv.Close()
	cdfz := func(args ...string) (int, string, string) {
		var out, msg bytes.Buffer
		code := run(t.Context(), args, new(bytes.Buffer), &out, &msg)
		return code, out.String(), msg.String()
	}

	code, _, msg := cdfz("archive", "-q", srv.URL+"/x.nc?token=secret")
	require.Zero(t, code, msg)
	require.NoError(t, os.Rename("x.nc.cdfz", "www/x.nc.cdfz"))
	url := srv.URL + "/x.nc.cdfz"

	code, out, msg := cdfz("verify", url)
	require.Zero(t, code, msg)
	require.Equal(t, url+": ok\n", out)

	code, out, _ = cdfz("info", url)
	require.Zero(t, code)
	_, want, _ := cdfz("info", "www/x.nc.cdfz")
	require.Equal(t, len(bytes.Split([]byte(want), []byte("\n"))), len(bytes.Split([]byte(out), []byte("\n"))))

	code, _, msg = cdfz("restore", "-q", url)
	require.Zero(t, code, msg)
	back, err := os.ReadFile("x.nc")
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, back))

	code, _, msg = cdfz("repair", url)
	require.Equal(t, 1, code)
	require.Contains(t, msg, "in place")
	code, _, msg = cdfz("repair", "-o", "repaired.cdfz", url)
	require.Zero(t, code, msg)

	for _, verb := range []string{"dump", "get"} {
		args := []string{verb, url}
		if verb == "get" {
			args = append(args, "lat")
		}
		code, out, msg = cdfz(args...)
		require.Zero(t, code, msg)
		args[1] = filepath.Join("www", "x.nc.cdfz")
		_, want, _ := cdfz(args...)
		require.Equal(t, want, out, verb)
	}

	code, _, msg = cdfz("verify", srv.URL+"/nosuch.cdfz?token=secret")
	require.Equal(t, 1, code)
	require.NotContains(t, msg, "secret")
}
