package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMalformedURLSecrets checks that messages and --json show no credentials of URLs
// that do not parse.
func TestMalformedURLSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"http://me:s3cret/x@h/y", "http://me:s3%cret@h/x?s3cret", "HTTP://me:s3cret@h:port/", "http:/me:s3cret@h/x", "s3://me:s3cret@h/x?s3cret"} {
		for _, verb := range []string{"archive", "restore", "verify", "repair", "info", "dump", "get", "bench"} {
			for _, args := range [][]string{{verb, name}, {verb, "--json", name}} {
				if verb == "get" {
					args = append(args, "v")
				}
				if verb == "dump" && args[1] == "--json" {
					continue
				}
				var out, msg bytes.Buffer
				require.NotZero(t, run(t.Context(), args, new(bytes.Buffer), &out, &msg), "%v", args)
				require.NotContains(t, out.String()+msg.String(), "s3cret", "%v", args)
			}
		}
	}
}

// urlArguments are command lines of each verb with a URL, {}, in each place for one. There is nothing at the URL,
// or it is a file that the place is not for. A verb without entries takes no URLs.
var urlArguments = map[string][]string{
	"archive": {"{}", "-o out/ {}", "--json -o out/ {}", "-o {} x.nc", "-o out/ --log {} x.nc", "-o out/ --receipts {} x.nc", "-o out/ --files-from {}", "-o out/ --delete-source --copies 2 --copy-at {} --receipts r x.nc",
		"--zarr {} x.nc", "-F {} x.nc", "--state={} x.nc", "-o out/ --log={} x.nc"},
	"restore":   {"{}", "--json -o out/ {}", "-o {} x.nc.cdfz", "--log {} x.nc.cdfz", "--salvage -o y.nc {}"},
	"copy":      {"{} y.cdfz", "x.nc.cdfz {}", "--json {} y.cdfz"},
	"verify":    {"{}", "--json {}", "--against {} x.nc.cdfz", "--state {} x.nc.cdfz", "--files-from {}"},
	"receipts":  {"{}", "--json {}", "--archives {} r", "--prove {}"},
	"repair":    {"{}", "--json {}", "-o {} x.nc.cdfz", "-o y.cdfz {}"},
	"parity":    {"{}", "-o y.cdfz {}", "-o {} x.nc.cdfz"},
	"pack":      {"{}", "-o v/ {}", "-o {} mnt", "--json -o {} mnt", "-o {}/ mnt", "-o {}.tar mnt"},
	"info":      {"{}", "--json {}", "{}.tar/x.nc.cdfz"},
	"catalogue": {"-o c.parquet {}", "-o {} x.nc.cdfz", "--state {} -o c.parquet x.nc.cdfz", "--receipts {} -o c.parquet x.nc.cdfz", "-o c.parquet {}.parquet"},
	"find":      {"--catalogue {} v", "--json --catalogue {} v"},
	"join":      {"-o j.ncml {} x.nc.cdfz", "-o {} x.nc.cdfz", "--json -o j.ncml {} {}"},
	"get":       {"{} v", "--json {} v", "-o {} x.nc.cdfz lat"},
	"dump":      {"{}", "-o {} x.nc.cdfz"},
	"mount":     {"{} mnt", "x.nc.cdfz {}", "{}"},
	"run":       {"--folder {} -- true", "--folder={} -- true"},
	"serve":     {"{}", "--listen {} .", "--auth {} .", "--host {} .", "--base-url {} .", "--tls-cert {} --tls-key {} .", "{} {}"},
	"export":    {"{} -o y.nc4", "x.nc.cdfz -o {}", "x.nc.cdfz --refs json --url {} -o {}", "--to zarr x.nc.cdfz -o {}", "--json {} -o y.zarr"},
	"gen":       {"{}", "-o {} x.cdl", "--json {}"},
	"bench":     {"{}", "--csv {} x.nc", "--plot {} x.nc", "--json {}"},
	"filters":   {"{}"},
	"plugins":   {"{}"},
	"codec":     {"{}"},
	"doctor":    {"{}", "--json {}", "netcdf {}"},
	"version":   {"{}"},
}

// TestURLArguments looks for secrets of URLs in all that the verbs print, and in the files that they write.
func TestURLArguments(t *testing.T) {
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	for _, v := range verbs {
		if v.name == "man" { // which writes manual pages, with one build tag
			continue
		}
		require.NotEmpty(t, urlArguments[v.name], "%s: its command lines with URLs must be in the table", v.name)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x.nc" {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(image))
			return
		}
		http.NotFound(w, r)
	}))
	defer srv.Close()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("x.nc", image, 0o600))
	require.NoError(t, os.Mkdir("mnt", 0o700))
	require.Zero(t, run(t.Context(), []string{"archive", "x.nc"}, nil, io.Discard, io.Discard))
	with := strings.Replace(srv.URL, "://", "://me:s3cret@", 1)
	for _, url := range []string{srv.URL + "/x.nc?X-Amz-Signature=s3cret", with + "/none?sig=s3cret&a=s3cret"} {
		for verb, lines := range urlArguments {
			for _, line := range lines {
				args := []string{verb}
				for _, arg := range strings.Fields(line) {
					args = append(args, strings.ReplaceAll(arg, "{}", url))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				var out, msg bytes.Buffer
				run(ctx, args, new(bytes.Buffer), &out, &msg)
				cancel()
				require.NotContains(t, out.String(), "s3cret", "%v: %s", args, &msg)
				require.NotContains(t, msg.String(), "s3cret", "%v", args)
			}
		}
	}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		require.NotContains(t, path, "s3cret")
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(b), "s3cret", path)
		}
		return nil
	}))
}
