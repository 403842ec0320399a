package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// with replaces system calls for a test.
func with(t *testing.T, change func(*calls)) {
	t.Helper()
	old := sys
	change(&sys)
	unlinkable.Clear()
	t.Cleanup(func() { sys = old; unlinkable.Clear() })
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// create starts a file and writes "new".
func create(t *testing.T, path string, o *Options) *File {
	t.Helper()
	f, err := Create(path, o)
	require.NoError(t, err)
	_, err = f.Write([]byte("new"))
	require.NoError(t, err)
	return f
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// fails returns a call that always fails.
func fails(err error) func(in *place, from, to string) error {
	return func(_ *place, from, to string) error { return &os.LinkError{Op: "test", Old: from, New: to, Err: err} }
}

// refused returns a call that cannot name a file without a name.
func refused(err error) func(*os.File, *place, string) error {
	return func(_ *os.File, _ *place, name string) error { return &os.LinkError{Op: "link", New: name, Err: err} }
}

// fileSystems are kinds of file systems, named by the calls they lack.
var fileSystems = map[string]func(*calls){
	"all calls":            func(*calls) {},
	"no unnamed files":     func(c *calls) { c.unnamed = false },
	"EXDEV for a name":     func(c *calls) { c.nameUnnamed = refused(syscall.EXDEV) },
	"no rename to a free":  func(c *calls) { c.unnamed, c.renameFree = false, fails(syscall.EINVAL) },
	"no links":             func(c *calls) { c.unnamed, c.renameFree, c.link = false, fails(syscall.EINVAL), fails(syscall.EPERM) },
	"no locks: ENOSYS":     noLocks(syscall.ENOSYS),
	"no locks: ENOLCK":     noLocks(syscall.ENOLCK),
	"no locks: EOPNOTSUPP": noLocks(syscall.EOPNOTSUPP),
}

func noLocks(err error) func(*calls) {
	return func(c *calls) { c.unnamed, c.lock = false, func(*os.File) error { return err } }
}

// TestCreate runs through the life of files on each kind of file system. Without locks,
// nothing could be written once.
func TestCreate(t *testing.T) {
	for name, change := range fileSystems {
		t.Run(name, func(t *testing.T) {
			with(t, change)
			dir := t.TempDir()
			path := filepath.Join(dir, "x")

			f := create(t, path, nil)
			require.NoFileExists(t, path)
			require.NoError(t, f.Close())
			require.Empty(t, names(t, dir))

			f = create(t, path, nil)
			b := make([]byte, 3)
			_, err := f.ReadAt(b, 0)
			require.NoError(t, err)
			require.Equal(t, "new", string(b))
			require.EqualValues(t, 3, f.Size())
			require.NoError(t, f.Commit())
			require.NoError(t, f.Close()) // does nothing
			require.Equal(t, "new", read(t, path))
			require.Equal(t, []string{"x"}, names(t, dir))
			require.Empty(t, f.Leftover())

			// Overwrite an old file, which stays until Commit.
			_, err = Create(path, nil)
			require.ErrorIs(t, err, ErrExists)
			require.ErrorIs(t, err, os.ErrExist)
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
			f = create(t, path, &Options{Overwrite: true})
			require.Equal(t, "old", read(t, path))
			require.NoError(t, f.Commit())
			require.Equal(t, "new", read(t, path))
			require.Equal(t, []string{"x"}, names(t, dir))

			// A file that appears meanwhile is not overwritten.
			require.NoError(t, os.Remove(path))
			f = create(t, path, nil)
			require.NoError(t, os.WriteFile(path, []byte("theirs"), 0o600))
			require.ErrorIs(t, f.Commit(), ErrExists)
			require.Equal(t, "theirs", read(t, path))
			require.Equal(t, []string{"x"}, names(t, dir))

			// A name of 255 bytes: the temporary one must not be longer.
			long := filepath.Join(dir, strings.Repeat("n", 255))
			require.NoError(t, os.WriteFile(long, nil, 0o600))
			require.NoError(t, create(t, long, &Options{Overwrite: true}).Commit())
			require.Len(t, names(t, dir), 2)
		})
	}
}

// TestLeftover checks that a temporary name that cannot be removed is not a failure,
// since the target is complete.
func TestLeftover(t *testing.T) {
	with(t, func(c *calls) {
		c.unnamed, c.renameFree = false, fails(syscall.EPERM)
		c.remove = func(*place, string) error { return syscall.EPERM }
	})
	dir := t.TempDir()
	f := create(t, filepath.Join(dir, "x"), nil)
	require.NoError(t, f.Commit())
	require.Equal(t, "new", read(t, filepath.Join(dir, "x")))
	require.True(t, IsTemporary(filepath.Base(f.Leftover())))
	require.FileExists(t, f.Leftover())
}

// TestStale checks that unlocked temporary files are removed, and nothing else.
func TestStale(t *testing.T) {
	with(t, func(c *calls) { c.unnamed = false })
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	running := create(t, path, nil)
	stale := filepath.Join(dir, ".x"+tmpMark+"00000001")
	require.NoError(t, os.WriteFile(stale, nil, 0o600))
	readOnly := filepath.Join(dir, ".x"+tmpMark+"00000002") // killed while it was flushed
	require.NoError(t, os.WriteFile(readOnly, nil, 0o400))
	other := filepath.Join(dir, ".x"+tmpMark)
	require.NoError(t, os.WriteFile(other, nil, 0o600))

	cleaned.Delete(dir)
	second := create(t, path, nil)
	require.ElementsMatch(t, []string{filepath.Base(other), running.tmp, second.tmp}, names(t, dir))
	require.NoError(t, running.Commit())
	require.ErrorIs(t, second.Commit(), ErrExists)
	require.ElementsMatch(t, []string{filepath.Base(other), "x"}, names(t, dir))

	// Without locks, nobody can tell whether the file is in use.
	require.NoError(t, os.WriteFile(stale, nil, 0o600))
	with(t, noLocks(syscall.ENOLCK))
	cleaned.Delete(dir)
	require.NoError(t, create(t, path, &Options{Overwrite: true}).Close())
	require.FileExists(t, stale)
}

// TestMakeDirs checks that folders made for a file are removed with it.
func TestMakeDirs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "x")
	_, err := Create(path, nil)
	require.ErrorContains(t, err, "cannot write in folder "+filepath.Dir(path)+": ")
	require.NoError(t, create(t, path, &Options{MakeDirs: true}).Close())
	require.Empty(t, names(t, dir))
	require.NoError(t, create(t, path, &Options{MakeDirs: true}).Commit())
	require.Equal(t, []string{"x"}, names(t, filepath.Dir(path)))
	// Folders that are used by others meanwhile are kept.
	path = filepath.Join(dir, "c", "x")
	f := create(t, path, &Options{MakeDirs: true})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c", "y"), nil, 0o600))
	require.NoError(t, f.Close())
	require.Equal(t, []string{"y"}, names(t, filepath.Dir(path)))
}

