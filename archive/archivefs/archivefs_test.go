package archivefs

import (
	"io"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

// opened stand for open files. The one at an index has an original of ten times that size.
var opened = []*archive.File{{}, {}, {}, {}, {}, {}}

// marked returns a view in which archives begin with "a", and the number of files whose first
// byte was read. Archives longer than two bytes cannot be opened.
func marked(fsys fs.FS) (*FS, *int) {
	read := new(int)
	return newFS(fsys, format{
		suffix: ".x",
		is: func(r io.ReaderAt, size int64) (bool, error) {
			*read++
			var b [1]byte
			_, err := r.ReadAt(b[:], 0)
			return b[0] == 'a', err
		},
		open: func(_ string, _ io.ReaderAt, size int64) (*archive.File, error) {
			if size > 2 {
				return nil, io.ErrUnexpectedEOF
			}
			return opened[size], nil
		},
		original: func(f *archive.File) (io.ReaderAt, int64, string) {
			return nil, 10 * int64(slices.Index(opened, f)), "sum"
		},
		lasting: func(error) bool { return true },
		cause:   error.Error,
	}), read
}

func names(t *testing.T, v fs.ReadDirFS) (out []string) {
	list, err := v.ReadDir(".")
	require.NoError(t, err)
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// TestRemembered checks that a file is read once while it does not change, and that files
// without a time are read each time.
func TestRemembered(t *testing.T) {
	when := time.Unix(1e9, 0)
	files := fstest.MapFS{"1.x": {Data: []byte("a"), ModTime: when}, "2.x": {Data: []byte("b"), ModTime: when}}
	v, read := marked(files)
	for range 3 {
		require.Equal(t, []string{"1", "2.x"}, names(t, v))
	}
	require.Equal(t, 2, *read)
	files["1.x"] = &fstest.MapFile{Data: []byte("aa"), ModTime: when}
	f, err := v.Find("1")
	require.NoError(t, err)
	require.Equal(t, int64(20), f.Size)
	require.Equal(t, 3, *read)
	files["2.x"] = &fstest.MapFile{Data: []byte("a")}
	for range 2 {
		require.Equal(t, []string{"1", "2"}, names(t, v))
	}
	require.Equal(t, 5, *read)
}

// TestOnly checks views of a single file, with its archive and without.
func TestOnly(t *testing.T) {
	v, _ := marked(fstest.MapFS{"1": {Data: []byte("b")}, "1.x": {Data: []byte("a")}, "2": {Data: []byte("b")}})
	require.Equal(t, []string{"1", "1.x", "2"}, names(t, v))
	v.Only = "1.x"
	require.Equal(t, []string{"1"}, names(t, v))
	for _, name := range []string{"1.x", "2", "1.x.x"} {
		_, err := v.Find(name)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	f, err := v.Find("1")
	require.NoError(t, err)
	require.True(t, f.Image)
	v.WithArchives = true
	require.Equal(t, []string{"1", "1.x"}, names(t, v))
	f, err = v.Find("1.x")
	require.NoError(t, err)
	require.False(t, f.Image)
}

// TestDamaged checks that an archive that cannot be opened is found and reported once, by the
// name from the first view's root.
func TestDamaged(t *testing.T) {
	v, _ := marked(nil)
	var warned []string
	v.Warn = func(name string, err error) { warned = append(warned, name) }
	v = v.At(fstest.MapFS{"1.x": {Data: []byte("aaa")}}, "sub")
	for range 2 {
		f, err := v.Find("1")
		require.NoError(t, err)
		require.ErrorIs(t, f.Err, io.ErrUnexpectedEOF)
	}
	_, err := v.Open("1")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, []string{"sub/1.x"}, warned)
}
