//go:build judge

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeNcgen makes netCDF-4 files with ncgen from the text of archives, and compares the values.
func TestJudgeNcgen(t *testing.T) {
	for _, name := range []string{"cdf1_climate_small.nc", "cdf2_climate.nc", "cdf5_climate_small.nc"} {
		src := filepath.Join("../../testdata/classic", name)
		for _, more := range [][]string{nil, {"--preset", "portable"}, {"--zarr", "always", "-F", "*,2|1,6?"}} {
			dir := t.TempDir()
			ar, text, file := filepath.Join(dir, "x.cdfz"), filepath.Join(dir, "x.cdl"), filepath.Join(dir, "x.nc")
			var out, msg bytes.Buffer
			require.Zero(t, run(t.Context(), append(append([]string{"archive", "-q", "-o", ar}, more...), src), nil, &out, &msg), "%s", &msg)
			require.Zero(t, run(t.Context(), []string{"dump", "--ncgen", "-p", "9,17", "-o", text, ar}, nil, &out, &msg), "%s", &msg)
			b, err := exec.Command("ncgen", "-o", file, text).CombinedOutput()
			require.NoError(t, err, "%s %v: %s", name, more, b)
			want, err := exec.Command("ncdump", "-p", "9,17", "-n", "x", src).Output()
			require.NoError(t, err)
			got, err := exec.Command("ncdump", "-p", "9,17", "-n", "x", file).Output()
			require.NoError(t, err)
			// ncdump breaks the lines of text attributes of netCDF-4 files in other places.
			_, want, _ = bytes.Cut(want, []byte("\ndata:\n"))
			_, got, ok := bytes.Cut(got, []byte("\ndata:\n"))
			require.True(t, ok)
			require.Equal(t, string(want), string(got), "%s %v", name, more)
		}
	}
}
