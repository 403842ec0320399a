//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLifeline starts cdfz with a pipe. It waits for a locked log for ever, and ends when the other end of
// the pipe is closed. A descriptor that is no pipe is refused before anything is done.
func TestLifeline(t *testing.T) {
	dir := t.TempDir()
	classicInto(t, dir, "a.nc")
	command := func(lifeline string, files ...*os.File) (*exec.Cmd, *bytes.Buffer) {
		cmd, msg := exec.Command(os.Args[0], "archive", "-q", "--log", "LOCKED", "a.nc"), new(bytes.Buffer)
		cmd.Args[0] = "cdfz"
		cmd.Dir, cmd.ExtraFiles, cmd.Stderr = dir, files, msg
		cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz", "CDFZ_LIFELINE="+lifeline)
		return cmd, msg
	}
	file, err := os.Open(filepath.Join(dir, "a.nc"))
	require.NoError(t, err)
	defer file.Close()
	for text, want := range map[string]string{
		"x": "the number of a descriptor", "-1": "the number of a descriptor", "3": "a descriptor of a pipe that cdfz has inherited", "99": "a descriptor of a pipe that cdfz has inherited",
	} {
		cmd, msg := command(text, file)
		require.Error(t, cmd.Run())
		require.Equal(t, 2, cmd.ProcessState.ExitCode(), msg)
		require.Equal(t, "cdfz: CDFZ_LIFELINE="+text+": expected "+want+"\n", msg.String())
	}
	require.NoFileExists(t, filepath.Join(dir, "a.nc.cdfz"))

	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	cmd, msg := command("3", r)
	require.NoError(t, cmd.Run(), msg) // the pipe does nothing while it is open
	require.NoError(t, os.Remove(filepath.Join(dir, "a.nc.cdfz")))

	lock, err := os.Open(filepath.Join(dir, "LOCKED"))
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	cmd, msg = command("3", r)
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := make([]byte, len("cdfz: LOCKED: another program"))
	_, err = io.ReadFull(stderr, line)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = io.Copy(msg, stderr)
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Equal(t, 143, cmd.ProcessState.ExitCode(), msg)
	require.NoFileExists(t, filepath.Join(dir, "a.nc.cdfz"))
}
