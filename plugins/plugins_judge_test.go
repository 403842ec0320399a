//go:build judge && linux && (amd64 || arm64)

package plugins

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
)

// TestJudgeLoad writes and reads an archive with a filter of a library that gcc makes, and with Debian's zfp.
func TestJudgeLoad(t *testing.T) {
	dir := t.TempDir()
	host := filepath.Join(dir, "host")
	run := func(name string, args ...string) {
		out, err := exec.Command(name, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run("go", "build", "-tags", "plugins", "-o", host, "../cmd/cdfz-plugin-host")
	fake := func(folder, id string) string {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
		run("gcc", "-shared", "-fPIC", "-w", "-DFILTER="+id, "-o", filepath.Join(dir, folder, "libfake.so"), "../internal/hdf5plugin/testdata/fake.c")
		return filepath.Join(dir, folder)
	}
	image, err := os.ReadFile("../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	name := filepath.Join(dir, "a.cdfz")
	write := func(id uint32, params ...uint32) error {
		var o archive.WriteOptions
		require.NoError(t, o.AddFilter("tas", filters.Filter{ID: id, Params: params}))
		_, err := archive.WriteFile(t.Context(), name, bytes.NewReader(image), int64(len(image)), &o, &archive.FileOptions{Overwrite: true})
		return err
	}
	require.ErrorIs(t, write(40401), filters.ErrUnknownFilter)

	t.Setenv("HDF5_PLUGIN_PRELOAD", "")
	t.Setenv("HDF5_PLUGIN_PATH", fake("one", "40401"))
	require.NoError(t, Load(&Options{Host: host}))
	require.NoError(t, write(40401))
	f, err := archive.Open(t.Context(), name, nil)
	require.NoError(t, err)
	defer f.Close()
	tas, err := f.Var("tas")
	require.NoError(t, err)
	require.Equal(t, "fake", tas.Chain()[0].Name)
	var back bytes.Buffer
	_, err = f.Image().WriteTo(&back)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, back.Bytes()))

	// Folders that are named, and a second call.
	err = Load(&Options{Folders: []string{filepath.Join(dir, "missing"), fake("two", "40402"), fake("one", "40401")}, Host: host})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, write(40402))
	require.NoError(t, write(40401))

	require.NoError(t, os.Unsetenv("HDF5_PLUGIN_PATH")) // t.Setenv restores it
	require.ErrorIs(t, write(32013, 5), filters.ErrUnknownFilter)
	require.NoError(t, Load(&Options{Host: host}))
	require.NoError(t, write(32013, 5))
}
