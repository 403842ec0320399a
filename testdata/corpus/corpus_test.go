package corpus

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSparse checks that a sparse file has the same content when written to disk.
func TestSparse(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CDFZ_CORPUS", dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sparse"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sparse", "x.nc.json"), []byte(`{"size":1000,"extents":[[500,"0102"],[0,"43444601"],[998,"ff"]]}`), 0o644))
	files := 0
	Sparse(t, func(t *testing.T, f File) {
		files++
		want := make([]byte, 1000)
		copy(want, "CDF\x01")
		want[500], want[501], want[998] = 1, 2, 0xff
		require.Equal(t, "x.nc", f.Name)
		require.True(t, bytes.Equal(want, f.Bytes(t)))
		name := filepath.Join(t.TempDir(), f.Name)
		f.WriteFile(t, name)
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
	})
	require.Equal(t, 1, files)
}
