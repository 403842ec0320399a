package main

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// TestObjects archives to an object store and reads from it with every verb that reads.
func TestObjects(t *testing.T) {
	back := s3mem.New()
	require.NoError(t, back.CreateBucket("bucket"))
	store := gofakes3.New(back).Server()
	var expired atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if expired.Load() {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"))
			return
		}
		store.ServeHTTP(w, r)
	}))
	defer srv.Close()
	dir := t.TempDir()
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL_S3": srv.URL, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_CONFIG_FILE": filepath.Join(dir, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"), "TMPDIR": filepath.Join(dir, "tmp"),
	} {
		t.Setenv(k, v)
	}
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	other, err := os.ReadFile("../../testdata/classic/cdf1_bits.nc")
	require.NoError(t, err)
	t.Chdir(dir)
	require.NoError(t, os.MkdirAll("tree/sub", 0o755))
	require.NoError(t, os.Mkdir("tmp", 0o755))
	require.NoError(t, os.WriteFile("tree/sub/y.nc", image, 0o644))
	require.NoError(t, os.WriteFile("x.nc", image, 0o644))
	cdfz := func(args ...string) (int, string, string) {
		var out, msg bytes.Buffer
		code := run(t.Context(), args, new(bytes.Buffer), &out, &msg)
		return code, out.String(), msg.String()
	}
	done := func(args ...string) string {
		t.Helper()
		code, out, msg := cdfz(args...)
		require.Zero(t, code, "%v: %s%s", args, out, msg)
		return out
	}

	done("archive", "-o", "s3://bucket/dir/x.nc.cdfz", "x.nc")
	require.Contains(t, done("archive", "-o", "s3://bucket/dir/x.nc.cdfz", "x.nc"), "archived before in s3://bucket/dir/x.nc.cdfz")
	done("archive", "-f", "-o", "s3://bucket/dir/x.nc.cdfz", "x.nc")
	done("archive", "-o", "s3://bucket/all/", "tree")
	left, err := fs.Glob(os.DirFS("tmp"), "*")
	require.NoError(t, err)
	require.Empty(t, left)
	for _, url := range []string{"s3://bucket/dir/x.nc.cdfz", "s3://bucket/all/sub/y.nc.cdfz"} {
		require.Equal(t, url+": ok\n", done("verify", url))
		require.Contains(t, done("info", "--why", url), "preset default")
		require.Equal(t, done("get", "x.nc", "tas[0]"), done("get", url, "tas[0]"))
		require.Contains(t, done("dump", url), "float tas(time, lat, lon)")
		done("restore", "-f", "-o", "back.nc", url)
		back, err := os.ReadFile("back.nc")
		require.NoError(t, err)
		require.True(t, bytes.Equal(image, back))
	}
	done("restore", "-o", "s3://bucket/back.nc", "s3://bucket/dir/x.nc.cdfz")
	done("restore", "-f", "-o", "s3://bucket/back/", "s3://bucket/dir/x.nc.cdfz")
	require.NoError(t, os.Mkdir("archives", 0o755))
	done("archive", "-o", "archives/", "tree")
	done("restore", "-o", "s3://bucket/tree/", "archives")
	for _, name := range []string{"back.nc", "back/x.nc", "tree/sub/y.nc"} {
		o, err := back.GetObject("bucket", name, nil)
		require.NoError(t, err, name)
		b, err := io.ReadAll(o.Contents)
		require.NoError(t, err)
		require.True(t, bytes.Equal(image, b), name)
	}
	require.Contains(t, done("dump", "s3://bucket/back.nc"), "float tas(time, lat, lon)")
	// Exports and parts are the same in the store and in a file.
	same := func(name string, args ...string) {
		t.Helper()
		done(append(args, "-o", filepath.Base(name))...)
		done(append(args, "-o", "s3://bucket/"+name)...)
		want, err := os.ReadFile(filepath.Base(name))
		require.NoError(t, err)
		o, err := back.GetObject("bucket", name, nil)
		require.NoError(t, err, name)
		b, err := io.ReadAll(o.Contents)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, b), name)
	}
	for _, url := range []string{"x.nc", "s3://bucket/dir/x.nc.cdfz"} {
		for _, name := range []string{"part.csv", "part.json", "part.npy", "part.raw"} {
			same("get/"+name, "get", "-f", url, "tas[0]")
		}
		same("export/x.nc4", "export", "-f", url)
	}
	same("export/refs.json", "export", "-f", "--refs", "json", "s3://bucket/dir/x.nc.cdfz")
	same("export/plain.nc", "export", "-f", "--filters", "none", "archives/sub/y.nc.cdfz")
	done("get", "-o", "s3://bucket/part.nc", "x.nc", "tas[0]")
	require.Contains(t, done("dump", "-h", "s3://bucket/part.nc"), "float tas(lat, lon)")
	done("get", "-o", "s3://bucket/parts/", "--format", "npy", "x.nc", "tas", "lat")
	for _, name := range []string{"parts/tas.npy", "parts/lat.npy"} {
		_, err := back.HeadObject("bucket", name)
		require.NoError(t, err)
	}
	damaged, err := os.ReadFile("archives/sub/y.nc.cdfz")
	require.NoError(t, err)
	damaged[len(damaged)/2] ^= 1
	require.NoError(t, os.WriteFile("damaged.nc.cdfz", damaged, 0o644))
	// Copies of trees and of single objects, and an object repaired into another one.
	done("copy", "--preset", "fast", "s3://bucket/all/", "s3://bucket/fast/")
	done("copy", "s3://bucket/fast/", "copies/")
	done("copy", "copies", "s3://bucket/again/")
	for _, name := range []string{"s3://bucket/fast/sub/y.nc.cdfz", "copies/sub/y.nc.cdfz", "s3://bucket/again/sub/y.nc.cdfz"} {
		require.Contains(t, done("info", "--why", name), "preset fast", name)
		require.Equal(t, name+": ok, same as tree/sub/y.nc\n", done("verify", "--against", "tree/sub/y.nc", name))
	}
	done("copy", "s3://bucket/dir/x.nc.cdfz", "s3://bucket/copy.nc")
	require.Contains(t, done("dump", "s3://bucket/copy.nc"), "float tas(time, lat, lon)")
	intact, err := os.ReadFile("copies/sub/y.nc.cdfz")
	require.NoError(t, err)
	_, err = back.PutObject("bucket", "cut.nc.cdfz", nil, bytes.NewReader(intact[:len(intact)-40]), int64(len(intact)-40), nil)
	require.NoError(t, err)
	done("repair", "-o", "s3://bucket/mended.nc.cdfz", "s3://bucket/cut.nc.cdfz")
	done("verify", "--against", "tree/sub/y.nc", "s3://bucket/mended.nc.cdfz")
	bad := append([]byte(nil), intact...)
	bad[len(bad)/2] ^= 1
	require.NoError(t, os.MkdirAll("damaged/sub", 0o755))
	for _, from := range []string{"s3://bucket/fast/", "s3://bucket/fast/sub/y.nc.cdfz", "copies"} {
		require.NoError(t, os.WriteFile("damaged/sub/y.nc.cdfz", bad, 0o644))
		what := "damaged"
		if filepath.Ext(from) != "" {
			what = "damaged/sub/y.nc.cdfz"
		}
		require.Contains(t, done("repair", "--from", from, what), ", 1 byte taken from ", from)
		mended, err := os.ReadFile("damaged/sub/y.nc.cdfz")
		require.NoError(t, err)
		require.True(t, bytes.Equal(intact, mended), from)
	}
	_, err = back.PutObject("bucket", "bad/sub/y.nc.cdfz", nil, bytes.NewReader(bad), int64(len(bad)), nil)
	require.NoError(t, err)
	require.Contains(t, done("repair", "--from", "copies", "-o", "s3://bucket/good/", "s3://bucket/bad/"), ", 1 byte taken from ")
	done("verify", "--against", "tree/sub/y.nc", "s3://bucket/good/sub/y.nc.cdfz")
	code, _, msg := cdfz("repair", "--from", "s3://bucket/nothing/", "-o", "new/", "s3://bucket/bad/")
	require.Equal(t, 1, code)
	require.Contains(t, msg, "nothing is taken from s3://bucket/nothing/sub/y.nc.cdfz: ")
	left, err = fs.Glob(os.DirFS("tmp"), "*")
	require.NoError(t, err)
	require.Empty(t, left)
	require.Contains(t, done("get", "--explain", "s3://bucket/dir/x.nc.cdfz", "tas[0,0,0]"), "tas\n")

	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"archive", "--skip-existing=never", "-o", "s3://bucket/dir/x.nc.cdfz", "x.nc"}, 4, "-f overwrites it"},
		{[]string{"archive", "-o", "s3://bucket/dir/x.nc.cdfz", "../other.nc"}, 1, "no such file"},
		{[]string{"archive", "-o", "s3://nobody/x", "x.nc"}, 1, "no such bucket"},
		{[]string{"archive", "-o", "s3://bucket/z", "--receipts", "r", "--delete-source", "x.nc"}, 2, "the archive goes to an object store"},
		{[]string{"archive", "-o", "https://example.org/z", "x.nc"}, 2, "cannot write to a URL"},
		{[]string{"restore", "-o", "s3://bucket/back.nc", "s3://bucket/dir/x.nc.cdfz"}, 4, "-f overwrites it"},
		{[]string{"restore", "-o", "s3://nobody/x", "s3://bucket/dir/x.nc.cdfz"}, 1, "no such bucket"},
		{[]string{"restore", "-o", "s3://bucket/z", "damaged.nc.cdfz"}, 3, "cdfz restore --salvage"},
		{[]string{"restore", "-f", "-o", "s3://bucket/dir/x.nc.cdfz", "s3://bucket/dir/x.nc.cdfz"}, 1, "the target is the source"},
		{[]string{"restore", "--salvage", "-o", "s3://bucket/z", "damaged.nc.cdfz"}, 2, "--salvage does not write to object stores"},
		{[]string{"get", "-o", "s3://bucket/part.nc", "x.nc", "tas[0]"}, 4, "-f overwrites it"},
		{[]string{"get", "-o", "s3://nobody/part.nc", "x.nc", "tas[0]"}, 1, "no such bucket"},
		{[]string{"get", "-f", "-o", "s3://bucket/back.nc", "s3://bucket/back.nc", "tas[0]"}, 1, "the target is the source"},
		{[]string{"get", "-o", "https://example.org/z.csv", "x.nc", "tas[0]"}, 2, "cannot write to a URL of this kind, expected s3 or gs"},
		{[]string{"get", "-o", "s3://bucket/z", "x.nc", "tas[0]"}, 2, "expected a name that ends in .csv"},
		{[]string{"export", "-o", "s3://bucket/export/x.nc4", "x.nc"}, 4, "-f overwrites it"},
		{[]string{"export", "-o", "s3://nobody/x.nc4", "x.nc"}, 1, "no such bucket"},
		{[]string{"export", "-o", "s3://bucket/z.nc4", "damaged.nc.cdfz"}, 3, "cdfz verify lists all damage"},
		{[]string{"export", "-o", "s3://bucket/z.nc4/", "x.nc"}, 1, "expected the name of an object, found a folder"},
		{[]string{"export", "-o", "az://bucket/z.nc4", "x.nc"}, 2, "expected s3 or gs"},
		{[]string{"export", "-o", "s3://bucket/z.zarr", "x.nc"}, 2, "cannot write a folder to a URL"},
		{[]string{"export", "--refs", "parquet", "-o", "s3://bucket/z.parq", "archives/sub/y.nc.cdfz"}, 2, "cannot write a folder to a URL"},
		{[]string{"copy", "s3://bucket/all/", "s3://bucket/all/z/"}, 2, "the folder of the copies lies in s3://bucket/all/"},
		{[]string{"copy", "s3://bucket/all/", "z"}, 2, "z: expected a folder for the copies of s3://bucket/all/"},
		{[]string{"copy", "s3://bucket/all/", "s3://bucket/fast/"}, 4, "-f overwrites it"},
		{[]string{"copy", "archives", "archives/sub/z/"}, 2, "lies in archives"},
		{[]string{"copy", "damaged.nc.cdfz", "s3://bucket/z.nc"}, 3, "cdfz verify lists all damage"},
		{[]string{"repair", "-o", "s3://bucket/mended.nc.cdfz", "s3://bucket/cut.nc.cdfz"}, 4, "-f overwrites it"},
		{[]string{"info", "s3://bucket/z.nc4"}, 1, "no such object"},
		{[]string{"restore", "-o", "az://bucket/z", "s3://bucket/dir/x.nc.cdfz"}, 2, "cannot write to a URL of this kind, expected s3 or gs"},
		{[]string{"info", "s3://bucket/z"}, 1, "no such object"},
		{[]string{"info", "s3://bucket/none"}, 1, "s3://bucket/none: "},
		{[]string{"info", "az://bucket/none"}, 1, "unknown kind of URL, expected http, https, s3 or gs"},
	} {
		code, _, msg := cdfz(c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, msg)
		require.Contains(t, msg, c.text, "%v", c.args)
	}
	require.NoError(t, os.WriteFile("other.nc", other, 0o644))
	done("archive", "other.nc")
	for _, verb := range [][]string{{"archive", "-f", "-o", "s3://bucket/dir/x.nc.cdfz", "other.nc"}, {"get", "-f", "--format", "csv", "-o", "s3://bucket/dir/x.nc.cdfz", "x.nc", "tas[0]"},
		{"restore", "-f", "-o", "s3://bucket/dir/x.nc.cdfz", "archives/sub/y.nc.cdfz"}, {"copy", "-f", "other.nc", "s3://bucket/dir/x.nc.cdfz"},
		{"copy", "-f", "--to", "classic", "other.nc", "s3://bucket/dir/x.nc.cdfz"}, {"repair", "-f", "-o", "s3://bucket/dir/x.nc.cdfz", "other.nc.cdfz"}} {
		code, _, msg := cdfz(verb...)
		require.Equal(t, 4, code, msg)
		require.Contains(t, msg, "the existing archive may be the only copy of another file and is kept: it holds x.nc, 305104 bytes")
		require.Equal(t, "s3://bucket/dir/x.nc.cdfz: ok\n", done("verify", "s3://bucket/dir/x.nc.cdfz"))
	}
	done("archive", "-f", "--replace-other", "-o", "s3://bucket/dir/x.nc.cdfz", "other.nc")
	done("verify", "--against", "other.nc", "s3://bucket/dir/x.nc.cdfz")
	expired.Store(true)
	for _, args := range [][]string{{"restore", "-o", "z.nc", "s3://bucket/dir/x.nc.cdfz"}, {"archive", "-o", "s3://bucket/new", "x.nc"}, {"restore", "-o", "s3://bucket/new", "archives/sub/y.nc.cdfz"},
		{"get", "-o", "s3://bucket/new.csv", "x.nc", "tas[0]"}, {"export", "-o", "s3://bucket/new.nc4", "x.nc"}} {
		code, _, msg := cdfz(args...)
		require.Equal(t, 4, code)
		require.Contains(t, msg, "the credentials have expired, renew them (ExpiredToken)")
	}
}
