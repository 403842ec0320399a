package protect

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// TestDelete lists the sources that are kept.
func TestDelete(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	name := filepath.Join(dir, "a")
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	open := func() (*os.File, os.FileInfo) {
		f, err := os.Open(name)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		st, err := f.Stat()
		require.NoError(t, err)
		return f, st
	}
	write(name, "abc")
	f, st := open()
	require.NoError(t, Delete(root, "a", f, st))
	require.NoFileExists(t, name)
	write(name, "abc")
	require.NoError(t, os.Symlink(name, filepath.Join(dir, "link")))
	f, st = open()
	require.ErrorContains(t, Delete(root, "link", f, st), "symbolic link")
	require.FileExists(t, name)

	// Another name of the file is removed meanwhile.
	hard := filepath.Join(dir, "hard")
	require.NoError(t, os.Link(name, hard))
	f, st = open()
	require.NoError(t, os.Remove(hard))
	require.NoError(t, Delete(root, "a", f, st))

	// The same size and time, but other bytes.
	write(name, "abc")
	f, st = open()
	time.Sleep(20 * time.Millisecond) // longer than the clock of the file system ticks
	write(name, "xyz")
	require.NoError(t, os.Chtimes(name, st.ModTime(), st.ModTime()))
	if runtime.GOOS == "linux" { // others do not tell
		require.ErrorContains(t, Delete(root, "a", f, st), "changed")
	}
	write(name, "more")
	require.ErrorContains(t, Delete(root, "a", f, st), "changed")
	f, st = open()
	require.NoError(t, os.Rename(name, hard))
	require.ErrorIs(t, Delete(root, "a", f, st), ErrKept)
	write(name, "more")
	require.ErrorContains(t, Delete(root, "a", f, st), "another file has its name")
	require.FileExists(t, name)
	require.FileExists(t, hard)
	if runtime.GOOS == "linux" {
		f, st = open()
		other, _ := open()
		require.NoError(t, atomicfile.Lock(other))
		require.ErrorContains(t, Delete(root, "a", f, st), "locked")
		require.FileExists(t, name)
	}
}
