//go:build judge && linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/internal/nstest"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

// calls are the system calls that are made to fail, with their errors. The runtime's own
// are not among them.
var calls = []struct{ name, errno string }{
	{"openat", "EIO"}, {"pread64", "EIO"}, {"read", "EIO"}, {"write", "ENOSPC"}, {"pwrite64", "EIO"}, {"fsync", "EIO"},
	{"ftruncate", "EIO"}, {"linkat", "EIO"}, {"renameat", "EIO"}, {"fchmod", "EPERM"}, {"fchown", "EPERM"}, {"utimensat", "EIO"}, {"flock", "EIO"},
}

// TestSyscalls makes system calls of archive, restore and repair fail in turn, and kills the
// program there: some of them, or all with CDFZ_SOAK=1. A target is complete or not there,
// sources stay, and a second run ends the work and leaves nothing behind.
func TestSyscalls(t *testing.T) {
	soak := os.Getenv("CDFZ_SOAK") != ""
	base := t.TempDir()
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(base, "a.nc"), image, 0o666))
	cdfz := func(dir string, args ...string) (string, error) {
		cmd := self(t, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := cdfz(base, "archive", "--parity", "5%", "-o", "a.cdfz", "a.nc")
	require.NoError(t, err, out)
	whole, err := os.ReadFile(filepath.Join(base, "a.cdfz"))
	require.NoError(t, err)
	broken := bytes.Clone(whole)
	clear(broken[20000:20500])
	broken = broken[:len(broken)-500]

	verbs := []struct {
		args           []string
		source, target string
		before, after  []byte // source and target
		inPlace        bool
	}{
		{[]string{"archive", "--parity", "5%", "-o", "t", "a.nc"}, "a.nc", "t", image, whole, false},
		{[]string{"restore", "-o", "t", "s"}, "s", "t", whole, image, false},
		{[]string{"repair", "s"}, "s", "s", broken, whole, true},
		{[]string{"repair", "-o", "t", "s"}, "s", "t", broken, whole, false},
	}
	runs := 0
	for v, verb := range verbs {
		for c, call := range calls {
			for _, inject := range []string{"error=" + call.errno, "signal=KILL"} {
				if !soak && (v+c)%5 != 0 {
					continue
				}
				for n := 1; ; n++ {
					if !soak && n > 1 {
						break
					}
					dir := t.TempDir()
					require.NoError(t, os.WriteFile(filepath.Join(dir, verb.source), verb.before, 0o666))
					log := filepath.Join(base, "log")
					cmd := self(t, verb.args...)
					exe, name := cmd.Path, cmd.Args[0]
					link := filepath.Join(base, name)
					_ = os.Symlink(exe, link)
					trace := exec.Command("strace", append([]string{"-f", "-qq", "-o", log, "-e", "trace=" + call.name,
						"-e", fmt.Sprintf("inject=%s:%s:when=%d", call.name, inject, n), link}, verb.args...)...)
					trace.Dir = dir
					trace.Env = append(os.Environ(), "GOMAXPROCS=1")
					text, ferr := trace.CombinedOutput()
					logged, err := os.ReadFile(log)
					require.NoError(t, err)
					where := fmt.Sprintf("cdfz %s: %s of %s %d: %s", strings.Join(verb.args, " "), inject, call.name, n, text)
					if !strings.Contains(string(logged), "INJECTED") && !strings.Contains(string(logged), "killed by SIGKILL") {
						break // no such call
					}
					runs++
					got, err := os.ReadFile(filepath.Join(dir, verb.target))
					switch {
					case verb.inPlace:
						require.NoError(t, err)
					case err == nil:
						require.True(t, bytes.Equal(verb.after, got), where)
					default:
						require.ErrorIs(t, err, os.ErrNotExist, where)
						require.Error(t, ferr, where)
					}
					if !verb.inPlace {
						src, err := os.ReadFile(filepath.Join(dir, verb.source))
						require.NoError(t, err, where)
						require.True(t, bytes.Equal(verb.before, src), where)
					}
					args := verb.args
					if !verb.inPlace {
						args = append([]string{verb.args[0], "-f"}, verb.args[1:]...)
					}
					out, err := cdfz(dir, args...)
					require.NoError(t, err, "%s\nagain: %s", where, out)
					got, err = os.ReadFile(filepath.Join(dir, verb.target))
					require.NoError(t, err)
					require.True(t, bytes.Equal(verb.after, got), where)
					list, err := os.ReadDir(dir)
					require.NoError(t, err)
					want := 2
					if verb.inPlace {
						want = 1
					}
					require.Len(t, list, want, where)
				}
			}
		}
	}
	t.Logf("%d runs", runs)
	require.Positive(t, runs)
}

// TestFlushFails makes the flush of the file system for several files fail: each file then
// flushes itself, and all archives are complete. File systems without such a flush do the
// latter at once.
func TestFlushFails(t *testing.T) {
	base := t.TempDir()
	_, err := trees.Write(filepath.Join(base, "data"), 40)
	require.NoError(t, err)
	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(base, &fs))
	for n := 1; n <= 3; n++ {
		cmd := self(t, "archive")
		link := filepath.Join(base, cmd.Args[0])
		_ = os.Symlink(cmd.Path, link)
		trace := exec.Command("strace", "-f", "-qq", "-o", filepath.Join(base, "log"), "-e", "trace=syncfs",
			"-e", fmt.Sprintf("inject=syncfs:error=EIO:when=%d", n), link, "archive", "-q", "-f", "-o", "out/", "data")
		trace.Dir = base
		trace.Env = os.Environ()
		out, err := trace.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Len(t, walked(t, filepath.Join(base, "out")), 40)
		noTemporaries(t, base)
		if logged, err := os.ReadFile(filepath.Join(base, "log")); n == 1 && fs.Type == unix.EXT4_SUPER_MAGIC {
			require.NoError(t, err)
			require.Contains(t, string(logged), "INJECTED", "files are not flushed together")
		}
	}
}

