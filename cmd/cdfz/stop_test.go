package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// stepContext is a context whose Err is called before every read of a source. It acts
// on the n-th call.
type stepContext struct {
	context.Context
	left atomic.Int64
	do   func()
}

func (c *stepContext) Err() error {
	if c.left.Add(-1) == 0 {
		c.do()
	}
	return c.Context.Err()
}

// cancelAt returns a context that is cancelled by the n-th call of Err.
func cancelAt(n int64) *stepContext {
	ctx, cancel := context.WithCancel(context.Background())
	c := &stepContext{Context: ctx, do: cancel}
	c.left.Store(n)
	return c
}

// interrupted is the exit code of a cancelled run.
const interrupted = 130

// classicInto copies a classic file into a folder.
func classicInto(t *testing.T, dir, as string) string {
	t.Helper()
	b, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	name := filepath.Join(dir, as)
	require.NoError(t, os.WriteFile(name, b, 0o644))
	return name
}

// largeInto makes a classic file above 8 MiB, which is not archived in memory. It has
// one byte variable after the header.
func largeInto(t *testing.T, dir, as string) string {
	t.Helper()
	const n = 9 << 20
	b := []byte("CDF\x02\x00\x00\x00\x00" +
		"\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x01x\x00\x00\x00\x00\x90\x00\x00" + // dimension x of 9 Mi
		"\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x0b\x00\x00\x00\x01\x00\x00\x00\x01v\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x90\x00\x00\x00\x00\x00\x00\x00\x00\x00\x60")
	require.Less(t, len(b), 0x60+1)
	b = append(b, make([]byte, 0x60-len(b))...)
	random := rand.New(rand.NewPCG(3, 4))
	for range n {
		b = append(b, byte(random.IntN(16)))
	}
	name := filepath.Join(dir, as)
	require.NoError(t, os.WriteFile(name, b, 0o644))
	return name
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestInterrupted cancels a run at every point where it checks its context. Then the
// target must be complete or missing.
func TestInterrupted(t *testing.T) {
	dir, tmp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	src := largeInto(t, dir, "a.nc")
	var stdout, stderr bytes.Buffer
	archived := filepath.Join(dir, "ref.cdfz")
	require.Equal(t, terminal.ExitDone, run(t.Context(), []string{"archive", "--preset", "fast", "-o", archived, src}, nil, &stdout, &stderr), stderr.String())
	for _, args := range [][]string{
		{"archive", "--preset", "fast", "--block", "1M", src},
		{"restore", "-o", filepath.Join(dir, "b.nc"), archived},
		{"repair", "-o", filepath.Join(dir, "b.cdfz"), archived},
	} {
		if testing.Short() && args[0] == "repair" {
			continue // TestInterruptedRepair
		}
		before := names(t, dir)
		stopped := 0
		step := int64(2)
		if testing.Short() {
			step = 1
		}
		for n := int64(1); ; n += 1 + n/step {
			stdout.Reset()
			stderr.Reset()
			code := run(cancelAt(n), args, nil, &stdout, &stderr)
			require.Empty(t, names(t, tmp))
			if code == terminal.ExitDone {
				require.Len(t, names(t, dir), len(before)+1)
				break
			}
			stopped++
			require.Equal(t, interrupted, code)
			require.Equal(t, before, names(t, dir), "%v, step %d", args, n)
			require.True(t, strings.HasSuffix(stderr.String(), ": interrupted\n"), "%q", stderr.String())
			require.Less(t, n, int64(1e6))
		}
		require.Greater(t, stopped, 3, "%v", args)
		for _, name := range names(t, dir) {
			if name != "a.nc" && name != "ref.cdfz" {
				require.NoError(t, os.Remove(filepath.Join(dir, name)))
			}
		}
	}
}

// TestInterruptedRepair repairs in place and stops at every point. The repair must
// always be repeatable.
func TestInterruptedRepair(t *testing.T) {
	dir := t.TempDir()
	src := classicInto(t, dir, "a.nc")
	var out bytes.Buffer
	require.Equal(t, terminal.ExitDone, run(t.Context(), []string{"archive", "--zarr", "always", "--block", "2K", src}, nil, &out, &out), out.String())
	name := src + fileio.Suffix
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	second := filepath.Join(dir, "second.cdfz")
	require.NoError(t, os.WriteFile(second, want, 0o644))
	bad := bytes.Clone(want)
	clear(bad[len(bad)/4 : len(bad)/3])
	for _, c := range []struct {
		damaged []byte
		args    []string
		step    int64
	}{
		{want[:len(want)-8000], []string{"repair", name}, 1},
		{want[:len(want)/2], []string{"repair", "--from", second, name}, 17},
		{bad, []string{"repair", "--from", second, name}, 17},
		{nil, []string{"repair", "--from", second, name}, 17},
	} {
		require.NoError(t, os.WriteFile(name, c.damaged, 0o644))
		if testing.Short() {
			c.step *= 7
		}
		for n := int64(1); ; n += c.step {
			code := run(cancelAt(n), c.args, nil, &out, &out)
			if code == terminal.ExitDone {
				break
			}
			require.Equal(t, interrupted, code)
			require.Less(t, n, int64(1e5))
		}
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
	}
}

// TestInterruptedStdin checks that waiting for a pipe can be stopped.
func TestInterruptedStdin(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var out, stderr bytes.Buffer
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"archive", "-o", filepath.Join(dir, "x.cdfz"), "-"}, r, &out, &stderr)
	}()
	cancel()
	require.Equal(t, interrupted, <-done)
	require.Empty(t, names(t, dir))
	require.Contains(t, stderr.String(), "interrupted\n")
}

