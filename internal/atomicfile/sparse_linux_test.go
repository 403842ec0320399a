package atomicfile

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// room returns the bytes that a file takes on disk.
func room(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	require.NoError(t, err)
	return st.Sys().(*syscall.Stat_t).Blocks * 512
}

// TestSparse writes files with runs of zeros in pieces of all lengths. A file takes no more room than
// its units with other bytes.
func TestSparse(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	for i := range 200 {
		var want []byte
		for range 1 + rng.Intn(8) {
			b := make([]byte, rng.Intn([]int{10, holeUnit, 5 * holeUnit, 40 * holeUnit}[rng.Intn(4)]))
			if rng.Intn(2) == 0 {
				rng.Read(b)
			}
			want = append(want, b...)
		}
		o := &Options{Sparse: SparseAuto}
		if i%2 == 0 {
			o.Size = directFrom
		}
		path := filepath.Join(t.TempDir(), "x")
		f, err := Create(path, o)
		require.NoError(t, err)
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+rng.Intn([]int{7, holeUnit, 3 * holeUnit, 1 << 20}[rng.Intn(4)]))
			k, err := f.Write(rest[:n])
			require.NoError(t, err)
			require.Equal(t, n, k)
			rest = rest[n:]
			if rng.Intn(9) == 0 { // all that was written can be read
				got := make([]byte, f.Size())
				_, err := f.ReadAt(got, 0)
				require.NoError(t, err)
				require.Equal(t, want[:len(want)-len(rest)], got)
			}
		}
		require.NoError(t, f.Commit())
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		least := int64(0)
		for at := 0; at < len(want); at += holeUnit {
			if !isZero(want[at:min(at+holeUnit, len(want))]) {
				least += holeUnit
			}
		}
		require.LessOrEqual(t, room(t, path), least+2*holeUnit, "%d bytes", len(want)) // some file systems list holes in a block
	}
}

// TestSparseKinds writes zeros in all ways.
func TestSparseKinds(t *testing.T) {
	const size = 1 << 20
	for name, c := range map[string]struct {
		sparse Sparse
		holes  bool // that the file system has
		at     bool // WriteAt
		punch  error
		full   bool
	}{
		"default": {"", true, false, nil, true}, "never": {SparseNever, true, false, nil, true}, "auto": {SparseAuto, true, false, nil, false},
		"auto, no holes": {SparseAuto, false, false, nil, true}, "always": {SparseAlways, false, false, nil, false},
		"dug": {SparseAuto, true, true, nil, false}, "not dug": {SparseNever, true, true, nil, true}, "cannot dig": {SparseAuto, true, true, errors.ErrUnsupported, true},
	} {
		t.Run(name, func(t *testing.T) {
			with(t, func(s *calls) {
				s.hasHoles = func(*os.File) bool { return c.holes }
				if c.punch != nil {
					s.punch = func(*os.File, int64, int64) error { return c.punch }
				}
			})
			path := filepath.Join(t.TempDir(), "x")
			f, err := Create(path, &Options{Sparse: c.sparse})
			require.NoError(t, err)
			b := make([]byte, size+100)
			b[0], b[size/2] = 1, 2
			if c.at {
				_, err = f.WriteAt(b, 0)
			} else {
				_, err = f.Write(b)
			}
			require.NoError(t, err)
			require.NoError(t, f.Commit())
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(b), string(got))
			if c.full {
				require.GreaterOrEqual(t, room(t, path), int64(size))
			} else {
				require.LessOrEqual(t, room(t, path), int64(2*holeUnit))
			}
		})
	}
}
