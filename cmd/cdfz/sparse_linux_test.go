package main

import (
	"encoding/binary"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// roomOf returns the bytes that a file takes on disk.
func roomOf(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	require.NoError(t, err)
	return st.Sys().(*syscall.Stat_t).Blocks * 512
}

// sparseClassic writes a classic file of 64 MB with a few values, as NC_NOFILL leaves it.
func sparseClassic(t *testing.T, path string) {
	t.Helper()
	const n = 8 << 20
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "x", Len: n}}, Vars: []cdf3.Var{{Name: "v", Type: cdf3.Double, DimIDs: []int{0}}}}
	require.NoError(t, h.LayoutRead())
	b, err := h.Append(nil)
	require.NoError(t, err)
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Write(b)
	require.NoError(t, err)
	for _, i := range []int64{1000, n / 2} {
		_, err = f.WriteAt(binary.BigEndian.AppendUint64(nil, math.Float64bits(float64(i))), h.Vars[0].Begin+8*i)
		require.NoError(t, err)
	}
	require.NoError(t, f.Truncate(h.Vars[0].Begin+8*n))
	require.NoError(t, f.Sync())
}

// TestSparseRestore restores a file that was sparse. It takes no more room than its source, every proof holds for it, and
// a copy of it deletes and vouches for what it should.
func TestSparseRestore(t *testing.T) {
	p := newPlaced(t)
	require.NoError(t, os.Remove("data/a.nc"))
	sparseClassic(t, "data/a.nc")
	source, err := os.ReadFile("data/a.nc")
	require.NoError(t, err)
	room := roomOf(t, "data/a.nc")
	require.Less(t, room, int64(1<<20))
	same := func(path string) {
		t.Helper()
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, string(b) == string(source), path)
	}
	p.cdfz(0, "archive", "-q", "--receipts", "proof.jsonl", "--delete-source", "-o", "archives/", "data/")
	require.NoFileExists(t, "data/a.nc")

	p.cdfz(0, "restore", "-q", "-o", "data/", "archives/")
	same("data/a.nc")
	require.LessOrEqual(t, roomOf(t, "data/a.nc"), room)
	require.Contains(t, p.cdfz(0, "verify", "--against", "data/", "archives/"), "ok")
	p.cdfz(0, "receipts", "proof.jsonl")
	require.Contains(t, p.cdfz(0, "restore", "-v", "-o", "data/", "archives/"), "restored before")
	p.cdfz(0, "archive", "-q", "--receipts", "again.jsonl", "--delete-source", "-o", "again/", "data/")
	require.NoFileExists(t, "data/a.nc")
	p.cdfz(0, "restore", "-q", "-o", "data/", "again/")
	same("data/a.nc")

	always, never := "always.nc", "never.nc"
	p.cdfz(0, "restore", "-q", "--sparse", "always", "-o", always, "archives/a.nc.cdfz")
	p.cdfz(0, "restore", "-q", "--sparse=never", "-o", never, "archives/a.nc.cdfz")
	p.cdfz(0, "restore", "-q", "--salvage", "-o", "salvaged.nc", "archives/a.nc.cdfz")
	p.cdfz(0, "copy", "-q", "archives/a.nc.cdfz", "copied.nc")
	for _, name := range []string{always, never, "salvaged.nc", "copied.nc"} {
		same(name)
		require.Equal(t, name == never, roomOf(t, name) >= int64(len(source)), name)
		if name != never {
			// Holes that were dug can cost the file system a block to list them.
			require.LessOrEqual(t, roomOf(t, name), room+8<<10, name)
		}
	}
	p.cdfz(0, "get", "-q", "-o", "part.nc", "archives/a.nc.cdfz", "v[0:4000000]")
	require.Less(t, roomOf(t, "part.nc"), int64(1<<20))
	p.cdfz(2, "restore", "--sparse", "some", "archives/a.nc.cdfz")

	// A pipe gets all bytes.
	out, err := os.Create("piped.nc")
	require.NoError(t, err)
	defer out.Close()
	p.to(out, "restore", "-q", "-o", "-", "archives/a.nc.cdfz")
	same("piped.nc")
	require.NoError(t, filepath.WalkDir(".", func(name string, _ os.DirEntry, err error) error {
		require.NotContains(t, name, "cdfz-tmp")
		return err
	}))
}

// to runs the program, which must succeed, with its standard output piped to a file.
func (p *placed) to(out *os.File, args ...string) {
	p.t.Helper()
	cmd := exec.Command(p.exe, args...)
	cmd.Args[0] = "cdfz"
	cmd.Stdout = struct{ io.Writer }{out} // not the file itself
	require.NoError(p.t, cmd.Run())
}
