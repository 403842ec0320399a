package archive

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/slab"
)

// TestBlockError checks that errors.As finds the place of a damaged block, in all
// fields.
func TestBlockError(t *testing.T) {
	image := cubeImage(t, 10, 30, 50)
	ar := pack(t, image, &WriteOptions{Block: 6000, Zarr: ZarrAlways})
	var hit BlockInfo
	f := openFile(t, ar, nil)
	for b, err := range f.Blocks(context.Background()) {
		require.NoError(t, err)
		if b.Var == 1 {
			hit = b
		}
	}
	ar[hit.Off] ^= 1
	f = openFile(t, ar, &OpenOptions{Name: "x.nc.cdfz"})
	_, err := slab.Read[int32](context.Background(), f.Var("b"), slab.Sel{})
	var e *BlockError
	require.ErrorAs(t, err, &e)
	require.Equal(t, BlockError{File: "x.nc.cdfz", Block: hit.Num, Var: "b", Start: hit.Start, Count: hit.Count, StoredOff: hit.Off, Err: e.Err}, *e)
	require.ErrorIs(t, e, ErrCorrupt)
	require.Contains(t, err.Error(), e.Error())
	require.False(t, errors.As(ErrCorrupt, &e))
	_, err = New(bytes.NewReader(ar[:len(ar)-1]), int64(len(ar)-1), nil)
	require.False(t, errors.As(err, &e))
}
