package nofollow

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFolders opens folders several times, and after they were replaced.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, name), nil, 0o666))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	f := &Folders{Root: root}
	open := func(name string) *Shared {
		s, err := f.Open(name)
		require.NoError(t, err)
		_, err = s.Lstat(name)
		require.NoError(t, err)
		return s
	}
	a := open("a")
	again := open("a")
	require.Same(t, a, again)
	d, err := a.Dir()
	require.NoError(t, err)
	require.NoError(t, again.Close())
	b := open("b")
	names, err := d.Readdirnames(-1)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names)
	require.NoError(t, a.Close())
	_, err = a.Lstat("a")
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, b.Close())
	require.Same(t, b, open("b"))
	require.NoError(t, b.Close())

	// The name of the folder belongs to another one, or to a link.
	require.NoError(t, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "c")))
	require.NoError(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
	other, err := f.Open("b")
	require.NoError(t, err)
	_, err = other.Lstat("a")
	require.NoError(t, err)
	require.NoError(t, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "a")))
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "b")))
	_, err = f.Open("b")
	require.ErrorIs(t, err, ErrLink)
	require.NoError(t, f.Close())
	last, err := f.Open("a")
	require.NoError(t, err)
	for _, s := range []*Shared{other, last} {
		require.NoError(t, s.Close())
		_, err = s.Lstat("a")
		require.ErrorIs(t, err, os.ErrClosed)
	}
}

// TestNoFollow opens files and folders, and links to such inside and outside of the folder.
func TestNoFollow(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	sub := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(sub, 0o777))
	for _, d := range []string{sub, outside} {
		require.NoError(t, os.WriteFile(filepath.Join(d, "x"), []byte(d), 0o666))
	}
	for name, to := range map[string]string{"a/out": outside, "a/in": "b", "a/b/out": filepath.Join(outside, "x"), "a/b/in": "x", "a/b/lost": "none"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	for name, want := range map[string]error{
		"a": nil, ".": nil, "a/b": nil, "a//b/.": nil, "a/in": ErrLink, "a/out": ErrLink, "a/in/c": ErrLink, "a/b/x": ErrNotFolder, "c": fs.ErrNotExist, "a/c": fs.ErrNotExist,
	} {
		r, err := Folder(root, filepath.FromSlash(name))
		require.ErrorIs(t, err, want, name)
		if err == nil {
			require.NoError(t, r.Close())
		}
	}
	b, err := Folder(root, filepath.Join("a", "b"))
	require.NoError(t, err)
	defer b.Close()
	for name, want := range map[string]error{"x": nil, "in": ErrLink, "lost": fs.ErrNotExist, "none": fs.ErrNotExist, ".": ErrNotRegular} {
		f, st, err := File(b, name, os.O_RDONLY)
		require.ErrorIs(t, err, want, name)
		if err == nil {
			require.EqualValues(t, len(sub), st.Size())
			f.Close()
		}
	}
	_, _, err = File(b, "out", os.O_RDONLY)
	require.ErrorContains(t, err, filepath.Join(sub, "out")+": ")

	// The folder is renamed and its name leads elsewhere.
	require.NoError(t, os.Rename(sub, filepath.Join(dir, "moved")))
	require.NoError(t, os.Symlink(outside, sub))
	f, st, err := File(b, "x", os.O_RDONLY)
	require.NoError(t, err)
	defer f.Close()
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, sub, string(text))
	require.NoError(t, Is(b, "x", st))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "y"), []byte(sub), 0o666))
	require.NoError(t, os.Rename(filepath.Join(dir, "y"), filepath.Join(dir, "moved", "x")))
	require.ErrorIs(t, Is(b, "x", st), ErrReplaced)
}
