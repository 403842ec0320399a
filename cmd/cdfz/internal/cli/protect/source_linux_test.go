package protect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriter checks that a file is kept while a program may write to it.
func TestWriter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	w, err := os.Create(name)
	require.NoError(t, err)
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	st, err := f.Stat()
	require.NoError(t, err)
	root, err := os.OpenRoot(filepath.Dir(name))
	require.NoError(t, err)
	defer root.Close()
	require.ErrorContains(t, Delete(root, "a", f, st), "open for writing")
	require.FileExists(t, name)
	require.NoError(t, w.Close())
	require.NoError(t, Delete(root, "a", f, st))
	require.NoFileExists(t, name)
}