// TestWholeChangedKilled kills archive --whole --delete-source where it makes, exchanges and deletes files. The source has other
// bytes than the file that an earlier run has kept, and its size and time. Once the source is gone, the tree has the new bytes.
func TestWholeChangedKilled(t *testing.T) {
	write := func(dir, text string) {
		name := filepath.Join(dir, "data/n.txt")
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
		at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
		require.NoError(t, os.Chtimes(name, at, at))
	}
	runs := 0
	for _, call := range []string{"linkat", "renameat2", "unlinkat"} {
		for n := 1; ; n++ {
			dir := nstest.Folder(t)
			cdfz := func(args ...string) {
				t.Helper()
				cmd := self(t, args...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s %d: cdfz %s: %s", call, n, strings.Join(args, " "), out)
			}
			write(dir, "notes\n")
			cdfz("archive", "--whole", "-q", "-o", "arch/", "data")
			write(dir, "Notes\n")
			args := []string{"archive", "--whole", "-q", "-f", "--replace-other", "--skip-existing", "hash", "--receipts", "r.jsonl", "--delete-source", "-o", "arch/", "data"}
			cmd := self(t, args...)
			link := filepath.Join(dir, cmd.Args[0])
			require.NoError(t, os.Symlink(cmd.Path, link))
			log := filepath.Join(dir, "log")
			trace := exec.Command("strace", append([]string{"-f", "-qq", "-o", log, "-e", "trace=" + call,
				"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), link}, args...)...)
			trace.Dir, trace.Env = dir, append(os.Environ(), "GOMAXPROCS=1")
			_, _ = trace.CombinedOutput() // the log tells whether it was killed
			logged, err := os.ReadFile(log)
			require.NoError(t, err)
			if !strings.Contains(string(logged), "killed by SIGKILL") {
				break // no such call
			}
			runs++
			left, err := os.ReadDir(filepath.Join(dir, "data"))
			if err == nil && len(left) > 0 {
				cdfz(args...)
			}
			cdfz("verify", "-q", "arch")
			cdfz("restore", "-q", "-o", "back/", "arch")
			got, err := os.ReadFile(filepath.Join(dir, "back/n.txt"))
			require.NoError(t, err)
			require.Equal(t, "Notes\n", string(got), "%s %d", call, n)
		}
	}
	t.Logf("%d runs", runs)
	require.Greater(t, runs, 5)
}
