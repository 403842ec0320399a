package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSchedule has trees whose times are known.
func TestSchedule(t *testing.T) {
	slots := nodes.value * cores.value
	one := func(float64) float64 { return 1 }
	for _, s := range []scenario{
		{"one large file", 1, largeSize.value, 0},
		{"a large file for each core", int(slots), largeSize.value, 0},
	} {
		last, even := s.schedule(one)
		require.Equal(t, 1.0, last, s.name)
		require.InDelta(t, float64(s.files)/slots, even, 1e-9, s.name)
	}
	// A large file more is one that others wait for.
	s := scenario{"one more", int(slots) + 1, largeSize.value, 0}
	last, _ := s.schedule(one)
	require.Equal(t, 2.0, last)
	// Many small files are even, and the mean of a log-normal size is the mean.
	s = scenario{"small", 1e6, 1000, 0.5}
	last, even := s.schedule(func(bytes float64) float64 { return bytes })
	require.GreaterOrEqual(t, last, even)
	require.InEpsilon(t, 1e9/slots, even, 0.01)
}

// TestTrace reads a log of strace with calls that are split.
func TestTrace(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(log, []byte(`10 openat(AT_FDCWD</w>, "/d/a.nc", O_RDONLY|O_CLOEXEC) = 3</d/a.nc>
10 openat(AT_FDCWD</w>, "/etc/x", O_RDONLY) = 4</etc/x>
10 openat(4</d/o>, ".", O_RDWR|O_TMPFILE, 0666) = 5</d/o/#1 (deleted)>
10 pread64(3</d/a.nc>,  <unfinished ...>
11 pwrite64(5</d/o/#1 (deleted)>, ""..., 7, 0) = 7
10 <... pread64 resumed>""..., 100, 0) = 99
10 pread64(3</d/a.nc>, 0x1, 100, 99) = -1 EIO (Input/output error)
11 linkat(AT_FDCWD</w>, "/proc/self/fd/5", 4</d/o>, "x", AT_SYMLINK_FOLLOW) = 0
11 fsync(5</d/o/x>) = 0
`), 0o666))
	var k cost
	require.NoError(t, k.trace(log, "/d", 1))
	require.Equal(t, cost{read: 99, written: 7, changes: 2, lookups: 1, flushes: 1}, k)
}
