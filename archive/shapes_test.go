package archive

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestShapes checks block shapes of single variables, and that a copy keeps them.
func TestShapes(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Version(2), NumRecsField: 5, Dims: []cdf3.Dim{{Name: "t"}, {Name: "y", Len: 8}, {Name: "x", Len: 16}}}
	for _, name := range []string{"a", "b", "c"} {
		h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Float, DimIDs: []int{0, 1, 2}})
	}
	h.Vars = append(h.Vars, cdf3.Var{Name: "s", Type: cdf3.Int})
	z := zerosOf(t, h)
	image := make([]byte, h.Vars[0].Begin+5*h.RecSize)
	_, _ = z.ReadAt(image, 0)
	for i := h.Vars[0].Begin; i < int64(len(image)); i++ {
		image[i] = byte(i * i)
	}
	for _, mode := range []ZarrMode{ZarrNever, ZarrAlways} {
		o := &WriteOptions{Zarr: mode, Shapes: map[string][]int64{"a": {1, 4, 16}, "b": {2, 8, 16}}}
		ar := pack(t, image, o)
		again, res, decoded := rewrite(t, ar, nil)
		require.Equal(t, res.Blocks, res.Copied)
		require.Zero(t, decoded)
		for _, ar := range [][]byte{ar, again} {
			require.True(t, bytes.Equal(image, restored(t, ar)))
			f := openFile(t, ar, nil)
			require.Equal(t, []int64{1, 4, 16}, varOf(t, f, "a").Info().Block)
			require.Equal(t, []int64{2, 8, 16}, varOf(t, f, "b").Info().Block)
		}
	}
	for _, bad := range []map[string][]int64{
		{"z": {1}}, {"a": {1, 4}}, {"a": {1, 4, 8}}, {"a": {1, 0, 16}}, {"a": {6, 8, 16}}, {"s": {1}},
	} {
		_, err := Write(t.Context(), &bytes.Buffer{}, bytes.NewReader(image), int64(len(image)), &WriteOptions{Shapes: bad})
		require.ErrorIs(t, err, ErrOptions, "%v", bad)
	}
}
