package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnreadable archives a tree with a file and a folder that may not be read. If root runs the test,
// the pipeline has the rights of a user who owns nothing.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(cdfz)} {
		for ; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
			require.NoError(t, os.Chmod(d, 0o755))
		}
	}
	want := tree(t, dir, 6)
	data := filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(filepath.Join(data, "closed.nc"), []byte("CDF"), 0))
	require.NoError(t, os.Mkdir(filepath.Join(data, "closed"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(data, "closed"), 0o755) }) // so that it can be removed
	out := filepath.Join(dir, "out")
	require.NoError(t, os.Mkdir(out, 0o777))
	require.NoError(t, os.Chmod(out, 0o777))
	program := filepath.Join(dir, "fleet")
	require.NoError(t, exec.CommandContext(t.Context(), "cp", os.Args[0], program).Run())

	c := pipeline(t.Context(), out, "archive", "-source", data, "-o", filepath.Join(out, "arch"), "-dir", filepath.Join(out, "jobs"), "-shards", "2", "-failures", filepath.Join(out, "failed"))
	c.Path = program
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	msg, err := c.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, exitLasting, c.ProcessState.ExitCode(), "%s", msg)
	var failed []any
	for _, l := range lines(t, filepath.Join(out, "failed"))[1:] {
		require.Equal(t, "failed", l["kind"])
		require.Contains(t, l["reason"], "permission denied")
		failed = append(failed, l["source"])
	}
	require.ElementsMatch(t, []any{filepath.Join(data, "closed.nc"), filepath.Join(data, "closed")}, failed)
	require.Len(t, sums(t, filepath.Join(out, "arch")), len(want))
}

// TestClosedTargets archives into a folder where nothing can be written. cdfz tries one file of each shard, and each
// source is in the file of failures once.
func TestClosedTargets(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(cdfz)} {
		for ; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
			require.NoError(t, os.Chmod(d, 0o755))
		}
	}
	want := tree(t, dir, 9)
	out := filepath.Join(dir, "out")
	require.NoError(t, os.Mkdir(out, 0o777))
	require.NoError(t, os.Chmod(out, 0o777))
	closed := filepath.Join(out, "arch")
	require.NoError(t, os.Mkdir(closed, 0o755))
	program := filepath.Join(dir, "fleet")
	require.NoError(t, exec.CommandContext(t.Context(), "cp", os.Args[0], program).Run())
	require.NoError(t, os.Chmod(closed, 0o555))

	c := pipeline(t.Context(), out, "archive", "-source", filepath.Join(dir, "data"), "-o", closed, "-dir", filepath.Join(out, "jobs"), "-shards", "2", "-failures", filepath.Join(out, "failed"))
	c.Path = program
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	msg, err := c.CombinedOutput()
	require.Error(t, err, string(msg))
	failed, sources := []any{}, []any{}
	for _, l := range lines(t, filepath.Join(out, "failed"))[1:] {
		require.Contains(t, l["reason"], "permission denied")
		failed = append(failed, l["source"])
	}
	for name := range want {
		sources = append(sources, filepath.Join(dir, "data", name))
	}
	require.ElementsMatch(t, sources, failed)
}
