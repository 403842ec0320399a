//go:build unix

package nofollow

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPipe opens a pipe, which must not wait for its writer.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o666))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	_, err = Folder(root, "pipe")
	require.ErrorIs(t, err, ErrNotFolder)
	_, _, err = File(root, "pipe", os.O_RDONLY)
	require.ErrorIs(t, err, ErrNotRegular)
}
