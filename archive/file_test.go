package archive

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/slab"
)

// TestFile checks that a classic file and its archive have the same values, also for
// test files whose variables overlap or lie beyond the end.
func TestFile(t *testing.T) {
	for name, image := range someFiles(t) {
		classic, err := New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
		require.NoError(t, err)
		require.Nil(t, classic.archive)
		for _, mode := range []ZarrMode{ZarrAlways, ZarrNever} {
			ar := pack(t, image, &WriteOptions{Zarr: mode, Block: MinBlock})
			f, err := New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
			require.NoError(t, err)
			require.NotNil(t, f.archive)
			equalValues(t, name, classic, f)
		}
	}
}

// arrayLen returns the number of bytes of an array.
func arrayLen(a slab.Array) int64 {
	n, err := slab.Len(a)
	if err != nil {
		panic(err)
	}
	return n
}

// fileOf returns a File for a reader.
func fileOf(a *read.Reader) *File { return wrap(a.Header, newImage(a), a) }

// eachBlock calls f for every block of an archive until it returns an error.
func eachBlock(a *read.Reader, f func(BlockInfo) error) error {
	for b, err := range fileOf(a).Blocks(context.Background()) {
		if err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// equalValues requires that all variables of two files have the same values.
func equalValues(t testing.TB, name string, want, got *File) {
	t.Helper()
	for i := range want.Header().Vars {
		a, b := want.Array(i), got.Array(i)
		if arrayLen(a) > 1<<20 {
			continue // claimed beyond the end of the file
		}
		x, err := io.ReadAll(io.NewSectionReader(a.Values(), 0, arrayLen(a)))
		require.NoError(t, err)
		y, err := io.ReadAll(io.NewSectionReader(b.Values(), 0, arrayLen(b)))
		require.NoError(t, err)
		require.Equal(t, x, y, "%s: variable %d", name, i)
		require.Equal(t, a.Shape(), b.Shape())
	}
}
