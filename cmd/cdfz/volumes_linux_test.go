package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVolumeForbidden reads a prefix with a volume that the store does not give away: what is in it is missing, and not in
// silence. An object without bytes is no volume.
func TestVolumeForbidden(t *testing.T) {
	classic, err := filepath.Abs("../../testdata/classic")
	require.NoError(t, err)
	s := newBucket(t)
	packedTree(t, classic)
	s.done("pack", "-q", "--size", "64K", "-o", "s3://bucket/vol/", "arch/")
	s.put("vol/0003.tar", nil)
	s.done("verify", "s3://bucket/vol/")
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/0002.tar") {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	for _, args := range [][]string{
		{"verify", "s3://bucket/vol/"}, {"restore", "-o", "back/", "s3://bucket/vol/"}, {"copy", "s3://bucket/vol/", "copy/"}, {"verify", "s3://bucket/vol/0002.tar"},
	} {
		code, _, msg := s.run(args...)
		require.NotZero(t, code, args)
		require.Contains(t, msg, "0002.tar: ", args)
		require.Contains(t, msg, "403", args)
	}
}

// TestVolumeOfLinks archives a tree again that has a new link alone, whose volume cannot be written.
func TestVolumeOfLinks(t *testing.T) {
	classic, err := filepath.Abs("../../testdata/classic")
	require.NoError(t, err)
	s := newBucket(t)
	packedTree(t, classic)
	args := []string{"archive", "-q", "--whole", "--pack", "1G", "-o", "s3://bucket/vol/", "data/"}
	s.done(args...)
	require.NoError(t, os.Symlink("1987", "data/zz"))
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	code, _, msg := s.run(args...)
	require.NotZero(t, code)
	require.Contains(t, msg, "s3://bucket/vol/0003.tar: ")
	s.set(nil)
	s.done(args...)
	s.done("restore", "-q", "-o", "back/", "s3://bucket/vol/")
	to, err := os.Readlink("back/zz")
	require.NoError(t, err)
	require.Equal(t, "1987", to)
}
