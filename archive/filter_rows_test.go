package archive

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all"
)

// TestFilterRows has rows of CONTRIBUTING.md about setting filters and about blocks.
func TestFilterRows(t *testing.T) {
	image := climateImage(t)
	write := func(o *WriteOptions) (*File, error) {
		var b bytes.Buffer
		_, err := Write(t.Context(), &b, bytes.NewReader(image), int64(len(image)), o)
		if err != nil {
			require.Zero(t, b.Len(), "nothing is written")
			return nil, err
		}
		require.True(t, bytes.Equal(image, restored(t, b.Bytes())))
		return openFile(t, b.Bytes(), nil), nil
	}
	deflate := filters.Filter{ID: filters.Deflate, Params: []uint32{6}}
	t.Run("Q5", func(t *testing.T) {
		var o WriteOptions
		require.NoError(t, o.AddFilter("tas", filters.Filter{ID: filters.Shuffle})) // no parameters
		require.NoError(t, o.AddFilter("tas", deflate))
		require.ErrorIs(t, o.AddFilter("tas", filters.Filter{ID: 1 << 16}), filters.ErrFilterID)
		f, err := write(&o)
		require.NoError(t, err)
		require.Equal(t, "2,4|1,6", varOf(t, f, "tas").Chain().String())
		require.NoError(t, o.AddFilter("crs", deflate))
		_, err = write(&o)
		require.ErrorIs(t, err, ErrOptions, "a scalar")
		o = WriteOptions{}
		require.NoError(t, o.AddFilter("nosuch", deflate))
		_, err = write(&o)
		require.ErrorIs(t, err, ErrOptions)
		for name, ok := range map[string]bool{strings.Repeat("n", 255): true, strings.Repeat("n", 256): false, "a\xff": false} {
			o = WriteOptions{}
			require.NoError(t, o.AddFilter("tas", filters.Filter{ID: filters.Deflate, Params: []uint32{6}, Name: name}))
			f, err := write(&o)
			if !ok {
				require.ErrorIs(t, err, ErrOptions, "%q", name)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, name, varOf(t, f, "tas").Chain()[0].Name)
		}
		o = WriteOptions{}
		require.NoError(t, o.AddFilter("tas", filters.Filter{ID: 400}))
		_, err = write(&o)
		require.ErrorIs(t, err, filters.ErrUnknownFilter)
	})
	t.Run("Q8", func(t *testing.T) {
		for _, zarr := range []ZarrMode{ZarrAlways, ZarrNever} {
			o := WriteOptions{Zarr: zarr}
			require.NoError(t, o.AddFilter("lat", deflate))
			f, err := write(&o)
			require.NoError(t, err)
			require.True(t, varOf(t, f, "lat").Info().Blocked, "%s, %d bytes", zarr, f.header.Vars[varOf(t, f, "lat").Num()].Len)
			require.Equal(t, "1,6", varOf(t, f, "lat").Chain().String())
		}
	})
	t.Run("P5", func(t *testing.T) {
		o := WriteOptions{Zarr: ZarrAlways}
		require.NoError(t, o.AddFilter("tas", filters.Filter{ID: filters.ScaleOffset, Params: []uint32{2, 0}})) // integers, but tas has floats
		_, err := write(&o)
		require.Error(t, err)
	})
	t.Run("P6", func(t *testing.T) {
		o := WriteOptions{Zarr: ZarrAlways, Block: 4 << 10}
		require.NoError(t, o.AddFilter("tas", filters.Filter{ID: 400, Optional: true}))
		require.NoError(t, o.AddFilter("tas", deflate))
		f, err := write(&o)
		require.NoError(t, err)
		for b, err := range f.Blocks(t.Context()) {
			require.NoError(t, err)
			if b.Var == varOf(t, f, "tas").Num() {
				require.EqualValues(t, 1, b.Mask)
			}
		}
		require.False(t, varOf(t, f, "tas").Info().InView)
	})
}
