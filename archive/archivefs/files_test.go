package archivefs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/kept"
)

// view returns a view of a folder with files named 0, 1, and so on. Empty ones cannot be opened.
func view(t *testing.T, files int) *FS {
	dir := t.TempDir()
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte("x"), 0o666))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o666))
	root, _, err := OpenRoot(dir)
	require.NoError(t, err)
	v := newFS(root, format{open: func(_ string, r io.ReaderAt, size int64) (*archive.File, error) {
		if size == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return new(archive.File), nil
	}})
	t.Cleanup(func() {
		v.Close()
		root.Close()
	})
	return v
}

func lens(v *FS) [2]int {
	open, used := v.Len()
	return [2]int{open, used}
}

// TestKept checks which files stay open.
func TestKept(t *testing.T) {
	v := view(t, maxIdle+3)
	for i := range maxIdle + 3 {
		f, err := v.Acquire(strconv.Itoa(i))
		require.NoError(t, err)
		require.Equal(t, 1, lens(v)[1])
		v.Release(f)
	}
	require.Equal(t, [2]int{maxIdle, 0}, lens(v))
	first, err := v.Acquire("0")
	require.NoError(t, err)
	again, err := v.Acquire("0")
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, 1, lens(v)[1])
	v.Close()
	v.Release(first)
	require.Equal(t, [2]int{0, 1}, lens(v))
	v.Release(first)
	require.Equal(t, [2]int{}, lens(v))
	require.ErrorIs(t, first.Stored.Close(), os.ErrClosed)
}

// TestHeld checks that held files stay open without uses, that a bounded number of them does, that the others are
// opened again as what they were, and that one which was replaced is an error.
func TestHeld(t *testing.T) {
	const files, most = 20, 5
	v := view(t, files)
	v.files = kept.New[Ident, *File](kept.Limits{Idle: 2, Time: time.Nanosecond, Held: most})
	var held [files]*Held
	for i := range held {
		f, err := v.Acquire(strconv.Itoa(i))
		require.NoError(t, err)
		held[i] = v.Hold(strconv.Itoa(i), f)
		v.Release(f)
	}
	require.Equal(t, [2]int{most, 0}, lens(v))
	kept, err := held[files-1].Acquire()
	require.NoError(t, err)
	v.Retain(kept)
	v.Release(kept)
	require.Equal(t, [2]int{most, 1}, lens(v))
	for range 2 {
		for i, h := range held {
			f, err := h.Acquire()
			require.NoError(t, err)
			require.Equal(t, h.id, f.ID)
			require.Equal(t, i == files-1, f == kept)
			v.Release(f)
		}
		require.Equal(t, [2]int{most + 1, 1}, lens(v))
	}
	v.Release(kept)
	require.Equal(t, [2]int{most, 0}, lens(v))

	info, err := fs.Stat(v.fsys, "0")
	require.NoError(t, err)
	other := v.fsys.(Root)
	f, err := other.OpenFile("other", os.O_WRONLY|os.O_CREATE, 0o666)
	require.NoError(t, err)
	_, err = f.WriteString("y")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, other.Chtimes("other", info.ModTime(), info.ModTime()))
	require.NoError(t, other.Rename("other", "0"))
	_, err = held[0].Acquire()
	require.ErrorIs(t, err, ErrReplaced)
	require.NoError(t, other.Remove("1"))
	_, err = held[1].Acquire()
	require.ErrorIs(t, err, ErrReplaced)

	for _, h := range held {
		h.Close()
	}
	require.Eventually(t, func() bool { return lens(v) == [2]int{} }, time.Minute, time.Millisecond)
}

// TestAcquireTwice checks that of several goroutines that open one file, one file remains.
func TestAcquireTwice(t *testing.T) {
	v := view(t, 1)
	var got [8]*File
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _ = v.Acquire("0") })
	}
	wg.Wait()
	for _, f := range got {
		require.Same(t, got[0], f)
		v.Release(f)
	}
	require.Equal(t, [2]int{1, 0}, lens(v))
	opened := &fakeFile{}
	require.Same(t, got[0], v.use(got[0].ID, &File{Stored: opened}))
	require.True(t, opened.closed)
	require.Equal(t, 1, got[0].Value(func(*archive.File) any { return 1 }))
	require.Equal(t, 1, got[0].Value(func(*archive.File) any { return 2 }))
}

type fakeFile struct {
	os.File
	closed bool
}

func (f *fakeFile) Close() error {
	f.closed = true
	return nil
}

// TestAcquireFails checks that files that cannot be opened are not kept.
func TestAcquireFails(t *testing.T) {
	v := view(t, 0)
	_, err := v.Acquire("empty")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = v.Acquire("none")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = v.Acquire(".")
	require.ErrorContains(t, err, "expected a regular file")
	require.Zero(t, lens(v))
}
