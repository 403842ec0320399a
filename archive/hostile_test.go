package archive

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/slab"
)

// shortWriter takes one byte less than it is given and reports no error.
type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return max(0, len(p)-1), nil }

// TestShortWrite: a Writer that takes less than it is given never passes for success.
func TestShortWrite(t *testing.T) {
	image := classicFiles(t)["cdf2_climate.nc"]
	ctx := context.Background()
	_, err := Write(ctx, shortWriter{}, bytes.NewReader(image), int64(len(image)), nil)
	require.ErrorIs(t, err, io.ErrShortWrite)
	for _, b := range [][]byte{image, pack(t, image, nil)} {
		require.ErrorIs(t, openFile(t, b, nil).Image().Copy(ctx, shortWriter{}, nil), io.ErrShortWrite)
	}
}

// TestNegative: negative sizes are errors.
func TestNegative(t *testing.T) {
	for _, b := range [][]byte{nil, pack(t, classicFiles(t)["cdf2_climate.nc"], nil)} {
		_, err := New(bytes.NewReader(b), -1, nil)
		require.ErrorIs(t, err, ErrOptions)
		_, err = Write(context.Background(), io.Discard, bytes.NewReader(b), -1, nil)
		require.Error(t, err)
		_, err = Verify(context.Background(), bytes.NewReader(b), -1, nil)
		require.ErrorIs(t, err, ErrNotArchive)
		_, err = IsArchive(bytes.NewReader(b), -1)
		require.NoError(t, err)
	}
}

// TestNoVariable: reading a variable that is not there is an error.
func TestNoVariable(t *testing.T) {
	f := openFile(t, pack(t, classicFiles(t)["cdf2_climate.nc"], nil), nil)
	require.Nil(t, f.Var("nothing"))
	for _, a := range []slab.Array{f.Var("nothing"), f.Array(-1), f.Array(len(f.Header().Vars))} {
		_, err := slab.Read[float32](context.Background(), a, slab.Sel{})
		require.ErrorIs(t, err, slab.ErrType)
		require.ErrorIs(t, slab.Walk(context.Background(), a, func(_, _ []int64, _ []float32) error { return nil }), slab.ErrType)
	}
}

// TestNamedErrors: errors name the file.
func TestNamedErrors(t *testing.T) {
	ar := pack(t, classicFiles(t)["cdf2_climate.nc"], &WriteOptions{Zarr: ZarrAlways})
	f := openFile(t, ar, nil)
	for b, err := range f.Blocks(context.Background()) {
		require.NoError(t, err)
		if b.Var >= 0 {
			ar[b.Off] ^= 1
		}
	}
	f = openFile(t, ar, &OpenOptions{Name: "x.cdfz"})
	_, err := io.Copy(io.Discard, io.NewSectionReader(f.Image(), 0, f.Image().Size()))
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "archive: x.cdfz: variable")
	_, err = New(bytes.NewReader(ar[:len(ar)-1]), int64(len(ar)-1), &OpenOptions{Name: "y.cdfz"})
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "archive: y.cdfz: ")
}
