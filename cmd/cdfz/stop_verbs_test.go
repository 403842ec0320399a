package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// stopSoon is the time that a command may take to end after a signal: half a second,
// and more on slow machines.
const stopSoon = 3 * time.Second

// startCommand starts the command in an empty folder, with signals as in a terminal.
func startCommand(t *testing.T, args []string) (cmd *exec.Cmd, ended <-chan struct{}, dir string, stderr *bytes.Buffer) {
	t.Helper()
	dir, stderr = t.TempDir(), &bytes.Buffer{}
	done := make(chan struct{})
	cmd = exec.Command(os.Args[0], args...)
	cmd.Args[0], cmd.Dir, cmd.Stderr = "cdfz", dir, stderr
	cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz", "TMPDIR="+dir)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT)
	t.Cleanup(func() { signal.Stop(c) })
	require.NoError(t, cmd.Start())
	go func() { _ = cmd.Wait(); close(done) }()
	return cmd, done, dir, stderr
}

// interrupt sends SIGINT to a command and waits for ended. The command must end soon,
// with the exit code of an interrupted command.
func interrupt(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}, stderr *bytes.Buffer) {
	t.Helper()
	start := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	<-ended
	require.Less(t, time.Since(start), stopSoon, "%v", cmd.Args)
	require.Equal(t, interrupted, cmd.ProcessState.ExitCode(), "%v: %s", cmd.Args, stderr)
	require.Contains(t, stderr.String(), "interrupted\n", "%v", cmd.Args)
}

// TestStopVerbs interrupts each verb while it waits for a server, at several points of
// its work. No files may remain.
func TestStopVerbs(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // it has no such signals
	}
	dir := t.TempDir()
	src := largeInto(t, dir, "a.nc")
	var out bytes.Buffer
	require.Equal(t, terminal.ExitDone, run(t.Context(), []string{"archive", "--preset", "fast", src}, nil, &out, &out), out.String())
	for i, verb := range [][]string{
		{"archive", "a.nc", "--preset", "fast"},
		{"restore", "a.nc.cdfz"},
		{"verify", "a.nc.cdfz"},
		{"repair", "a.nc.cdfz", "-o", "b.cdfz"},
		{"info", "a.nc.cdfz"},
		{"info", "a.nc.cdfz", "--blocks"},
		{"get", "a.nc.cdfz", "v[::1000]"},
		{"get", "a.nc.cdfz", "v", "-o", "v.npy"},
		{"get", "a.nc", "v", "-o", "v.csv"},
		{"dump", "a.nc.cdfz"},
		{"dump", "a.nc"},
		{"bench", "a.nc", "--chains", "fast", "--blocks", "1M", "--count", "1"},
	} {
		stops := []int64{0, 1, 3, 8}
		if testing.Short() {
			if i%3 != 0 {
				continue
			}
			stops = []int64{1}
		}
		for _, after := range stops {
			var requests atomic.Int64
			stalled := make(chan struct{}, 1000)
			files := http.FileServer(http.Dir(dir))
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) > after {
					stalled <- struct{}{}
					<-r.Context().Done()
					return
				}
				files.ServeHTTP(w, r)
			}))
			args := append([]string{verb[0], s.URL + "/" + verb[1]}, verb[2:]...)
			cmd, ended, made, stderr := startCommand(t, args)
			select {
			case <-stalled:
				time.Sleep(20 * time.Millisecond) // other requests begin
				interrupt(t, cmd, ended, stderr)
			case <-ended: // it needs no more requests
				require.Zero(t, cmd.ProcessState.ExitCode(), "%v: %s", args, stderr)
				after = 1000
			}
			s.CloseClientConnections()
			s.Close()
			if after < 1000 {
				require.Empty(t, names(t, made), "%v after %d requests", args, after)
			}
		}
	}
}

// TestStopWork interrupts verbs while they work on files with many variables.
func TestStopWork(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // it has no such signals
	}
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "x", Len: 2}}}
	for i := range n {
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprintf("v%d", i), DimIDs: []int{0}, Type: cdf3.Short})
	}
	require.NoError(t, h.Layout())
	b, err := h.Append(nil)
	require.NoError(t, err)
	dir := t.TempDir()
	src := filepath.Join(dir, "a.nc")
	require.NoError(t, os.WriteFile(src, append(b, make([]byte, 4*n)...), 0o666))
	var out bytes.Buffer
	require.Equal(t, terminal.ExitDone, run(t.Context(), []string{"archive", "--preset", "fast", src}, nil, &out, &out), out.String())
	for _, args := range [][]string{
		{"archive", "--zarr", "always", "-o", "x.cdfz", src},
		{"archive", "-o", "x.cdfz", src},
		{"verify", src + fileio.Suffix},
		{"repair", "-o", "x.cdfz", src + fileio.Suffix},
		{"restore", "-o", "x.nc", src + fileio.Suffix},
		{"info", src + fileio.Suffix},
		{"dump", src + fileio.Suffix},
		{"get", src, "v1"},
		{"bench", src},
	} {
		times := []time.Duration{30, 100, 300}
		if testing.Short() {
			times = times[:1]
		}
		for _, after := range times {
			cmd, ended, made, stderr := startCommand(t, args)
			select {
			case <-time.After(after * time.Millisecond):
				start := time.Now()
				if cmd.Process.Signal(syscall.SIGINT) != nil {
					break // it has ended
				}
				<-ended
				require.Less(t, time.Since(start), stopSoon, "%v", args)
				// -1: the signal came before the command caught signals, and ended it.
				require.Contains(t, []int{terminal.ExitDone, interrupted, -1}, cmd.ProcessState.ExitCode(), "%v: %s", args, stderr)
			case <-ended:
			}
			if <-ended; cmd.ProcessState.ExitCode() != terminal.ExitDone { // the target may have been complete already
				require.Subset(t, []string{"x.cdfz", "x.nc"}, names(t, made), "%v after %d ms", args, after)
			}
		}
	}
}
