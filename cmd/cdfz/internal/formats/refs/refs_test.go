package refs

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

var ctx = context.Background()

// TestPlaces checks that each reference is the chunk that the Zarr view has.
func TestPlaces(t *testing.T) {
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	for _, mode := range []archive.ZarrMode{archive.ZarrAlways, archive.ZarrNever} {
		var ar, b bytes.Buffer
		_, err := archive.Write(ctx, &ar, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Name: "x.nc", Block: 4 << 10, Zarr: mode})
		require.NoError(t, err)
		f, err := archive.New(t.Context(), bytes.NewReader(ar.Bytes()), int64(ar.Len()), nil)
		require.NoError(t, err)
		res, err := WriteJSON(ctx, &b, Source{Archive: f, URL: `https://example.org/"x".nc`})
		require.NoError(t, err)
		require.Equal(t, []string{"cdfz"}, res.Packages)
		var got struct {
			Version int
			Refs    map[string]any
		}
		require.NoError(t, json.Unmarshal(b.Bytes(), &got))
		require.Equal(t, 1, got.Version)
		z, err := f.Zarr(ctx, nil)
		require.NoError(t, err)
		referred := int64(0)
		for key, r := range got.Refs {
			want, err := z.Get(ctx, key)
			require.NoError(t, err, key)
			if place, ok := r.([]any); ok {
				require.Equal(t, `https://example.org/"x".nc`, place[0])
				off, n := int64(place[1].(float64)), int64(place[2].(float64))
				require.True(t, bytes.Equal(want, ar.Bytes()[off:off+n]), key)
				referred++
			}
		}
		require.Equal(t, referred, res.Referred)
		require.Equal(t, mode == archive.ZarrAlways, res.Referred == res.Chunks)
	}
}

// TestRefused checks files without blocks.
func TestRefused(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Data64, NumRecsField: 1 << 40, Dims: []cdf3.Dim{{Name: "t"}}}
	h.Vars = []cdf3.Var{{Name: "v", Type: cdf3.Double, DimIDs: []int{0}}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = WriteJSON(ctx, &b, Source{Archive: f, URL: "x"})
	require.ErrorIs(t, err, ErrClassic)
	_, err = archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Name: "x.nc"})
	require.NoError(t, err)
	f, err = archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	_, err = WriteJSON(ctx, &bytes.Buffer{}, Source{Archive: f, URL: "x"})
	require.ErrorIs(t, err, ErrInline)
}

// TestMask has an archive of another writer, with a block for which a filter was left out
// that every block should have.
func TestMask(t *testing.T) {
	b, err := os.ReadFile("../../../../../testdata/vectors/good/mask_required")
	require.NoError(t, err)
	_, b, _ = bytes.Cut(b, []byte("\n\n"))
	f, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	_, err = WriteJSON(ctx, &bytes.Buffer{}, Source{Archive: f, URL: "x"})
	require.ErrorIs(t, err, ErrMask)
	_, err = WriteParquet(ctx, filepath.Join(t.TempDir(), "x"), Source{Archive: f, URL: "x"}, false, nil)
	require.ErrorIs(t, err, ErrMask)
}
