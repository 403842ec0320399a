package archivefs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
)

// TestNew checks that a folder of archives, folders and other files looks like one of
// classic files.
func TestNew(t *testing.T) {
	dir := t.TempDir()
	when := time.Unix(1e9, 0)
	images := map[string][]byte{}
	put := func(name string, b []byte) {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, b, 0o666))
		require.NoError(t, os.Chtimes(name, when, when))
	}
	n := 0
	for name, image := range archivetest.Classic(t) {
		if n++; n > 6 {
			break
		}
		images[name], images["sub/deep/"+name] = image, image
		put(name+archive.Suffix, packtest.Pack(t, image, nil))
		put("sub/deep/"+name+archive.Suffix, packtest.Pack(t, image, nil))
	}
	ar := packtest.Pack(t, archivetest.Cube(t, 3, 4, 5), nil)
	put("both.nc", []byte("original"))
	put("both.nc.cdfz", ar)
	put("odd.cdfz", []byte("not an archive"))
	put(".cdfz", ar)
	put("..cdfz", ar)
	put("sub/notes.txt", []byte("text"))
	put("folder.cdfz/x", nil)
	for name, b := range map[string][]byte{"both.nc": []byte("original"), "both.nc.cdfz": ar, "odd.cdfz": []byte("not an archive"),
		".cdfz": ar, "..cdfz": ar, "sub/notes.txt": []byte("text"), "folder.cdfz/x": {}} {
		images[name] = b
	}
	fsys := New(os.DirFS(dir), nil)
	var names []string
	for name, want := range images {
		names = append(names, name)
		got, err := fs.ReadFile(fsys, name)
		require.NoError(t, err, name)
		require.True(t, bytes.Equal(want, got), name)
		st, err := fs.Stat(fsys, name)
		require.NoError(t, err)
		require.Equal(t, int64(len(want)), st.Size(), name)
		require.True(t, st.ModTime().Equal(when), name)
		f, err := fsys.Open(name)
		require.NoError(t, err)
		_, ok := f.(io.ReaderAt)
		require.True(t, ok, name)
		_, err = f.(io.Seeker).Seek(int64(len(want)/2), io.SeekStart)
		require.NoError(t, err)
		got, err = io.ReadAll(f)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want[len(want)/2:], got), name)
		require.NoError(t, f.Close())
	}
	require.NoError(t, fstest.TestFS(fsys, names...))
	var walked []string
	require.NoError(t, fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			walked = append(walked, name)
		}
		return err
	}))
	require.ElementsMatch(t, names, walked)
	for _, name := range []string{"none.nc", "odd", "both.nc.cdfz.cdfz", "folder", "sub/deep", "/both.nc", "sub/../both.nc"} {
		f, err := fsys.Open(name)
		if name == "sub/deep" {
			require.NoError(t, err)
			_, err = f.Read(make([]byte, 1))
			require.Error(t, err)
			require.NoError(t, f.Close())
			continue
		}
		var p *fs.PathError
		require.True(t, errors.As(err, &p), name)
		require.Equal(t, name, p.Path)
		require.True(t, errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid), "%s: %v", name, err)
	}
}

// TestNewDamaged checks that a damaged archive is listed and cannot be opened.
func TestNewDamaged(t *testing.T) {
	ar := packtest.Pack(t, archivetest.Cube(t, 3, 4, 5), nil)
	fsys := New(fstest.MapFS{"x.nc.cdfz": {Data: ar[:len(ar)-1]}}, &archive.OpenOptions{Cache: -1})
	list, err := fs.ReadDir(fsys, ".")
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "x.nc", list[0].Name())
	_, err = fsys.Open("x.nc")
	require.ErrorIs(t, err, archive.ErrCorrupt)
	require.ErrorContains(t, err, "x.nc")
	_, err = list[0].Info()
	require.ErrorIs(t, err, archive.ErrCorrupt)
	_, err = fsys.Open("x.nc.cdfz")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestNewLinks checks that a name belongs to a link even if the link leads nowhere, and that a
// link to an archive appears as the image.
func TestNewLinks(t *testing.T) {
	dir := t.TempDir()
	image := archivetest.Cube(t, 3, 4, 5)
	for _, name := range []string{"a.nc", "lost.nc"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+archive.Suffix), packtest.Pack(t, image, nil), 0o666))
	}
	if err := os.Symlink("none", filepath.Join(dir, "lost.nc")); err != nil {
		t.Skip(err)
	}
	require.NoError(t, os.Symlink("a.nc.cdfz", filepath.Join(dir, "latest.nc.cdfz")))
	fsys := New(os.DirFS(dir), nil)
	list, err := fs.ReadDir(fsys, ".")
	require.NoError(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"a.nc", "latest.nc", "lost.nc", "lost.nc.cdfz"}, names)
	got, err := fs.ReadFile(fsys, "latest.nc")
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, got))
	_, err = fs.Stat(fsys, "lost.nc")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fs.Stat(fsys, "lost.nc.cdfz")
	require.NoError(t, err)
}

// sequential is a file system whose files have no ReadAt.
type sequential struct{ fs.FS }

func (s sequential) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return struct{ fs.File }{f}, err
}

// TestSequential shows files that cannot be read at an offset.
func TestSequential(t *testing.T) {
	files := fstest.MapFS{"x.nc.cdfz": {Data: packtest.Pack(t, archivetest.Cube(t, 2, 3, 5), nil)}}
	_, err := New(sequential{files}, nil).Open("x.nc")
	require.ErrorContains(t, err, "open x.nc.cdfz: expected a regular file that implements io.ReaderAt")
	_, err = New(files, nil).Open("x.nc")
	require.NoError(t, err)
}
