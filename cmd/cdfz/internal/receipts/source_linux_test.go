package receipts

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
	require.ErrorContains(t, Deletable(name, f, st), "open for writing")
	require.NoError(t, w.Close())
	require.NoError(t, Deletable(name, f, st))
}
