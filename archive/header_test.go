package archive

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestHeader: an archive's header is that of its image, wherever the number of
// records comes from.
func TestHeader(t *testing.T) {
	streaming := 0
	for name, image := range classicFiles(t) {
		want, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
		require.NoError(t, err, name)
		if want.Streaming {
			streaming++
		}
		for _, zarr := range []ZarrMode{ZarrAlways, ZarrNever} {
			r := open(t, pack(t, image, &Options{Name: name, Zarr: zarr, Block: MinBlock}))
			require.Equal(t, want, r.Header(), name)
		}
	}
	require.NotZero(t, streaming)
}
