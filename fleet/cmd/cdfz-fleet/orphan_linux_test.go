package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOrphans kills the program that has started cdfz. Its cdfz waits for a log that the test has locked,
// and would do so for ever, but ends.
func TestOrphans(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, 3)
	log := filepath.Join(dir, "jobs", "00001-of-00001.archive.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(log), 0o777))
	f, err := os.Create(log)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	c := pipeline(t.Context(), dir, "archive", "-source", "data", "-o", "arch", "-dir", "jobs", "-shards", "1")
	require.NoError(t, c.Start())
	await := func(n int) {
		for end := time.Now().Add(time.Minute); len(processes()) != n; time.Sleep(10 * time.Millisecond) {
			require.True(t, time.Now().Before(end), "expected %d processes of cdfz, found %d", n, len(processes()))
		}
	}
	await(1)
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	await(0)
}
