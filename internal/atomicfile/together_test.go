package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeTogether writes n files of the given size at the same time.
func writeTogether(t *testing.T, n, size int) {
	dir := t.TempDir()
	var group sync.WaitGroup
	errs := make([]error, n)
	var written sync.WaitGroup
	written.Add(n)
	for i := range n {
		group.Go(func() {
			path := filepath.Join(dir, fmt.Sprint(i%3), fmt.Sprint(i))
			f, err := Create(path, &Options{Together: true, MakeDirs: true})
			if err == nil {
				_, err = f.Write(make([]byte, size))
			}
			written.Done()
			written.Wait()
			if err == nil {
				err = f.Commit()
			}
			errs[i] = err
		})
	}
	group.Wait()
	for i, err := range errs {
		require.NoError(t, err)
		st, err := os.Stat(filepath.Join(dir, fmt.Sprint(i%3), fmt.Sprint(i)))
		require.NoError(t, err)
		require.EqualValues(t, size, st.Size())
	}
	require.Empty(t, volumes.of)
}

// TestTogether writes files whose flushes are shared, also if flushes fail: then each file
// flushes itself.
func TestTogether(t *testing.T) {
	const files = 40
	var flushes, fails atomic.Int32
	with(t, func(c *calls) {
		c.volumeOf = func(*os.File) (uint64, bool) { return 1, true }
		c.flushVolume = func(f *os.File) error {
			if _, err := f.Stat(); err != nil {
				return err
			}
			flushes.Add(1)
			if fails.Add(-1) == 0 {
				return syscall.EIO
			}
			return nil
		}
	})
	writeTogether(t, files, 100)
	require.Less(t, int(flushes.Load()), files) // of 80
	require.GreaterOrEqual(t, int(flushes.Load()), 2)
	for n := range int32(3) {
		flushes.Store(0)
		fails.Store(n + 1)
		writeTogether(t, files, 100)
		require.EqualValues(t, n+1, flushes.Load()) // none after an error
	}
	flushes.Store(0)
	fails.Store(0)
	writeTogether(t, 1, 100)
	require.EqualValues(t, 2, flushes.Load()) // bytes, then the name
	flushes.Store(0)
	writeTogether(t, 1, togetherBelow)
	require.EqualValues(t, 1, flushes.Load()) // the name

	// After a slow flush, files flush themselves for a while.
	f := create(t, filepath.Join(t.TempDir(), "x"), &Options{Together: true})
	f.vol.slow.Store(time.Now().Add(time.Hour).UnixNano())
	flushes.Store(0)
	require.NoError(t, f.Commit())
	require.Zero(t, flushes.Load())

	// Discarded files do not keep others waiting.
	f = create(t, filepath.Join(t.TempDir(), "x"), &Options{Together: true})
	require.Len(t, volumes.of, 1)
	require.NoError(t, f.Close())
	require.Empty(t, volumes.of)

	// The folder is on another file system than the file.
	with(t, func(c *calls) {
		next := uint64(0)
		c.volumeOf = func(*os.File) (uint64, bool) { next++; return next, true }
	})
	flushes.Store(0)
	writeTogether(t, 1, 100)
	require.Zero(t, flushes.Load())
}

// TestVolumes writes files on the file system of the machine.
func TestVolumes(t *testing.T) {
	writeTogether(t, 20, 100)
	for dir := range map[string]bool{t.TempDir(): true, "/dev/shm": true} {
		f, err := os.CreateTemp(dir, "cdfz-*")
		if err != nil {
			continue // no such folder
		}
		id, ok := volumeOf(f)
		t.Logf("%s: %d, %t", dir, id, ok)
		f.Close()
		os.Remove(f.Name())
	}
}
