package archivefs

import (
	"errors"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
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
	v.Joined = &Joined{
		Suffix: ".ncml", Image: ".nc",
		Is: func(r io.ReaderAt, size int64) (bool, error) {
			var b [1]byte
			_, err := r.ReadAt(b[:], 0)
			return b[0] == 'j', err
		},
		Read: func(_ io.ReaderAt, size int64) (JoinedFiles, error) {
			return func(fsys fs.FS, name string) (*archive.File, io.Closer, error) {
				if size > 1 {
					return nil, nil, errors.New("a member is missing")
				}
				_, err := fs.Stat(fsys, name)
				c.open++
				return opened[5], c, err
			}, nil
		},
		Refused: func(error) bool { return false },
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
	require.Same(t, opened[5], a.NetCDF)
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

// TestJoinedReads counts how often descriptions are read: never for a list, and otherwise once, also if they
// are refused, if many ask at the same time, and if a file that they name is missing. One is read at a time.
func TestJoinedReads(t *testing.T) {
	when := time.Unix(1e9, 0)
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), ModTime: when} }
	files := fstest.MapFS{"good.ncml": file("j"), "refused.ncml": file("jr"), "missing.ncml": file("jmm"), "unread.ncml": file("juuu")}
	v, _ := marked(files)
	v.Warn = func(string, error) {}
	var reads, now, most atomic.Int64
	bad, missing, disk := errors.New("bad"), errors.New("a member is missing"), errors.New("disk")
	v.Joined = &Joined{
		Suffix: ".ncml", Image: ".nc",
		Is: func(io.ReaderAt, int64) (bool, error) { return true, nil },
		Read: func(_ io.ReaderAt, size int64) (JoinedFiles, error) {
			reads.Add(1)
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			runtime.Gosched()
			switch size {
			case 2:
				return nil, bad
			case 4:
				return nil, disk
			}
			return func(fs.FS, string) (*archive.File, io.Closer, error) {
				if size == 3 {
					return nil, nil, missing
				}
				return opened[5], nothing{}, nil
			}, nil
		},
		Refused: func(err error) bool { return errors.Is(err, bad) },
	}
	for range 3 {
		require.Equal(t, []string{"good.nc", "missing.nc", "refused.nc", "unread.nc"}, names(t, v))
		_, err := v.Find("good.ncml")
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	require.Zero(t, reads.Load(), "a list reads no descriptions")

	each := func(name string, want error) int64 {
		before := reads.Load()
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				f, err := v.Find(name)
				if assert.NoError(t, err) {
					assert.ErrorIs(t, f.Err, want)
				}
				a, err := v.Acquire(strings.Replace(name, ".nc", ".ncml", 1))
				assert.ErrorIs(t, err, want)
				if err == nil {
					v.Release(a)
				}
			})
		}
		all.Wait()
		return reads.Load() - before
	}
	require.EqualValues(t, 1, each("good.nc", nil))
	require.EqualValues(t, 1, each("refused.nc", bad))
	require.EqualValues(t, 1, each("missing.nc", missing))
	require.EqualValues(t, 60, each("unread.nc", disk)) // which may be readable the next time
	require.EqualValues(t, 1, most.Load())

	files["refused.ncml"] = &fstest.MapFile{Data: []byte("j"), ModTime: when.Add(1)}
	require.EqualValues(t, 1, each("refused.nc", nil), "another file is read")

	// Sizes are found when somebody asks.
	v, _ = marked(files)
	v.Joined = &Joined{Suffix: ".ncml", Image: ".nc", Is: func(io.ReaderAt, int64) (bool, error) { return true, nil }, Read: func(io.ReaderAt, int64) (JoinedFiles, error) {
		return func(fs.FS, string) (*archive.File, io.Closer, error) { return opened[5], nothing{}, nil }, nil
	}}
	list, err := v.ReadDir(".")
	require.NoError(t, err)
	require.EqualValues(t, -1, FoundOf(list[0]).Size)
	info, err := list[0].Info()
	require.NoError(t, err)
	require.EqualValues(t, 50, info.Size())
}

// TestJoinedBytes checks that descriptions do not stay in memory without bound.
func TestJoinedBytes(t *testing.T) {
	j := &Joined{Read: func(io.ReaderAt, int64) (JoinedFiles, error) { return nil, nil }}
	for i := range 10 {
		_, err := j.read(Ident{ino: uint64(i + 1)}, nil, maxKnownBytes/3)
		require.NoError(t, err)
		require.LessOrEqual(t, j.bytes, int64(maxKnownBytes))
	}
	require.Equal(t, 3, j.known.Len())
	_, err := j.read(Ident{ino: 99}, nil, 2*maxKnownBytes)
	require.NoError(t, err)
	require.Equal(t, 1, j.known.Len())
}
