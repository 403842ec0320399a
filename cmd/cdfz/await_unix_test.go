//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		for _, quiet := range []bool{false, true} {      // a second run of a job that cron begins
			f, err := os.Open(filepath.Join(dir, "LOCKED"))
			require.NoError(t, err)
			require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
			again, want := append([]string{args[0], "--no-wait"}, args[1:]...), ""
			if !quiet {
				again = slices.DeleteFunc(again, func(a string) bool { return a == "-q" })
				want = "cdfz: LOCKED: another program is at work with this file\n"
			}
			cmd := command(again...)
			msg, _ := cmd.CombinedOutput()
			require.Equal(t, 5, cmd.ProcessState.ExitCode(), "%v", again)
			require.Equal(t, want, string(msg), "%v", again)
			require.NoError(t, f.Close())
		}
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

// TestNoWait locks one of three sources, as another run does that archives it. With --no-wait, the others are
// done, and the log has no line for that one.
func TestNoWait(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a.nc", "b.nc", "c.nc"} {
		classicInto(t, dir, n)
	}
	f, err := os.Open(filepath.Join(dir, "b.nc"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	for _, c := range []struct{ flag, want string }{
		{"-v", "cdfz: another program is archiving 1 file, which this run leaves to it\n"}, {"-q", ""},
	} {
		cmd := exec.Command(os.Args[0], "archive", "--no-wait", c.flag, "--log", c.flag[1:]+".jsonl", ".")
		cmd.Args[0] = "cdfz"
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz")
		var msg strings.Builder
		cmd.Stderr = &msg
		require.Error(t, cmd.Run())
		require.Equal(t, 5, cmd.ProcessState.ExitCode(), c.flag)
		require.Equal(t, c.want, msg.String())
		log, err := os.ReadFile(filepath.Join(dir, c.flag[1:]+".jsonl"))
		require.NoError(t, err)
		require.NotContains(t, string(log), "b.nc")
		require.Contains(t, string(log), `"files":2,`)
		require.Contains(t, string(log), `"exit":5}}`)
	}
	require.NoFileExists(t, filepath.Join(dir, "b.nc.cdfz"))
	require.FileExists(t, filepath.Join(dir, "c.nc.cdfz"))
}
