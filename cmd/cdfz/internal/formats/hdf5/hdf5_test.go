package hdf5

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChecksum compares with the values that Bob Jenkins' lookup3.c documents.
func TestChecksum(t *testing.T) {
	require.Equal(t, uint32(0xdeadbeef), checksum(nil))
	require.Equal(t, uint32(0x17770551), checksum([]byte("Four score and seven years ago")))
}

// TestLimits checks that what HDF5 cannot hold is refused.
func TestLimits(t *testing.T) {
	name := "s"
	byteType := Type{Unsigned, 1, false}
	scale := &Dataset{Name: "scale", Type: byteType, Shape: []int64{1}, Scale: &name}
	attr := Attr{"a", byteType, 1, []byte{1}}
	for what, f := range map[string]*File{
		"no name":       {Datasets: []*Dataset{{Type: byteType}}},
		"slash":         {Datasets: []*Dataset{{Name: "a/b", Type: byteType}}},
		"twice":         {Datasets: []*Dataset{{Name: "a", Type: byteType}, {Name: "a", Type: byteType}}},
		"rank":          {Datasets: []*Dataset{{Name: "a", Type: byteType, Shape: make([]int64, 33)}}},
		"negative":      {Datasets: []*Dataset{{Name: "a", Type: byteType, Shape: []int64{-1}}}},
		"too large":     {Datasets: []*Dataset{{Name: "a", Type: byteType, Shape: []int64{math.MaxInt64, 2}}}},
		"large chunk":   {Datasets: []*Dataset{{Name: "a", Type: Type{Float, 8, true}, Shape: []int64{1 << 30}, Chunk: []int64{1 << 29}}}},
		"long chunk":    {Datasets: []*Dataset{{Name: "a", Type: byteType, Shape: []int64{2}, Chunk: []int64{3}}}},
		"empty chunk":   {Datasets: []*Dataset{{Name: "a", Type: byteType, Shape: []int64{2}, Chunk: []int64{0}}}},
		"many chunks":   {Datasets: []*Dataset{{Name: "a", Type: byteType, Shape: []int64{math.MaxInt64}, Chunk: []int64{3}}}},
		"chunked value": {Datasets: []*Dataset{{Name: "a", Type: byteType, Chunk: []int64{}}}},
		"filters":       {Datasets: []*Dataset{{Name: "a", Type: byteType, Filters: []Filter{{ID: 1}}}}},
		"fill":          {Datasets: []*Dataset{{Name: "a", Type: byteType, Fill: []byte{1, 2}}}},
		"scale":         {Datasets: []*Dataset{{Name: "a", Type: byteType, Shape: []int64{1}, Scales: []*Dataset{scale}}}},
		"same attrs":    {Attrs: []Attr{attr, attr}},
		"values":        {Attrs: []Attr{{"a", byteType, 2, []byte{1}}}},
		"many attrs":    {Attrs: make([]Attr, 65536)},
	} {
		dst, err := os.Create(filepath.Join(t.TempDir(), "x"))
		require.NoError(t, err)
		_, err = NewWriter(dst, f)
		require.ErrorIs(t, err, ErrLimit, what)
		require.NoError(t, dst.Close())
	}
}

// TestOrder checks that data in another order than that of the datasets are refused.
func TestOrder(t *testing.T) {
	dst, err := os.Create(filepath.Join(t.TempDir(), "x"))
	require.NoError(t, err)
	defer dst.Close()
	byteType := Type{Unsigned, 1, false}
	w, err := NewWriter(dst, &File{Datasets: []*Dataset{
		{Name: "a", Type: byteType}, {Name: "b", Type: byteType, Shape: []int64{2}, Chunk: []int64{1}}}})
	require.NoError(t, err)
	require.ErrorContains(t, w.Chunk([]byte{1}, 0), `other data than those of dataset "a"`)
	_, err = w.Close()
	require.ErrorContains(t, err, `data of dataset "a" are missing`)
	require.ErrorContains(t, w.Data([]byte{1, 2}), `other data than those of dataset "b"`)
	require.ErrorIs(t, w.Chunk(nil, 0), ErrLimit)
	require.NoError(t, w.Chunk([]byte{1}, 0))
	require.NoError(t, w.Chunk([]byte{2}, 0))
	require.ErrorContains(t, w.Chunk([]byte{3}, 0), "data after those of all datasets")
	size, err := w.Close()
	require.NoError(t, err)
	st, err := dst.Stat()
	require.NoError(t, err)
	require.Equal(t, st.Size(), size)
}
