//go:build judge && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeServeZarr opens archives with a view and without one with zarr and xarray over HTTP,
// and originals with fsspec.
func TestJudgeServeZarr(t *testing.T) {
	dir := t.TempDir()
	original := filepath.Join(dir, "original.nc")
	b, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(original, b, 0o644))
	for _, zarr := range []string{"always", "never"} {
		cmd := self(t, "archive", "-q", "--preset", "portable", "--block", "4K", "--zarr", zarr, "-o", filepath.Join(dir, zarr+".nc.cdfz"), original)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	s := serveOn(t, dir)
	cmd := exec.Command("/usr/bin/python3", "-c", `
import hashlib, sys, fsspec, numpy, xarray
original, at = sys.argv[1:]
want = xarray.open_dataset(original, engine="netcdf4").load()
for name in "always", "never", "original":
    got = xarray.open_zarr(at + "/zarr/" + name + ".nc", consolidated=True).load()
    assert set(got.variables) == set(want.variables), name
    for v in got.variables:
        if want[v].dtype.kind not in "SUO": # text is an array of bytes in the view
            xarray.testing.assert_equal(want[v], got[v])
        assert set(want[v].attrs) == set(got[v].attrs), v
        assert all(numpy.array_equal(want[v].attrs[a], got[v].attrs[a]) for a in want[v].attrs), v
data = open(original, "rb").read()
fs = fsspec.filesystem("http")
assert sorted(n["name"].rsplit("/", 1)[1] for n in fs.ls(at + "/files/")) == ["always.nc", "never.nc", "original.nc"]
with fs.open(at + "/files/never.nc", block_size=5000) as f:
    assert hashlib.sha256(f.read()).digest() == hashlib.sha256(data).digest()
    f.seek(100001); assert f.read(7777) == data[100001:107778]
xarray.testing.assert_identical(want, xarray.open_dataset(fs.open(at + "/files/never.nc"), engine="scipy").load())
`, original, s.at)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
