package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// folder begins a folder with one file.
func folder(t *testing.T, path, text string) *hiddenFolder {
	t.Helper()
	f, err := createFolder(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(f.Dir(), "a"), []byte(text), 0o666))
	return f
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	f := folder(t, path, "1")
	require.Len(t, names(t, dir), 1)
	require.True(t, IsTemporary(names(t, dir)[0]))
	require.NoError(t, f.Commit(false))
	require.NoError(t, f.Close())
	require.Equal(t, []string{"x"}, names(t, dir))

	f = folder(t, path, "2")
	require.NoError(t, f.Commit(true))
	require.NoError(t, f.Close())
	require.Equal(t, "2", read(t, filepath.Join(path, "a")))
	require.NoError(t, folder(t, path, "3").Close())
	require.Equal(t, "2", read(t, filepath.Join(path, "a")))
	require.Equal(t, []string{"x"}, names(t, dir))
}

// TestFolderKilled has hidden folders of programs that were killed, and of one that runs.
func TestFolderKilled(t *testing.T) {
	if !removesOpen {
		t.Skip("open files cannot be removed here")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	running := folder(t, path, "running")
	defer running.Close()
	killed := folder(t, path, "killed")
	require.NoError(t, killed.lock.Close())
	// Killed between the two renames of Commit.
	replacing := folder(t, path, "new")
	require.NoError(t, os.Mkdir(filepath.Join(replacing.hidden, folderOld), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(replacing.hidden, folderOld, "a"), []byte("old"), 0o666))
	require.NoError(t, replacing.lock.Close())
	other := folder(t, path+"y", "other")
	require.NoError(t, other.lock.Close())
	file := filepath.Join(dir, ".x"+tmpMark+"00000001")
	require.NoError(t, os.WriteFile(file, nil, 0o666))

	next := folder(t, path, "next")
	require.ElementsMatch(t, []string{"x", filepath.Base(running.hidden), filepath.Base(other.hidden), filepath.Base(file), filepath.Base(next.hidden)}, names(t, dir))
	require.Equal(t, "old", read(t, filepath.Join(path, "a")))
	require.NoError(t, next.lock.Close())

	// Without locks, nobody can tell whether it is in use.
	with(t, noLocks(syscall.ENOLCK))
	last := folder(t, path, "last")
	require.DirExists(t, next.hidden)
	require.NoError(t, last.Close())
}

// TestFolderStuck has a Commit that can neither name the new folder nor put the old one back.
// The old one is kept, and the next program restores it.
func TestFolderStuck(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	f := folder(t, path, "old")
	require.NoError(t, f.Commit(false))
	require.NoError(t, f.Close())

	f = folder(t, path, "new")
	renames := 0
	t.Run("failing", func(t *testing.T) {
		with(t, func(c *calls) {
			c.renameFolder = func(from, to string) error {
				if renames++; renames > 1 {
					return syscall.EIO
				}
				return os.Rename(from, to)
			}
		})
		require.ErrorIs(t, f.Commit(true), syscall.EIO)
	})
	require.Equal(t, 3, renames)
	require.NoError(t, f.Close())
	require.NoError(t, folder(t, path, "another").Close())
	require.Equal(t, "old", read(t, filepath.Join(path, "a")))
	require.Equal(t, []string{"x"}, names(t, dir))
}

// TestFolderFilled puts a file into the folder to replace at the last moment.
func TestFolderFilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	only := func(path string) bool { return HoldsOnly(path, func(name string) bool { return name == "a" }) }
	write := func(root *os.Root) error { return root.WriteFile("a", []byte("new"), 0o666) }
	require.NoError(t, WriteFolder(path, only, nil, write))
	require.NoError(t, WriteFolder(path, only, nil, write))
	t.Run("filled", func(t *testing.T) {
		with(t, func(c *calls) {
			c.renameFolder = func(from, to string) error {
				if from == path {
					require.NoError(t, os.WriteFile(filepath.Join(path, "b"), []byte("precious"), 0o666))
				}
				return os.Rename(from, to)
			}
		})
		require.ErrorIs(t, WriteFolder(path, only, nil, write), fs.ErrExist)
	})
	require.Equal(t, "precious", read(t, filepath.Join(path, "b")))
	require.Equal(t, []string{"x"}, names(t, dir))
	require.ErrorIs(t, WriteFolder(path, only, nil, write), fs.ErrExist)
	require.NoError(t, os.Remove(filepath.Join(path, "b")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(path, "a2")))
	require.ErrorIs(t, WriteFolder(path, only, nil, write), fs.ErrExist)
}

// TestCheckFolder has nothing in the way, a file, and a folder that may be replaced.
func TestCheckFolder(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	yes := func(string) bool { return true }
	no := func(string) bool { return false }
	replaces, err := checkFolder(name, yes)
	require.NoError(t, err)
	require.False(t, replaces)
	require.NoError(t, os.Mkdir(name, 0o777))
	replaces, err = checkFolder(name, yes)
	require.NoError(t, err)
	require.True(t, replaces)
	_, err = checkFolder(name, no)
	require.ErrorIs(t, err, fs.ErrExist)
	_, err = checkFolder(filepath.Join(name, "a\x00"), yes)
	require.Error(t, err)
}
