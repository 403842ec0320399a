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

// TestParityStore writes the parity of volumes in a store, by their names, by their prefix and in the run that packs, and heals
// volumes from it there. It is the same as on a disk.
func TestParityStore(t *testing.T) {
	classic, err := filepath.Abs("../../testdata/classic")
	require.NoError(t, err)
	s := newBucket(t)
	packedTree(t, classic)
	s.done("pack", "-q", "--size", "64K", "--parity", "5%", "--time", "2026-01-01", "-o", "vol/", "arch/")
	s.done("pack", "-q", "--size", "64K", "--parity", "5%", "--time", "2026-01-01", "-o", "s3://bucket/with/", "arch/")
	s.done("archive", "-q", "--pack", "64K", "--pack-parity", "5%", "-o", "s3://bucket/arch/", "data/")
	s.done("pack", "-q", "--size", "64K", "--time", "2026-01-01", "-o", "s3://bucket/vol/", "arch/")
	require.Contains(t, s.done("parity", "s3://bucket/vol/0001.tar"), "s3://bucket/vol/0001.tar.parity: 5% of parity, ")
	require.Contains(t, s.done("parity", "s3://bucket/vol/"), "s3://bucket/vol/0001.tar: already has 5% of parity\n")
	require.Contains(t, s.done("parity", "s3://bucket/arch/"), "s3://bucket/arch/0001.tar: already has 5% of parity\n")
	list, err := filepath.Glob("vol/*.tar.parity")
	require.NoError(t, err)
	require.Greater(t, len(list), 1)
	for _, name := range list {
		want := readFile(t, name)
		require.Equal(t, want, object(t, s, "vol/"+filepath.Base(name)))
		require.Equal(t, want, object(t, s, "with/"+filepath.Base(name)))
	}
	code, _, errs := s.run("parity", "-p", "10%", "s3://bucket/vol/0001.tar")
	require.Equal(t, 4, code, errs) // another share is another object
	s.done("parity", "-f", "-p", "10%", "s3://bucket/vol/0001.tar")
	s.done("parity", "-f", "-p", "5%", "s3://bucket/vol/0001.tar")

	// A damaged volume, and one that was cut off, there and to a disk.
	volume := readFile(t, "vol/0001.tar")
	bad := bytes.Clone(volume)
	bad[3000] ^= 1
	for _, b := range [][]byte{bad, volume[:len(volume)-1500]} {
		s.put("vol/0001.tar", b)
		code, _, errs := s.run("parity", "-f", "s3://bucket/vol/0001.tar")
		require.Equal(t, 3, code, errs)
		_ = os.Remove("new.tar")
		code, out, errs := s.run("repair", "-o", "new.tar", "s3://bucket/vol/0001.tar")
		require.Zero(t, code, out+errs)
		require.Contains(t, errs, "bytes healed from its parity")
		require.Equal(t, volume, readFile(t, "new.tar"))
		s.done("repair", "-f", "-o", "s3://bucket/healed.tar", "s3://bucket/vol/0001.tar")
		require.Equal(t, volume, object(t, s, "healed.tar"))
	}
	s.done("repair", "-q", "--parity", "vol/0001.tar.parity", "-o", "mixed.tar", "s3://bucket/vol/0001.tar")
	require.Equal(t, volume, readFile(t, "mixed.tar"))
	s.put("vol/0001.tar", volume)
	require.Contains(t, s.done("verify", "s3://bucket/vol/"), "3 files: 3 ok, 0 damaged")

	// An archive in a store is not changed, and volumes beside it get their parity nevertheless.
	s.put("vol/a.nc.cdfz", readFile(t, "arch/1987/tas.nc.cdfz"))
	code, out, errs := s.run("parity", "s3://bucket/vol/")
	require.Equal(t, 1, code)
	require.Contains(t, out, "s3://bucket/vol/0001.tar: already has")
	require.Contains(t, errs, "s3://bucket/vol/a.nc.cdfz: a URL cannot be changed in place")
	s.done("parity", "-q", "-o", "s3://bucket/other/", "s3://bucket/vol/a.nc.cdfz")
	require.Contains(t, s.done("verify", "s3://bucket/other/a.nc.cdfz"), "a.nc.cdfz: ok")
}

// TestParityServer heals a volume on a server, with the query that the server demands, and writes its parity elsewhere.
func TestParityServer(t *testing.T) {
	classic, err := filepath.Abs("../../testdata/classic")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	packedTree(t, classic)
	mustRun(t, "pack", "-q", "--parity", "5%", "-o", "vol/", "arch/")
	volume := readFile(t, "vol/0001.tar")
	files := http.FileServer(http.Dir("."))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sig") != "x/y" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer srv.Close()
	at := srv.URL + "/vol/0001.tar?sig=x/y"
	mustRun(t, "parity", "-q", "-o", "again.tar.parity", at)
	require.Equal(t, readFile(t, "vol/0001.tar.parity"), readFile(t, "again.tar.parity"))
	_, errs, code := runCode("parity", at)
	require.NotZero(t, code)
	require.Contains(t, errs, "nothing can be written beside a file on a server")
	bad := bytes.Clone(volume)
	bad[3000] ^= 1
	require.NoError(t, os.WriteFile("vol/0001.tar", bad, 0o644))
	mustRun(t, "repair", "-q", "-o", "new.tar", at)
	require.Equal(t, volume, readFile(t, "new.tar"))
}
