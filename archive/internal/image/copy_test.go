package image_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/internal/read"
)

// TestPasses checks that an image whose record variables exceed the memory is restored
// in several passes.
func TestPasses(t *testing.T) {
	for name, original := range archivetest.Some(t) {
		for _, memory := range []int64{1, 10 << 10} {
			r := packtest.Open(t, packtest.Pack(t, original, &archive.WriteOptions{Zarr: archive.ZarrAlways, Block: 4096, Memory: memory}))
			var b bytes.Buffer
			done := int64(0)
			require.NoError(t, image.Copy(t.Context(), r, &b, &image.CopyOptions{Memory: memory, Workers: 3, Progress: func(n int64) { done = n }}))
			require.True(t, bytes.Equal(original, b.Bytes()), name)
			require.Equal(t, int64(len(original)), done)
			checkCompare(t, r, original, &image.CopyOptions{Memory: memory, Workers: 3})
		}
	}
	r := packtest.Open(t, packtest.Pack(t, archivetest.Classic(t)["cdf2_climate.nc"], &archive.WriteOptions{Zarr: archive.ZarrAlways, Block: 4096}))
	require.Greater(t, len(image.Passes(r.L, 1)), 3)
	require.Len(t, image.Passes(r.L, image.DefaultMemory), 1)
}

// checkCompare compares an archive with its image, with images that differ and with a
// shorter one.
func checkCompare(t *testing.T, r *read.Reader, original []byte, o *image.CopyOptions) {
	done := int64(0)
	o.Progress = func(n int64) { done = n }
	for _, sum := range []bool{false, true} {
		require.NoError(t, image.Compare(t.Context(), r, bytes.NewReader(original), sum, o))
		require.Equal(t, int64(len(original)), done)
	}
	var d *image.Difference
	bad := bytes.Clone(original)
	for i := len(bad) - 1; i >= 0; i -= 1 + len(bad)/5 {
		bad[i] ^= 4
		require.ErrorAs(t, image.Compare(t.Context(), r, bytes.NewReader(bad), false, o), &d)
		require.EqualValues(t, i, d.Off)
	}
	require.ErrorAs(t, image.Compare(t.Context(), r, bytes.NewReader(original[:len(original)-3]), true, o), &d)
	require.EqualValues(t, len(original)-3, d.Off)
	right := r.Man.SHA256
	r.Man.SHA256 = "0"
	require.ErrorIs(t, image.Compare(t.Context(), r, bytes.NewReader(original), true, o), image.ErrOtherSum)
	require.NoError(t, image.Compare(t.Context(), r, bytes.NewReader(original), false, o))
	r.Man.SHA256 = right
}
