//go:build judge && linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeExportGDAL reads exports with GDAL as docs/export.md says: netCDF-4 files as the
// original, and Zarr stores whose chunks have no filter before the compressor.
func TestJudgeExportGDAL(t *testing.T) {
	dir := t.TempDir()
	b, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "o.nc"), b, 0o644))
	cdfz := func(args ...string) {
		t.Helper()
		cmd := self(t, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
	cdfz("archive", "-q", "--preset", "portable", "-o", "portable.nc.cdfz", "o.nc")
	cdfz("archive", "-q", "-o", "lorenz.nc.cdfz", "o.nc")
	values := func(name, v string) string {
		_, data, ok := strings.Cut(output(dir, "ncdump", "-v", v, name), "\ndata:\n")
		require.True(t, ok, name)
		return data
	}
	for _, name := range []string{"portable", "lorenz"} {
		cdfz("export", "-q", "-o", name+".nc4", name+".nc.cdfz")
		for _, v := range []string{"tas", "ta", "pr"} {
			for _, from := range []string{"o.nc", name + ".nc4"} {
				require.Equal(t, "<nil>", output(dir, "gdal_translate", "-q", "-of", "ENVI", "NETCDF:"+from+":"+v, from+"."+v))
			}
			want, err := os.ReadFile(filepath.Join(dir, "o.nc."+v))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(dir, name+".nc4."+v))
			require.NoError(t, err)
			require.Equal(t, want, got, v)
		}
	}
	for from, filters := range map[string]string{"lorenz.nc.cdfz": "32001,0,0,0,0,5,1,5", "o.nc": "1,6"} {
		cdfz("export", "-q", "--filters", filters, "-o", from+".zarr", from)
		for _, v := range []string{"tas", "ta", "pr", "orog"} {
			// GDAL writes the attributes of some variables with another type, and says so.
			output(dir, "gdalmdimtranslate", "-of", "netCDF", "-array", "name="+v, from+".zarr", from+"."+v+".nc")
			require.Equal(t, values("o.nc", v), values(from+"."+v+".nc", v), v)
		}
	}
}
