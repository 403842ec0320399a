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
			for i := range f.Header().Vars {
				a, b := classic.Array(i), f.Array(i)
				if a.Len() > 1<<20 {
					continue // claimed beyond the end of the file
				}
				want, err := io.ReadAll(io.NewSectionReader(a, 0, a.Len()))
				require.NoError(t, err)
				got, err := io.ReadAll(io.NewSectionReader(b, 0, b.Len()))
				require.NoError(t, err)
				require.Equal(t, want, got, "%s: variable %d", name, i)
				require.Equal(t, a.Shape, b.Shape)
			}
		}
	}
}