// TestSignals checks that the exit code is 128 plus the number of the signal.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // no such signals
	}
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		dir := t.TempDir()
		stdin, w, err := os.Pipe()
		require.NoError(t, err)
		defer w.Close()
		cmd := exec.Command(os.Args[0], "archive", "-o", filepath.Join(dir, "x.cdfz"), "-")
		cmd.Args[0] = "cdfz"
		cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz")
		var msg bytes.Buffer
		cmd.Stdin, cmd.Stderr = stdin, &msg
		// The command keeps ignoring signals that are ignored by its parent, as under
		// nohup and in the background of a shell. This must not happen here.
		c := make(chan os.Signal, 1)
		signal.Notify(c, sig)
		defer signal.Stop(c)
		require.NoError(t, cmd.Start())
		require.NoError(t, stdin.Close())
		_, err = w.Write(make([]byte, 1<<20)) // more than the pipe holds: the command reads
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(sig))
		_ = cmd.Wait()
		require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s", &msg)
		require.Equal(t, "cdfz: standard input: interrupted\n", msg.String())
		require.Empty(t, names(t, dir))
	}
}

// TestInterruptedSum checks that the sum of a run that was stopped counts no file as failed.
func TestInterruptedSum(t *testing.T) {
	dir := t.TempDir()
	src := classicInto(t, dir, "a.nc")
	var out bytes.Buffer
	require.Equal(t, terminal.ExitDone, run(t.Context(), []string{"archive", "-o", filepath.Join(dir, "b.nc.cdfz"), src}, nil, &out, &out), out.String())
	for _, args := range [][]string{{"archive"}, {"restore", "-o", filepath.Join(dir, "back") + "/"}, {"verify"}} {
		seen := 0
		for n := int64(1); ; n++ {
			var stdout, stderr bytes.Buffer
			code := run(cancelAt(n), append(args, dir), nil, &stdout, &stderr)
			if code == terminal.ExitDone {
				break
			}
			require.Equal(t, interrupted, code)
			require.NotContains(t, stdout.String(), "failed", "%v", args)
			if strings.Contains(stdout.String(), "file") { // a sum: the folder was listed by then
				require.Contains(t, stdout.String(), "; interrupted", "%v", args)
				seen++
			}
		}
		require.Positive(t, seen)
	}
}

// TestClosedPipe checks that a reader of standard output that stops early is no failure: there is no
// message, and the exit code is that of SIGPIPE.
func TestClosedPipe(t *testing.T) {
	dir := t.TempDir()
	src := classicInto(t, dir, "a.nc")
	archived := src + fileio.Suffix
	var out bytes.Buffer
	require.Equal(t, terminal.ExitDone, run(t.Context(), []string{"archive", "--parity", "5%", src}, nil, &out, &out), out.String())
	for _, args := range [][]string{
		{"archive", "-o", "-", src},
		{"restore", "-o", "-", archived},
		{"copy", archived, "-"},
		{"copy", "--to", "classic", archived, "-"},
		{"export", "--to", "nc4", "-o", "-", archived},
		{"export", "--refs", "json", "-o", "-", archived},
		{"repair", "-o", "-", archived},
		{"parity", "-o", "-", "-p", "10%", archived},
		{"catalogue", "-o", "-", archived},
		{"join", "-o", "-", archived},
		{"get", archived, "ta"},
		{"get", "--format", "npy", archived, "ta"},
		{"dump", archived},
		{"info", archived},
		{"verify", "--json", archived},
	} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		var stderr bytes.Buffer
		require.Equal(t, stop.ExitSignal+stop.Pipe, run(t.Context(), args, nil, w, &stderr), "%v: %s", args, &stderr)
		require.Empty(t, stderr.String(), "%v", args)
		require.NoError(t, w.Close())
	}
}

