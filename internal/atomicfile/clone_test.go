package atomicfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// TestRemoveLink removes links, and nothing else.
func TestRemoveLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	link := filepath.Join(dir, "l")
	require.NoError(t, os.Symlink("to", link))
	require.ErrorIs(t, RemoveLink(root, "l", "other"), nofollow.ErrReplaced)
	require.NoError(t, RemoveLink(root, "l", "to"))
	require.ErrorIs(t, RemoveLink(root, "l", "to"), os.ErrNotExist)
	require.NoError(t, os.WriteFile(link, []byte("file"), 0o600))
	require.ErrorIs(t, RemoveLink(root, "l", "to"), nofollow.ErrReplaced)
	require.FileExists(t, link)

	// A killed program leaves a link aside, which gets its name again.
	require.NoError(t, os.Remove(link))
	aside := ".l" + asideMark + "01234567"
	require.NoError(t, os.Symlink("to", filepath.Join(dir, aside)))
	name, ok := PutBack(root, aside)
	require.True(t, ok)
	require.Equal(t, "l", name)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
