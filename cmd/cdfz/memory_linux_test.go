package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak runs the command and returns the most memory that it had in RAM, in bytes. It looks
// again and again, since what the system counts for a finished process includes the memory
// of the process that started it.
func peak(t *testing.T, args ...string) int64 {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Args[0] = "cdfz"
	cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	most := int64(0)
	for {
		select {
		case err := <-ended:
			require.NoError(t, err, "%v: %s", args, &out)
			require.Positive(t, most)
			return most
		case <-time.After(2 * time.Millisecond):
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", cmd.Process.Pid))
		if self, _ := os.Readlink("/proc/self/exe"); err != nil || exe != self {
			continue
		}
		most = max(most, peakOf(t, strconv.Itoa(cmd.Process.Pid)))
	}
}

// forgetPeak makes the most memory that this process had what it has now, if that was much: what the
// system counts for a program that it starts is at least that.
func forgetPeak(t *testing.T) {
	if peakOf(t, "self") < 32<<20 {
		return
	}
	debug.FreeOSMemory()
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // man 5 proc_pid_clear_refs
}

// peakOf returns the most memory that a process had in RAM so far, in bytes, or 0 if it has ended.
func peakOf(t *testing.T, process string) int64 {
	b, _ := os.ReadFile("/proc/" + process + "/status")
	m := highWater.FindSubmatch(b)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	require.NoError(t, err)
	return n << 10
}

// TestMemory checks that --memory is obeyed for a file with 200 interleaved record variables:
// one of 160 MiB within 96 MiB, in the soak one of 10 GiB within 256 MiB.
func TestMemory(t *testing.T) {
	size, limit := int64(160<<20), int64(96<<20)
	if os.Getenv("CDFZ_SOAK") != "" {
		size, limit = 10<<30, 256<<20
	}
	if testing.Short() {
		return // files as large as the limit take seconds
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	name := filepath.Join(dir, "a.nc")
	_, err := trees.Sparse(name, 200, size)
	require.NoError(t, err)
	memory := fmt.Sprint("--memory=", limit)
	for _, args := range [][]string{
		{"archive", "-q", memory, name},
		{"verify", "-q", memory, name + fileio.Suffix},
		{"restore", "-q", memory, "-f", name + fileio.Suffix},
		{"restore", "-q", memory, "-f", "--salvage", name + fileio.Suffix},
		{"repair", "-q", memory, "-o", filepath.Join(dir, "b.cdfz"), name + fileio.Suffix},
		{"copy", "-q", memory, "-F", "none", name + fileio.Suffix, filepath.Join(dir, "c.cdfz")},
		{"copy", "-q", memory, name + fileio.Suffix, filepath.Join(dir, "c.nc")},
		{"get", "-q", memory, "-o", filepath.Join(dir, "g.nc"), name + fileio.Suffix, "v000", "v001"},
		{"dump", "-q", memory, "-v", "v000", name + fileio.Suffix},
		{"export", "-q", memory, "-o", filepath.Join(dir, "e.nc4"), name + fileio.Suffix},
		{"export", "-q", memory, "-o", filepath.Join(dir, "e.zarr"), name + fileio.Suffix},
		{"catalogue", "-q", memory, "-o", filepath.Join(dir, "e.parquet"), name + fileio.Suffix},
	} {
		got := peak(t, args...)
		t.Logf("%s: %d MiB", args[0], got>>20)
		require.LessOrEqual(t, got, limit, "%v", args)
	}
}

// TestMemoryParity checks that --memory is obeyed while parity of several groups is added,
// checked and used. The tables of the Reed-Solomon code and one group take most of it.
func TestMemoryParity(t *testing.T) {
	if testing.Short() {
		return // the archive is longer than three groups
	}
	const limit = 208 << 20
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	name := filepath.Join(dir, "a.nc")
	noise(t, name, 100<<20)
	ar := name + fileio.Suffix
	memory := fmt.Sprint("--memory=", limit)
	within := func(args ...string) {
		got := peak(t, args...)
		t.Logf("%s: %d MiB", args[0], got>>20)
		require.LessOrEqual(t, got, int64(limit), "%v", args)
	}
	within("archive", "-q", "-j", "8", memory, "--preset", "fast", "--parity", "1%", name)
	within("parity", "-q", "-j", "8", memory, "-p", "0", ar)
	within("parity", "-q", "-j", "8", memory, ar) // in place
	within("parity", "-q", "-j", "8", memory, "-p", "6%", ar)
	within("verify", "-q", "-j", "8", memory, ar)
	intact, err := os.ReadFile(ar)
	require.NoError(t, err)
	bad := bytes.Clone(intact)
	for off := 1 << 20; off < len(bad); off += 8 << 20 { // some in every group
		clear(bad[off : off+4096])
	}
	require.NoError(t, os.WriteFile(ar, bad, 0o666))
	within("repair", "-q", "-j", "8", memory, ar)
	healed, err := os.ReadFile(ar)
	require.NoError(t, err)
	require.True(t, bytes.Equal(intact, healed))
}

// noise writes a netCDF file with n bytes that do not compress.
func noise(t *testing.T, name string, n int) {
	h := cdf3.Header{Version: cdf3.Version(2), Dims: []cdf3.Dim{{Name: "x", Len: int64(n)}}}
	h.Vars = []cdf3.Var{{Name: "v", Type: cdf3.Byte, DimIDs: []int{0}}}
	require.NoError(t, h.Layout())
	b, err := h.Append(nil)
	require.NoError(t, err)
	b = append(b, make([]byte, n)...)
	_, err = rand.NewChaCha8([32]byte{}).Read(b[len(b)-n:])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, b, 0o666))
}
