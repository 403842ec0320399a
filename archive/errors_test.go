package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	_, err := slab.Read[int32](context.Background(), varOf(t, f, "b"), slab.Sel{})
	var e *BlockError
	require.ErrorAs(t, err, &e)
	require.Equal(t, BlockError{File: "x.nc.cdfz", Block: hit.Num, Var: "b", Start: hit.Start, Count: hit.Count, StoredOff: hit.Off, Err: e.Err}, *e)
	require.ErrorIs(t, e, ErrCorrupt)
	require.Contains(t, err.Error(), e.Error())
	require.False(t, errors.As(ErrCorrupt, &e))
	_, err = New(bytes.NewReader(ar[:len(ar)-1]), int64(len(ar)-1), nil)
	require.False(t, errors.As(err, &e))
}

// TestNoVariable asks for names that a file does not have.
func TestNoVariable(t *testing.T) {
	f := openFile(t, pack(t, cubeImage(t, 1, 3, 5), nil), nil)
	for _, name := range []string{"", "x", "B"} {
		v, err := f.Var(name)
		require.Nil(t, v)
		require.ErrorIs(t, err, ErrNoVariable)
		require.EqualError(t, err, fmt.Sprintf("archive: variable %q: no such variable", name))
	}
	require.Equal(t, "b", varOf(t, f, "b").Name())
}
