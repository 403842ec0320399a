//go:build unix

package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// TestCopies deletes sources only when copies of their archives are proved in another place.
func TestCopies(t *testing.T) {
	back := s3mem.New()
	for _, b := range []string{"one", "two"} {
		require.NoError(t, back.CreateBucket(b))
	}
	srv := httptest.NewServer(gofakes3.New(back).Server())
	defer srv.Close()
	dir := t.TempDir()
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL_S3": srv.URL, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_CONFIG_FILE": filepath.Join(dir, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"),
	} {
		t.Setenv(k, v)
	}
	data := filepath.Join(dir, "data")
	require.NoError(t, os.MkdirAll(filepath.Join(data, "sub"), 0o755))
	classicInto(t, data, "a.nc")
	classicInto(t, filepath.Join(data, "sub"), "b.nc")
	other := readFile(t, "../../testdata/classic/cdf1_bits.nc")
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("a.nc", other, 0o644))
	cdfz := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		require.Equal(t, code, run(t.Context(), args, new(bytes.Buffer), &out, &out), "%v: %s", args, &out)
		return out.String()
	}
	deletes := func(code int, more ...string) string {
		t.Helper()
		return cdfz(code, append([]string{"archive", "--receipts", "r.jsonl", "--delete-source", "-o", "out/", "data"}, more...)...)
	}
	there := func(names ...string) {
		t.Helper()
		for _, name := range []string{"data/a.nc", "data/sub/b.nc"} {
			_, err := os.Stat(name)
			require.Equal(t, len(names) > 0 && (names[0] == name || len(names) > 1), err == nil, name)
		}
	}

	// No copy, one on the same file system, one with another file, and one that is damaged.
	require.Contains(t, deletes(1, "--copies", "2", "--copy-at", "copy"), "data/a.nc: the source is archived but was not deleted: expected 2 archives on different file systems or stores, found 1: copy/a.nc.cdfz: no such file or directory")
	there("data/a.nc", "data/sub/b.nc")
	require.NoError(t, os.CopyFS("copy", os.DirFS("out")))
	require.Contains(t, deletes(1, "--copies", "2", "--copy-at", "copy"), "copy/a.nc.cdfz: no further copy beside out/a.nc.cdfz: on the same file system or in the same store")
	there("data/a.nc", "data/sub/b.nc")
	require.NoError(t, os.Mkdir("wrong", 0o755))
	b := readFile(t, "out/a.nc.cdfz")
	b[5000] ^= 0xff
	require.NoError(t, os.WriteFile("wrong/a.nc.cdfz", b, 0o644))
	require.Contains(t, deletes(1, "--copies", "2", "--copy-at", "wrong"), "wrong/a.nc.cdfz: ")
	there("data/a.nc", "data/sub/b.nc")
	cdfz(0, "archive", "-o", "s3://one/arch/a.nc.cdfz", "a.nc")
	require.Contains(t, deletes(1, "--copies", "2", "--copy-at", "s3://one/arch"), "s3://one/arch/a.nc.cdfz: restores 1404 bytes with SHA-256 6184d897")
	there("data/a.nc", "data/sub/b.nc")
	require.Equal(t, 2, bytes.Count(readFile(t, "r.jsonl"), []byte(`"source"`)), "one receipt for each archive")

	// Two buckets. One copy is missing in the second: its source stays.
	cdfz(0, "archive", "-o", "s3://two/arch/", "data")
	require.Contains(t, deletes(0, "--copies", "2", "--copy-at", "s3://one/arch", "--copy-at", "s3://two/arch/", "--exclude", "sub"), "source deleted")
	there("data/sub/b.nc")
	require.Contains(t, string(readFile(t, "r.jsonl")), `"below":"a.nc.cdfz","copies":["s3://two/arch/a.nc.cdfz"]`)
	require.Contains(t, deletes(1, "--copies", "3", "--copy-at", "s3://one/arch", "--copy-at", "s3://two/arch/"), "expected 3 archives on different file systems or stores, found 2: s3://one/arch/sub/b.nc.cdfz: ")
	there("data/sub/b.nc")
	cdfz(0, "archive", "-f", "--replace-other", "-o", "s3://one/arch/", "data")
	deletes(0, "--copies", "3", "--copy-at", "s3://one/arch", "--copy-at", "s3://two/arch/")
	there()

	// The copies can be checked from the receipts.
	require.Contains(t, cdfz(0, "receipts", "--root", "s3://two/arch", "r.jsonl"), "s3://two/arch/sub/b.nc.cdfz: ok, its source is gone")

	for _, args := range [][]string{
		{"--copies", "2"}, {"--copy-at", "copy"}, {"--copies", "3", "--copy-at", "copy"}, {"--copies", "0"}, {"--copies", "2", "--copy-at", "http://host/"},
	} {
		deletes(2, args...)
	}
	cdfz(2, "archive", "--copies", "2", "--copy-at", "copy", "--receipts", "r.jsonl", "data")
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return b
}
