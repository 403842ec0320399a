package main

import (
	"bytes"
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
		require.Equal(t, terminal.ExitFailed, code)
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
