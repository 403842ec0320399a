package openfiles

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

type (
	testCache = Cache[int, *archive.File]
	testFile  = File[int, *archive.File]
)

// fixture returns a cache, and a function that opens an archive again and again.
func fixture(t *testing.T) (*testCache, func() (*os.File, int64)) {
	image, err := os.ReadFile("../../testdata/classic/cdf1_climate_small.nc")
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "a.nc.cdfz")
	var b bytes.Buffer
	_, err = archive.Write(t.Context(), &b, bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o666))
	c, err := New(1<<20, 0, func(_ int, a *archive.File) *archive.File { return a })
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, func() (*os.File, int64) {
		f, err := os.Open(name)
		require.NoError(t, err)
		return f, int64(b.Len())
	}
}

func lens(c *testCache) [2]int {
	open, used := c.Len()
	return [2]int{open, used}
}

// TestKept checks which files stay open, and for how long.
func TestKept(t *testing.T) {
	c, open := fixture(t)
	for i := range maxIdle + 3 {
		file, size := open()
		f, err := c.Add(i, file, size)
		require.NoError(t, err)
		require.Equal(t, 1, lens(c)[1])
		c.Release(f)
	}
	require.Equal(t, [2]int{maxIdle, 0}, lens(c))
	require.Nil(t, c.Use(2))
	first := c.idle[0]
	require.Same(t, first, c.Use(3))
	c.Retain(first)
	require.Equal(t, [2]int{maxIdle, 1}, lens(c))
	for _, f := range c.idle {
		f.last = time.Now().Add(-idleTime)
	}
	c.sweep()
	require.Equal(t, [2]int{1, 1}, lens(c))
	c.Release(first)
	require.Equal(t, [2]int{1, 1}, lens(c))
	c.Release(first)
	require.Equal(t, []*testFile{first}, c.idle)
	c.sweep() // not idle for long
	require.Equal(t, [2]int{1, 0}, lens(c))
	c.Close()
	require.Zero(t, lens(c))
	require.ErrorIs(t, first.file.Close(), os.ErrClosed)
}

// TestAddTwice checks that of two goroutines that open one file, one file remains.
func TestAddTwice(t *testing.T) {
	c, open := fixture(t)
	var got [8]*testFile
	var files [8]*os.File
	var wg sync.WaitGroup
	for i := range got {
		file, size := open()
		files[i] = file
		wg.Go(func() { got[i], _ = c.Add(1, file, size) })
	}
	wg.Wait()
	closed := 0
	for i, f := range got {
		require.Same(t, got[0], f)
		if files[i] != f.file {
			require.ErrorIs(t, files[i].Close(), os.ErrClosed)
			closed++
		}
		c.Release(f)
	}
	require.Equal(t, len(got)-1, closed)
	require.Equal(t, [2]int{1, 0}, lens(c))
}

// TestAddFails checks that files that cannot be opened are closed and not kept.
func TestAddFails(t *testing.T) {
	c, open := fixture(t)
	file, size := open()
	_, err := c.Add(1, file, size-1)
	require.Error(t, err)
	require.ErrorIs(t, file.Close(), os.ErrClosed)
	require.Zero(t, lens(c))
}
