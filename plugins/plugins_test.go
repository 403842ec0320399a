package plugins

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/hdf5plugin"
)

// TestSearched checks that the variables of HDF5 mean what they mean there.
func TestSearched(t *testing.T) {
	for _, name := range []string{"HDF5_PLUGIN_PATH", "HDF5_PLUGIN_PRELOAD"} {
		t.Setenv(name, "") // so that it comes back
		require.NoError(t, os.Unsetenv(name))
	}
	require.Equal(t, hdf5plugin.DefaultFolders(), searched())
	t.Setenv("HDF5_PLUGIN_PRELOAD", "::")
	require.Empty(t, searched())
	t.Setenv("HDF5_PLUGIN_PRELOAD", "")
	t.Setenv("HDF5_PLUGIN_PATH", "") // no folder, not those of HDF5
	require.Empty(t, searched())
	require.NoError(t, Load(nil))
	t.Setenv("HDF5_PLUGIN_PATH", filepath.Join("a", "b")+string(os.PathListSeparator)+"c")
	require.Equal(t, []string{filepath.Join("a", "b"), "c"}, searched())
	require.NoError(t, Load(nil), "HDF5's folders need not exist")
}

// TestErrors checks what a program learns without a host.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Load(&Options{Folders: []string{dir}, Host: "nosuch"}), "without a library, no process is started")
	require.ErrorIs(t, Load(&Options{Folders: []string{filepath.Join(dir, "missing")}}), fs.ErrNotExist)
	for _, name := range []string{"libx.so", "x.dll", "libx.dylib"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	require.ErrorIs(t, Load(&Options{Folders: []string{dir}, Host: filepath.Join(dir, "nosuch")}), filters.ErrUnavailable)
}
