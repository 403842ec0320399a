package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDirect writes pieces of all kinds to a file that is expected to be large.
func TestDirect(t *testing.T) {
	src := make([]byte, 1<<20)
	for i := range src {
		src[i] = byte(i * i >> 7)
	}
	pieces := [][]byte{
		src[:4*directUnit], src[:directUnit+5], src[:7], // the end of the second is not a multiple
		src[:directUnit-12], src[1 : directUnit+1], // memory that is not aligned
		src[:8*directUnit], src,
	}
	for name, direct := range map[string]func(*os.File, bool) error{
		"as the system can": setDirect,
		"refused":           func(*os.File, bool) error { return errors.ErrUnsupported },
		"refused later": func(f *os.File, on bool) error {
			if !on {
				return setDirect(f, on)
			}
			return nil // the writes are not direct
		},
	} {
		t.Run(name, func(t *testing.T) {
			with(t, func(c *calls) { c.direct = direct })
			path := filepath.Join(t.TempDir(), "x")
			f, err := Create(path, &Options{Size: directFrom})
			require.NoError(t, err)
			defer f.Close()
			var want []byte
			for _, p := range pieces {
				n, err := f.Write(p)
				require.NoError(t, err)
				require.Equal(t, len(p), n)
				want = append(want, p...)
			}
			require.EqualValues(t, len(want), f.Size())
			got := make([]byte, 9)
			_, err = f.ReadAt(got, 3)
			require.NoError(t, err)
			require.Equal(t, want[3:12], got)
			_, err = f.WriteAt([]byte("over"), 5)
			require.NoError(t, err)
			copy(want[5:], "over")
			require.NoError(t, f.Commit())
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, want, b)
		})
	}
}
