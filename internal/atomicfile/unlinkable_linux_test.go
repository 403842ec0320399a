package atomicfile

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestUnlinkable makes files on file systems with O_TMPFILE on which such a file cannot get a name. The first one
// is copied, and later ones have a temporary name from the start.
func TestUnlinkable(t *testing.T) {
	image := bytes.Repeat([]byte("0123456789abcdef"), 100000)
	for _, cause := range []error{syscall.EXDEV, syscall.EOPNOTSUPP, syscall.EISDIR, syscall.ENOENT, syscall.EINVAL, syscall.ENOSYS, syscall.EPERM, syscall.EACCES, syscall.ELOOP} {
		t.Run(cause.Error(), func(t *testing.T) {
			asked := 0
			with(t, func(c *calls) {
				c.nameUnnamed = func(f *os.File, in *place, name string) error {
					asked++
					return refused(cause)(f, in, name)
				}
			})
			dir := t.TempDir()
			src := filepath.Join(dir, "src")
			require.NoError(t, os.WriteFile(src, nil, 0o640))
			require.NoError(t, os.Chmod(src, 0o640))
			when := time.Unix(987654321, 123456789)
			require.NoError(t, os.Chtimes(src, when, when))
			st, err := os.Stat(src)
			require.NoError(t, err)
			for i, o := range []*Options{{Source: st}, {Source: st, Overwrite: true}, {}, {Overwrite: true}} {
				path := filepath.Join(dir, "x")
				if i == 1 {
					unlinkable.Clear() // the file is copied to take the place of an older one
				}
				if i == 2 {
					path = filepath.Join(dir, "y")
				}
				f, err := Create(path, o)
				require.NoError(t, err)
				_, err = f.Write(image)
				require.NoError(t, err)
				_, err = f.WriteAt([]byte("A"), 0)
				require.NoError(t, err)
				require.NoError(t, f.Truncate(int64(len(image)-1)))
				require.NoError(t, f.Commit())
				require.Empty(t, f.Leftover())
				require.True(t, read(t, path) == "A"+string(image[1:len(image)-1]))
				if o.Source != nil {
					now, err := os.Stat(path)
					require.NoError(t, err)
					require.Equal(t, st.Mode(), now.Mode())
					require.Equal(t, when, now.ModTime())
				}
			}
			require.LessOrEqual(t, asked, 3)
			require.Equal(t, []string{"src", "x", "y"}, names(t, dir))
		})
	}
}

// TestUnlinkableFull fails while a file is copied, or for a reason that a temporary name does not help. Nothing
// remains.
func TestUnlinkableFull(t *testing.T) {
	with(t, func(c *calls) { c.nameUnnamed = refused(syscall.ENOSPC) })
	dir := t.TempDir()
	err := create(t, filepath.Join(dir, "x"), nil).Commit()
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Empty(t, names(t, dir))
	// The folder is gone.
	with(t, func(c *calls) { c.nameUnnamed = nameUnnamed })
	sub := filepath.Join(dir, "sub")
	require.NoError(t, os.Mkdir(sub, 0o755))
	f := create(t, filepath.Join(sub, "x"), nil)
	require.NoError(t, os.Remove(sub))
	require.ErrorIs(t, f.Commit(), syscall.ENOENT)
	require.Empty(t, names(t, dir))
}
