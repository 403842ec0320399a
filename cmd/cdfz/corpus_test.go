//go:build corpus

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestCorpusMalformedCommand archives malformed files. Each must result in a clear
// error with exit code 1 and nothing left behind, or in an archive that restores
// exactly. It takes every fourth file, or all with CDFZ_SOAK=1. TestCorpusMalformed of
// package archive takes all. With one worker, memory never exceeds 64 MiB plus the file.
// Every other worker may have another encoder of zstd, of 34 MiB.
func TestCorpusMalformedCommand(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "cdfz")
	out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	dir := t.TempDir()
	in, ar, back := filepath.Join(dir, "x.nc"), filepath.Join(dir, "x.nc.cdfz"), filepath.Join(dir, "back.nc")
	var most int64
	count := map[int]int{}
	run := func(f corpus.File, args ...string) (int, string) {
		forgetPeak(t)
		cmd := exec.Command(bin, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		if _, ok := err.(*exec.ExitError); !ok {
			require.NoError(t, err, f.Name)
		}
		rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		most = max(most, rss)
		require.LessOrEqual(t, rss, f.Size+64<<20, "%s: memory of %v", f.Name, args[0])
		return cmd.ProcessState.ExitCode(), stderr.String()
	}
	files := 0
	corpus.Malformed(t, func(f corpus.File) {
		files++
		if files%4 != 1 && os.Getenv("CDFZ_SOAK") == "" {
			return
		}
		image := f.Bytes(t)
		require.NoError(t, os.WriteFile(in, image, 0o644))
		code, text := run(f, "archive", "-q", "-j", "1", in)
		count[code]++
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		if code != 0 {
			require.Equal(t, 4, code, "%s: %s", f.Name, text)
			require.Contains(t, text, "cdfz: ", f.Name)
			require.Len(t, left, 1, "%s: something was left behind", f.Name)
			return
		}
		code, text = run(f, "restore", "-q", "-o", back, ar)
		require.Zero(t, code, "%s: %s", f.Name, text)
		got, err := os.ReadFile(back)
		require.NoError(t, err)
		require.True(t, bytes.Equal(image, got), f.Name)
		require.NoError(t, os.Remove(ar))
		require.NoError(t, os.Remove(back))
	})
	t.Logf("exit codes %v, at most %d MiB of memory", count, most>>20)
}
