package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// put makes a file appear at a path, as another program does.
func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o666))
	require.NoError(t, os.Rename(path+".new", path))
}

// TestMayReplace asks before a file is replaced, on each kind of file system.
func TestMayReplace(t *testing.T) {
	for name, change := range fileSystems {
		for kind, exchange := range map[string]func(in *place, a, b string) error{"exchange": exchange, "no exchange": fails(syscall.EINVAL)} {
			t.Run(name+", "+kind, func(t *testing.T) {
				with(t, change)
				with(t, func(c *calls) { c.exchange = exchange })
				path := filepath.Join(t.TempDir(), "x")
				refused := errors.New("refused")
				var asked []string
				var answer error
				o := &Options{Overwrite: true, MayReplace: func(st fs.FileInfo, fresh io.ReaderAt, size int64) error {
					asked = append(asked, read(t, path))
					require.EqualValues(t, len(asked[len(asked)-1]), st.Size())
					b := make([]byte, size)
					_, err := fresh.ReadAt(b, 0)
					require.True(t, err == nil || errors.Is(err, io.EOF))
					require.Equal(t, "new", string(b))
					return answer
				}}
				require.NoError(t, create(t, path, o).Commit())
				require.Empty(t, asked, "nothing is replaced")
				put(t, path, "old")
				answer = refused
				require.ErrorIs(t, create(t, path, o).Commit(), refused)
				require.Equal(t, "old", read(t, path))
				answer = nil
				require.NoError(t, create(t, path, o).Commit())
				require.Equal(t, "new", read(t, path))
				require.Equal(t, []string{"old", "old"}, asked)
				require.Equal(t, []string{"x"}, names(t, filepath.Dir(path)))
				// A file that appeared after Create is judged, too.
				require.NoError(t, os.Remove(path))
				f := create(t, path, o)
				put(t, path, "later")
				answer = refused
				require.ErrorIs(t, f.Commit(), refused)
				require.Equal(t, "later", read(t, path))
				require.Equal(t, []string{"x"}, names(t, filepath.Dir(path)))
			})
		}
	}
}

// TestReplacedMeanwhile lets another program put its file in place of the one that was judged,
// just before that is replaced. It is judged, too.
func TestReplacedMeanwhile(t *testing.T) {
	for _, named := range []bool{false, true} {
		for kind, exchanges := range map[string]bool{"exchange": true, "no exchange": false} {
			t.Run(kind, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x")
				var before func()
				with(t, func(c *calls) {
					c.unnamed = c.unnamed && !named
					can := c.exchange
					c.exchange = func(in *place, a, b string) error {
						if f := before; f != nil {
							before = nil
							f()
						}
						if !exchanges {
							return syscall.EINVAL
						}
						return can(in, a, b)
					}
				})
				var asked []string
				refuse := ""
				o := &Options{Overwrite: true, MayReplace: func(fs.FileInfo, io.ReaderAt, int64) error {
					asked = append(asked, read(t, path))
					if asked[len(asked)-1] == refuse {
						return errors.New("refused")
					}
					return nil
				}}
				put(t, path, "old")
				before = func() { put(t, path, "only copy") }
				refuse = "only copy"
				require.ErrorContains(t, create(t, path, o).Commit(), "refused")
				require.Equal(t, "only copy", read(t, path))
				require.Equal(t, []string{"x"}, names(t, filepath.Dir(path)))
				// It has gone.
				asked = nil
				before = func() { require.NoError(t, os.Remove(path)) }
				refuse = ""
				require.NoError(t, create(t, path, o).Commit())
				require.Equal(t, []string{"only copy"}, asked)
				require.Equal(t, "new", read(t, path))
				require.Equal(t, []string{"x"}, names(t, filepath.Dir(path)))
			})
		}
	}
}

// TestReplacedTwice lets another program put files in place of the target before and after the
// exchange. Both stay.
func TestReplacedTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	n := 0
	with(t, func(c *calls) {
		c.exchange = func(in *place, a, b string) error {
			if n++; n <= 2 {
				put(t, path, []string{"first", "second"}[n-1])
			}
			return errors.Join(in.Rename(a, a+".swap"), in.Rename(b, a), in.Rename(a+".swap", b))
		}
	})
	put(t, path, "old")
	err := create(t, path, &Options{Overwrite: true}).Commit()
	require.ErrorContains(t, err, "another program replaced the target meanwhile, with a file that is now ")
	list := names(t, filepath.Dir(path))
	require.Len(t, list, 2)
	require.False(t, IsTemporary(list[0]), "it must not be removed later")
	require.Equal(t, "second", read(t, filepath.Join(filepath.Dir(path), list[0])))
	require.Equal(t, "first", read(t, path))
}

// TestReplaceDevice refuses a link to what is not a regular file, such as /dev/stdout.
func TestReplaceDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if os.Symlink(os.DevNull, path) != nil {
		return // no links
	}
	_, err := Create(path, &Options{Overwrite: true})
	require.ErrorIs(t, err, ErrNotRegular)
}
