package archive

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/slab"
)

// TestBlockMemory reads blocks that need more memory than a reader may use: they are refused,
// however they are read, and are not called damaged. All others can be read.
func TestBlockMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	ctx := context.Background()
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: 4 << 20}, {Name: "y", Len: 8 << 10}}}
	h.Vars = []cdf3.Var{{Name: "large", Type: cdf3.Byte, DimIDs: []int{0}}, {Name: "small", Type: cdf3.Byte, DimIDs: []int{1}}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	for i := range 4<<20 + 8<<10 {
		image = append(image, byte(i*i))
	}
	ar := pack(t, image, &WriteOptions{Block: 4 << 20, Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Lorenz}}}}})
	for _, cache := range []int64{-1, 32 << 20} {
		f := openFile(t, ar, &OpenOptions{Cache: cache, BlockMemory: 20 << 20})
		im := f.Image()
		stream := newStream(im)
		defer stream.Close()
		begin := f.Header().Vars[0].Begin
		p := make([]byte, 100)
		for name, err := range map[string]error{
			"value": func() error {
				_, err := slab.Read[int8](ctx, f.Array(0), slab.Sel{Start: []int64{7}, Count: []int64{1}})
				return err
			}(),
			"values": func() error { _, err := slab.Read[int8](ctx, f.Array(0), slab.Sel{}); return err }(),
			"image":  func() error { _, err := im.ReadAt(p, begin); return err }(),
			"stream": func() error { _, err := stream.ReadAt(p, begin); return err }(),
			"copy":   im.Copy(ctx, io.Discard, nil),
		} {
			require.ErrorIs(t, err, ErrMemory, name)
			require.NotErrorIs(t, err, ErrCorrupt, name)
		}
		got, err := slab.Read[int8](ctx, f.Array(1), slab.Sel{})
		require.NoError(t, err)
		require.Len(t, got, 8<<10)
	}
	var b bytes.Buffer
	require.NoError(t, openFile(t, ar, &OpenOptions{BlockMemory: 256 << 20}).Image().Copy(ctx, &b, nil))
	require.True(t, bytes.Equal(image, b.Bytes()))
}
