package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// asNobody runs f with the rights of a user who owns nothing, if the test runs as root.
func asNobody(t *testing.T, f func()) {
	if os.Getuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Do not unlock: the thread ends with the goroutine.
		runtime.LockOSThread()
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

// TestUnreadable reads and writes files and folders without permission.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	src := classicInto(t, dir, "a.nc")
	check := func(want string, args ...string) {
		var stdout, stderr bytes.Buffer
		code := -1
		asNobody(t, func() { code = run(t.Context(), args, nil, &stdout, &stderr) })
		require.Equal(t, terminal.ExitLasting, code)
		require.Equal(t, want+"\n", stderr.String())
	}
	require.NoError(t, os.Chmod(dir, 0o555))
	check("cdfz: "+src+": cannot write in folder "+dir+": permission denied", "archive", src)
	require.NoError(t, os.Chmod(src, 0))
	check("cdfz: "+src+": permission denied", "archive", "-o", filepath.Join(dir, "x"), src)
	for _, verb := range []string{"restore", "verify", "repair", "info", "bench"} {
		check("cdfz: "+src+": permission denied", verb, src)
	}
	// Below a folder.
	require.NoError(t, os.Chmod(dir, 0o755))
	check("cdfz: "+src+": permission denied", "archive", dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "closed"), 0))
	check("cdfz: "+src+": permission denied\ncdfz: "+filepath.Join(dir, "closed")+": permission denied", "archive", dir)
}

// TestUnreadableShards has a folder that nobody may list: one shard fails, the same for archive and verify
// and with --balance, and all others pass over it. A tree that cannot be listed at all fails in every shard.
func TestUnreadableShards(t *testing.T) {
	dir := t.TempDir()
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	const shards = 5
	data, out := filepath.Join(dir, "data"), filepath.Join(dir, "out")
	require.NoError(t, os.Mkdir(data, 0o755))
	require.NoError(t, os.Mkdir(out, 0o777))
	require.NoError(t, os.Chmod(out, 0o777))
	classicInto(t, data, "a.nc")
	closed := filepath.Join(data, "closed")
	require.NoError(t, os.Mkdir(closed, 0))
	t.Cleanup(func() { _ = os.Chmod(data, 0o755); _ = os.Chmod(closed, 0o755) }) // so that they can be removed
	failing := func(args ...string) (all []int) {
		for i := 1; i <= shards; i++ {
			var stdout, stderr bytes.Buffer
			code := -1
			asNobody(t, func() {
				code = run(t.Context(), append(args, "-v", "--shard", fmt.Sprintf("%d/%d", i, shards), data), nil, &stdout, &stderr)
			})
			if code == terminal.ExitDone {
				require.Empty(t, stderr.String())
				require.Regexp(t, "closed: skipped: permission denied; shard [1-5]/5 reports it\n", stdout.String())
				continue
			}
			require.Equal(t, terminal.ExitLasting, code)
			require.Contains(t, stderr.String(), ": permission denied\n")
			all = append(all, i)
		}
		return all
	}
	one := failing("archive", "-o", out+"/")
	require.Len(t, one, 1)
	require.Equal(t, one, failing("archive", "--balance", "-o", out+"/"))
	require.Equal(t, one, failing("verify"))
	require.NoError(t, os.Chmod(data, 0))
	require.Equal(t, []int{1, 2, 3, 4, 5}, failing("archive", "-o", out+"/"))
}
