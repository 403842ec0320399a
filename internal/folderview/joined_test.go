package folderview

import (
	"errors"
	"io"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

// counter counts what is open.
type counter struct{ open int }

func (c *counter) Close() error {
	c.open--
	return nil
}

// TestJoined checks under which names descriptions of joined files appear, and that what they opened is
// closed.
func TestJoined(t *testing.T) {
	when := time.Unix(1e9, 0)
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), ModTime: when} }
	files := fstest.MapFS{
		"a.ncml": file("j"),                    // appears as a.nc
		"b.ncml": file("j"), "b.nc": file("b"), // a file comes first
		"c.ncml": file("j"), "c.nc.x": file("a"), // an archive comes first
		"d.ncml": file("b"),  // is no description
		"e.ncml": file("jb"), // does not open
		".ncml":  file("j"),
	}
	v, _ := marked(files)
	c := &counter{}
	v.Joined = &Joined[int64]{
		Suffix: ".ncml", Image: ".nc",
		Is: func(r io.ReaderAt, size int64) (bool, error) {
			var b [1]byte
			_, err := r.ReadAt(b[:], 0)
			return b[0] == 'j', err
		},
		Open: func(fsys fs.FS, name string, _ io.ReaderAt, size int64) (int64, io.Closer, error) {
			if size > 1 {
				return 0, nil, errors.New("a member is missing")
			}
			_, err := fs.Stat(fsys, name)
			c.open++
			return 5, c, err
		},
	}
	v.Warn = func(string, error) {}
	require.Equal(t, []string{".ncml", "a.nc", "b.nc", "b.ncml", "c.nc", "c.ncml", "d.ncml", "e.nc"}, names(t, v))
	require.Zero(t, c.open)
	for _, name := range names(t, v) {
		f, err := v.Find(name)
		require.NoError(t, err, name)
		require.Equal(t, name == "e.nc", f.Err != nil)
	}
	for _, name := range []string{"a.ncml", "e.ncml", "c.nc.x", "d.nc", ".nc"} {
		_, err := v.Find(name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
	}
	f, err := v.Find("a.nc")
	require.NoError(t, err)
	require.Equal(t, "a.ncml", f.Name)
	require.EqualValues(t, 50, f.Size)

	a, err := v.Acquire("a.ncml")
	require.NoError(t, err)
	require.Equal(t, 1, c.open)
	require.EqualValues(t, 5, a.NetCDF)
	v.Release(a)
	v.Close()
	require.Zero(t, c.open)
	shown, err := v.Open("a.nc")
	require.NoError(t, err)
	require.Equal(t, 1, c.open)
	require.NoError(t, shown.Close())
	require.Zero(t, c.open)

	v.WithArchives = true
	_, err = v.Find("a.ncml")
	require.NoError(t, err)
}
