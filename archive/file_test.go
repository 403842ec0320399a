package archive

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFile: a classic file and its archive give the same values, those of the
// test files whose variables lie beyond the end or overlap too.
func TestFile(t *testing.T) {
	for name, image := range classicFiles(t) {
		classic, err := NewFile(bytes.NewReader(image), int64(len(image)), nil)
		require.NoError(t, err)
		require.Nil(t, classic.Archive())
		for _, mode := range []ZarrMode{ZarrAlways, ZarrNever} {
			ar := pack(t, image, &Options{Zarr: mode, Block: MinBlock})
			f, err := NewFile(bytes.NewReader(ar), int64(len(ar)), nil)
			require.NoError(t, err)
			require.NotNil(t, f.Archive())
			equalValues(t, name, classic, f)
		}
	}
}

// equalValues requires that all variables of two files have the same values.
func equalValues(t testing.TB, name string, want, got *File) {
	t.Helper()
	for i := range want.Header().Vars {
		a, b := want.Array(i), got.Array(i)
		if a.Len() > 1<<20 {
			continue // claimed beyond the end of the file
		}
		x, err := io.ReadAll(io.NewSectionReader(a, 0, a.Len()))
		require.NoError(t, err)
		y, err := io.ReadAll(io.NewSectionReader(b, 0, b.Len()))
		require.NoError(t, err)
		require.Equal(t, x, y, "%s: variable %d", name, i)
		require.Equal(t, a.Shape, b.Shape)
	}
}
