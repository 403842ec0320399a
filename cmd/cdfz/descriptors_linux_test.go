package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// openBelow returns the files and folders below dir that this process has open.
func openBelow(t *testing.T, dir string) (open []string) {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.HasPrefix(to, dir) {
			open = append(open, to)
		}
	}
	return open
}

// TestDescriptors checks that runs over trees leave no files and folders open.
func TestDescriptors(t *testing.T) {
	dir := t.TempDir()
	data, out, receipts := filepath.Join(dir, "data"), filepath.Join(dir, "out")+"/", filepath.Join(dir, "r.jsonl")
	for _, sub := range []string{"a", "b/c"} {
		require.NoError(t, os.MkdirAll(filepath.Join(data, sub), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(data, sub, "x.nc"), byteImage(rand.New(rand.NewPCG(1, 1)), 3000), 0o644))
	}
	for _, args := range [][]string{
		{"archive", "-o", out, data},
		{"archive", "-o", out, data},
		{"restore", "-o", filepath.Join(dir, "back") + "/", out},
		{"copy", filepath.Join(out, "a", "x.nc.cdfz"), filepath.Join(dir, "copy.cdfz")},
		{"archive", "--delete-source", "--receipts", receipts, "--parity", "5%", data},
		{"archive", "--delete-source", "--receipts", receipts, data},
		{"receipts", receipts},
		{"verify", data},
		{"info", data},
		{"parity", "-p", "10%", filepath.Join(data, "a", "x.nc.cdfz")},
		{"repair", filepath.Join(data, "a", "x.nc.cdfz")},
		{"restore", data},
		{"restore", "-f", data},
	} {
		var output bytes.Buffer
		require.Zero(t, run(t.Context(), args, nil, &output, &output), "%v: %s", args, &output)
		require.Empty(t, openBelow(t, dir), "%v", args)
	}
}