// TestSource checks that permissions, modification time and owner are copied from the
// source.
func TestSource(t *testing.T) {
	for name, change := range fileSystems {
		t.Run(name, func(t *testing.T) {
			with(t, change)
			dir := t.TempDir()
			src := filepath.Join(dir, "src")
			require.NoError(t, os.WriteFile(src, nil, 0o600))
			require.NoError(t, os.Chmod(src, 0o640))
			when := time.Unix(987654321, 123456789)
			require.NoError(t, os.Chtimes(src, when, when))
			if os.Geteuid() == 0 {
				require.NoError(t, os.Chown(src, 12, 34))
			}
			st, err := os.Stat(src)
			require.NoError(t, err)
			path := filepath.Join(dir, "x")
			for range 2 {
				require.NoError(t, create(t, path, &Options{Source: st, Overwrite: true}).Commit())
				got, err := os.Stat(path)
				require.NoError(t, err)
				require.Equal(t, st.Mode(), got.Mode())
				require.Equal(t, st.ModTime(), got.ModTime())
				if uid, gid, ok := Owner(got); ok && os.Geteuid() == 0 {
					require.Equal(t, []int{12, 34}, []int{uid, gid})
				}
			}
			_, err = Create(src, &Options{Source: st, Overwrite: true})
			require.ErrorIs(t, err, ErrSame)
		})
	}
}

// TestInTheWay checks impossible targets.
func TestInTheWay(t *testing.T) {
	dir := t.TempDir()
	_, err := Create(dir, &Options{Overwrite: true})
	require.ErrorIs(t, err, ErrFolder)
	_, err = Create(os.DevNull, &Options{Overwrite: true})
	require.ErrorIs(t, err, ErrNotRegular)
	// A dangling link is replaced, not followed.
	link := filepath.Join(dir, "l")
	if os.Symlink("nowhere", link) != nil {
		return // no symbolic links on this system
	}
	_, err = Create(link, nil)
	require.ErrorIs(t, err, ErrExists)
	require.NoError(t, create(t, link, &Options{Overwrite: true}).Commit())
	require.Equal(t, []string{"l"}, names(t, dir))
}

// TestLock locks a file through two handles, and on a file system without locks.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	a, b := open(), open()
	require.NoError(t, Lock(a))
	if removesOpen {
		require.ErrorIs(t, Lock(b), ErrLocked)
	}
	with(t, noLocks(syscall.ENOSYS))
	require.NoError(t, Lock(b))
	with(t, noLocks(errors.New("another error")))
	require.Error(t, Lock(b))
}

func TestTemp(t *testing.T) {
	for name, change := range fileSystems {
		t.Run(name, func(t *testing.T) {
			with(t, change)
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			f, err := Temp()
			require.NoError(t, err)
			if removesOpen {
				require.Empty(t, names(t, dir))
			}
			_, err = f.Write([]byte("x"))
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.Empty(t, names(t, dir))
			t.Setenv("TMPDIR", filepath.Join(dir, "nosuch"))
			_, err = Temp()
			require.ErrorContains(t, err, "temporary file: ")
		})
	}
}

// TestSyncDir checks that callers at the same time wait for a flush that begins after their
// call, and that a missing folder is an error.
func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	errs := make(chan error)
	for range 20 {
		go func() { errs <- SyncDir(dir) }()
	}
	for range 20 {
		require.NoError(t, <-errs)
	}
	require.Error(t, SyncDir(filepath.Join(dir, "missing")))
}

// TestConcurrentDirs makes and discards files in the same new folders at the same time.
func TestConcurrentDirs(t *testing.T) {
	dir := t.TempDir()
	errs := make(chan error)
	for range 8 {
		go func() {
			for range 50 {
				f, err := Create(filepath.Join(dir, "a", "b", "x"), &Options{MakeDirs: true})
				if err == nil {
					err = f.Close()
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 8 {
		require.NoError(t, <-errs)
	}
	require.Empty(t, names(t, dir))
}
