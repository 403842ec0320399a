package atomicfile

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHold keeps names of a folder, one holder at a time.
func TestHold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, "series")
	h, err := HoldName(path, &Options{MakeDirs: true})
	require.NoError(t, err)
	_, err = HoldName(path, nil)
	require.ErrorIs(t, err, ErrLocked)
	other, err := HoldName(filepath.Join(dir, "other"), nil)
	require.NoError(t, err)
	require.NoError(t, other.Close())

	// Its file is temporary, and stays as long as it is held.
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1)
	require.True(t, IsTemporary(names[0].Name()))
	RemoveStale(dir)
	require.FileExists(t, filepath.Join(dir, names[0].Name()))
	require.NoError(t, h.Close())
	require.NoDirExists(t, dir) // nothing is in it

	// A folder with a file stays, and so does one that another program has made.
	h, err = HoldName(path, &Options{MakeDirs: true})
	require.NoError(t, err)
	f, err := Create(filepath.Join(dir, "x"), &Options{MakeDirs: true})
	require.NoError(t, err)
	require.NoError(t, f.Commit())
	require.NoError(t, h.Close())
	names, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1)

	// The file of a program that was killed is no obstacle.
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".series.cdfz-tmp00000000"), nil, 0o666))
	h, err = HoldName(path, nil)
	require.NoError(t, err)
	require.NoError(t, h.Close())

	_, err = HoldName(filepath.Join(dir, "x", "y"), &Options{MakeDirs: true})
	require.Error(t, err)
}

// TestHoldUnlocked holds nothing where there are no locks.
func TestHoldUnlocked(t *testing.T) {
	with(t, noLocks(syscall.ENOTSUP))
	dir := t.TempDir()
	h, err := HoldName(filepath.Join(dir, "x"), nil)
	require.NoError(t, err)
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, names)
	require.NoError(t, h.Close())
}

// TestHoldMany has many holders that begin and end at the same time: never two at once.
func TestHoldMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "series")
	var holders atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				h, err := HoldName(path, &Options{MakeDirs: true})
				if err != nil {
					continue // locked, or its folder was removed meanwhile
				}
				if holders.Add(1) > 1 {
					t.Error("two hold the name")
				}
				holders.Add(-1)
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
