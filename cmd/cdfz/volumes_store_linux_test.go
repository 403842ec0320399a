package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCopyInVolume deletes the sources of a whole tree when the members of a volume in a store prove them, too.
func TestCopyInVolume(t *testing.T) {
	climate, _ := sample(t, "cdf2_climate.nc")
	s := newBucket(t)
	writeTree(t, map[string][]byte{"a.nc": climate, "1990/notes.txt": []byte("notes")})
	deletes := func(code int, at string) {
		t.Helper()
		got, out, msg := s.run("archive", "--whole", "--receipts", "r.jsonl", "--delete-source", "--copies", "2", "--copy-at", at, "-o", "archives/", "data")
		require.Equal(t, code, got, out+msg)
	}
	s.done("archive", "--whole", "-q", "-o", "archives/", "data")
	s.done("pack", "-q", "-o", "s3://bucket/vol/", "archives")

	// A member with other bytes proves nothing.
	o, err := s.back.GetObject("bucket", "vol/0001.tar", nil)
	require.NoError(t, err)
	volume, err := io.ReadAll(o.Contents)
	require.NoError(t, err)
	bad := append([]byte(nil), volume...)
	for i := range bad {
		if i+5 <= len(bad) && string(bad[i:i+5]) == "notes" && string(bad[i:i+9]) != "notes.txt" {
			bad[i] ^= 1
		}
	}
	s.put("vol/0001.tar", bad)
	deletes(1, "s3://bucket/vol/0001.tar")
	require.FileExists(t, "data/1990/notes.txt")
	require.NoFileExists(t, "data/a.nc")

	s.put("vol/0001.tar", volume)
	deletes(0, "s3://bucket/vol/0001.tar")
	left, err := os.ReadDir("data")
	require.NoError(t, err)
	require.Empty(t, left)
	require.Contains(t, string(readFile(t, "r.jsonl")), `"copies":["s3://bucket/vol/0001.tar/1990/notes.txt"]`)
	require.Contains(t, s.done("receipts", "--root", "s3://bucket/vol/", "r.jsonl"), "3 receipts: 3 ok, 0 failed\n")
	require.Contains(t, s.done("receipts", "--root", "s3://bucket/vol/0001.tar", "r.jsonl"), "3 receipts: 3 ok, 0 failed\n")
}

// TestReceiptsRoot checks receipts in a store that lists nothing, and in one with a damaged volume.
func TestReceiptsRoot(t *testing.T) {
	climate, _ := sample(t, "cdf2_climate.nc")
	bits, _ := sample(t, "cdf1_bits.nc")
	s := newBucket(t)
	writeTree(t, map[string][]byte{"a.nc": climate, "b.nc": bits})
	s.done("archive", "-q", "--receipts", "r.jsonl", "-o", "archives/", "data")
	s.done("copy", "-q", "archives", "s3://bucket/run7/")
	s.done("pack", "-q", "-o", "s3://bucket/run7/", "archives")
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if !isListing(r) {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code></Error>"))
		return true
	})
	code, out, msg := s.run("receipts", "--root", "s3://bucket/run7", "r.jsonl")
	require.Zero(t, code, msg)
	require.Contains(t, out, "2 receipts: 2 ok, 0 failed\n")
	require.Contains(t, msg, "cdfz: warning: s3://bucket/run7: volumes are not looked for: ")
	s.set(nil)

	// The volume is damaged: what else is there is read.
	s.put("run7/0000.tar", append([]byte(nil), damagedVolume(t)...))
	code, out, msg = s.run("receipts", "--root", "s3://bucket/run7/", "r.jsonl")
	require.Equal(t, 3, code, msg)
	require.Contains(t, out, "2 receipts: 2 ok, 0 failed\n")
	require.Contains(t, msg, "cdfz: s3://bucket/run7/0000.tar: ")

	// A receipt that only a volume can prove: first that is damaged, and another one has it.
	_, err := s.back.DeleteObject("bucket", "run7/a.nc.cdfz")
	require.NoError(t, err)
	code, out, _ = s.run("receipts", "--root", "s3://bucket/run7/", "r.jsonl")
	require.Equal(t, 3, code)
	require.Contains(t, out, "2 receipts: 2 ok, 0 failed\n")
	_, err = s.back.DeleteObject("bucket", "run7/0001.tar")
	require.NoError(t, err)
	code, out, msg = s.run("receipts", "--root", "s3://bucket/run7/", "r.jsonl")
	require.Equal(t, 3, code)
	require.Contains(t, out, "2 receipts: 1 ok, 1 failed\n")
	lines := strings.Split(string(readFile(t, "r.jsonl")), "\n") // in the order in which workers finished
	line := 1 + slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "/a.nc.cdfz\"") })
	require.Contains(t, msg, fmt.Sprintf("s3://bucket/run7/a.nc.cdfz: line %d of r.jsonl: the archive is missing", line))
}

// damagedVolume returns a volume whose end is lost.
func damagedVolume(t *testing.T) []byte {
	mustRun(t, "pack", "-q", "-o", "lost.tar", "archives")
	b := readFile(t, "lost.tar")
	return b[:len(b)-3000]
}