// TestSourceChanges checks that a source that changes while it is archived is an error,
// whenever that happens.
func TestSourceChanges(t *testing.T) {
	for _, make := range []func(*testing.T, string, string) string{classicInto, largeInto} {
		dir := t.TempDir()
		src := make(t, dir, "a.nc")
		whole, err := os.ReadFile(src)
		require.NoError(t, err)
		changes := map[string]func(){
			"grown":   func() { require.NoError(t, os.WriteFile(src, append(whole[:len(whole):len(whole)], 1, 2, 3), 0o644)) },
			"cut":     func() { require.NoError(t, os.Truncate(src, int64(len(whole)/2))) },
			"written": func() { require.NoError(t, os.WriteFile(src, bytes.Repeat(whole[:1], len(whole)), 0o644)) },
		}
		for name, change := range changes {
			found := 0
			for n := int64(1); n < 60; n += 1 + n {
				if testing.Short() && n != 7 {
					continue
				}
				require.NoError(t, os.WriteFile(src, whole, 0o644))
				_ = os.Remove(src + fileio.Suffix) // from a run that was faster
				ctx := &stepContext{Context: t.Context()}
				changed := false
				ctx.do = func() { change(); changed = true }
				ctx.left.Store(n + 3) // the file is open by then
				var stdout, stderr bytes.Buffer
				code := run(ctx, []string{"archive", "-f", "--preset", "fast", src}, nil, &stdout, &stderr)
				if !changed {
					break
				}
				if code == terminal.ExitFailed {
					found++
					require.Contains(t, stderr.String(), "a.nc: source changed while being archived", "%s at %d", name, n)
					require.Equal(t, []string{"a.nc"}, names(t, dir))
				}
			}
			require.Positive(t, found, name)
		}
	}
}

// TestCopySourceChanges checks that a source that is written in place while it is copied is an error, wherever the copy goes:
// what has exit code 0 is the source before.
func TestCopySourceChanges(t *testing.T) {
	dir := t.TempDir()
	src := largeInto(t, dir, "a.nc")
	whole := readFile(t, src)
	for _, out := range []string{"b.nc", "b.nc.cdfz", "-", "classic"} {
		target, args := filepath.Join(dir, out), []string{"copy", src, filepath.Join(dir, out)}
		switch out {
		case "-":
			args = []string{"copy", "--preset", "fast", src, "-"}
		case "classic":
			args = []string{"copy", "--to", "classic", src, "-"}
		}
		found := 0
		for n := int64(4); n < 60; n += n + 2 {
			if testing.Short() && n != 10 {
				continue
			}
			require.NoError(t, os.WriteFile(src, whole, 0o644))
			require.NoError(t, os.Chtimes(src, time.Unix(1e9, 0), time.Unix(1e9, 0))) // the new time is another one
			ctx, changed := &stepContext{Context: t.Context()}, false
			ctx.do = func() {
				f, err := os.OpenFile(src, os.O_WRONLY, 0)
				require.NoError(t, err)
				_, err = f.WriteAt(make([]byte, len(whole)/2), int64(len(whole)/2))
				require.NoError(t, errors.Join(err, f.Close()))
				changed = true
			}
			ctx.left.Store(n)
			var stdout, stderr bytes.Buffer
			code := run(ctx, args, nil, &stdout, &stderr)
			if !changed {
				require.Zero(t, code, stderr.String())
				_ = os.Remove(target)
				break
			}
			if code == terminal.ExitFailed {
				found++
				require.Regexp(t, `a.nc: (source changed|the archive differs from the source)`, stderr.String(), "%s at %d", out, n)
				require.Equal(t, []string{"a.nc"}, names(t, dir))
				continue
			}
			require.Zero(t, code, stderr.String())
			if out == "b.nc" {
				require.True(t, bytes.Equal(whole, readFile(t, target)), "%s at %d", out, n)
			}
			_ = os.Remove(target)
		}
		require.Positive(t, found, out)
	}
}
