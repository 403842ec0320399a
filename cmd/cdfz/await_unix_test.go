//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/trees"
)

// TestAwait locks each file to which a run adds lines, as the first run of a job does that a scheduler
// begins a second time. The second run waits, and then does its work, unless a signal stops it.
func TestAwait(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	dir := t.TempDir()
	_, err := trees.Write(filepath.Join(dir, "tree"), 3)
	require.NoError(t, err)
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Args[0] = "cdfz"
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz")
		return cmd
	}
	for _, line := range []string{
		"archive -q -o out/ --receipts LOCKED tree", "archive -q -o out/ --log LOCKED tree", "verify -q --log LOCKED out",
		"verify -q --state LOCKED out", "restore -q -o back/ --log LOCKED out",
	} {
		args := strings.Fields(line)
		require.NoError(t, command(args...).Run(), line) // makes LOCKED
		for _, stopped := range []bool{false, true} {
			f, err := os.Open(filepath.Join(dir, "LOCKED"))
			require.NoError(t, err)
			require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
			cmd := command(args...)
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(stderr)
			require.True(t, lines.Scan(), line)
			require.Equal(t, "cdfz: LOCKED: another program is adding to this file; waiting for it", lines.Text(), line)
			if stopped {
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				require.True(t, lines.Scan(), line)
				require.Equal(t, "cdfz: LOCKED: file is locked by another process", lines.Text(), line)
			}
			require.NoError(t, f.Close())
			require.False(t, lines.Scan(), "%s: %s", line, lines.Text())
			_ = cmd.Wait()
			want := 0
			if stopped {
				want = 143
			}
			require.Equal(t, want, cmd.ProcessState.ExitCode(), line)
		}
		require.NoError(t, os.Remove(filepath.Join(dir, "LOCKED")))
	}
}
