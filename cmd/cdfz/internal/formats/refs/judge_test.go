//go:build judge

package refs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

const compare = `
import sys, xarray
import cdfz
cdfz.register()
refs, restored = sys.argv[1:]
a = xarray.open_dataset("reference://", engine="zarr", decode_times=False,
    backend_kwargs={"consolidated": False, "storage_options": {"fo": refs, "remote_protocol": "file"}})
b = xarray.open_dataset(restored, decode_times=False)
xarray.testing.assert_identical(a.load(), b.load())`

// TestJudgeJoined reads references to joined archives with fsspec, zarr and xarray, and the joined
// file with netCDF-C.
func TestJudgeJoined(t *testing.T) {
	lorenz, portable := pairs, pairs
	portable.Preset = archive.PresetPortable
	for _, o := range []archive.WriteOptions{lorenz, portable} {
		for _, newDim := range []string{"", "run"} {
			lens := []int{4, 2, 3}
			if newDim != "" {
				lens = []int{4, 4, 4}
			}
			dir := t.TempDir()
			d := dataset(t, dir, lens, newDim, o)
			var b bytes.Buffer
			_, err := WriteJSON(ctx, &b, Source{Dataset: d, URL: filepath.Join(dir, "x.ncml")})
			require.NoError(t, err)
			text, image := filepath.Join(dir, "x.json"), filepath.Join(dir, "x.nc")
			require.NoError(t, os.WriteFile(text, b.Bytes(), 0o666))
			all := make([]byte, d.File().Image().Size())
			_, err = d.File().Image().ReadAt(all, 0)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(image, all, 0o666))
			cmd := exec.Command("/usr/bin/python3", "-c", compare, text, image)
			cmd.Env = append(os.Environ(), "PYTHONPATH=../../../../../python", "PYTHONDONTWRITEBYTECODE=1")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
}
