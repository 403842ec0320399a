package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

// TestURL checks that every verb that reads a FILE also takes a URL, with the same
// results as for the file.
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
	whole, err := os.ReadFile("www/x.nc.cdfz")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("www/a folder", 0o755))
	require.NoError(t, os.WriteFile("www/a folder/x%.nc.cdfz", whole, 0o644))
	for _, from := range []string{srv.URL + "/a%20folder/x%25.nc.cdfz?token=secret", srv.URL + "/a%20folder/?token=secret"} {
		bad := bytes.Clone(whole)
		bad[len(bad)/2] ^= 1
		require.NoError(t, os.WriteFile("x%.nc.cdfz", bad, 0o644))
		code, out, msg := cdfz("repair", "--from", from, "x%.nc.cdfz")
		require.Zero(t, code, msg)
		require.Contains(t, out, ", 1 byte taken from "+srv.URL)
		require.NotContains(t, out+msg, "secret")
	}

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

// TestURLSecrets checks that reports, targets and archives do not contain the query of
// a URL.
func TestURLSecrets(t *testing.T) {
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("out", 0o755))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x.nc" {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(image))
			return
		}
		http.ServeFile(w, r, "out/x.nc.cdfz")
	}))
	defer srv.Close()
	source, made := srv.URL+"/x.nc?key=a/secret", srv.URL+"/x.nc.cdfz?key=a/secret"
	for _, args := range [][]string{
		{"archive", "-o", "out", source}, {"archive", "-f", "--json", "-o", "out", source}, {"dump", "-h", source}, {"dump", "-h", made}, {"info", made},
		{"info", "--json", "--blocks", made}, {"verify", made}, {"verify", "--json", made}, {"restore", "-o", "out", made}, {"restore", "-f", "--json", "-o", "out", made},
		{"get", "--json", "--format", "raw", "-o", "out", made, "lat"}, {"bench", "--json", "--blocks", "64K", "--chains", "fast", "--count", "1", source},
	} {
		var out, msg bytes.Buffer
		code := run(t.Context(), args, new(bytes.Buffer), &out, &msg)
		require.Zero(t, code, "%v: %s", args, &msg)
		require.NotContains(t, out.String()+msg.String(), "secret", "%v", args)
		if args[0] == "dump" {
			require.True(t, strings.HasPrefix(out.String(), "netcdf x {"), "%s", &out)
		}
	}
	require.ElementsMatch(t, []string{"x.nc", "x.nc.cdfz", "lat.raw"}, names(t, "out"))
	r, err := archive.Open(t.Context(), "out/x.nc.cdfz", nil)
	require.NoError(t, err)
	defer r.Close()
	i, ok := r.Info()
	require.True(t, ok)
	require.Equal(t, "x.nc", i.ImageName)
}
