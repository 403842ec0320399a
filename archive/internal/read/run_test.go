package read_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/slab"
)

// panicAt panics once in a read of stored bytes.
type panicAt struct {
	io.ReaderAt
	armed bool
}

func (r *panicAt) ReadAt(p []byte, off int64) (int, error) {
	if r.armed {
		r.armed = false
		panic("reader")
	}
	return r.ReaderAt.ReadAt(p, off)
}

// TestSingleflightPanic checks that a panic in the archive's reader or in a filter, which a
// server recovers from, does not block other readers of the block.
func TestSingleflightPanic(t *testing.T) {
	ar := packtest.Pack(t, archivetest.Cube(t, 2, 30, 50), &archive.WriteOptions{Zarr: archive.ZarrAlways})
	src := &panicAt{ReaderAt: bytes.NewReader(ar)}
	r, err := read.NewReader(context.Background(), src, int64(len(ar)), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	v := r.Var(0)
	src.armed = true
	point := slab.Sel{Start: []int64{0, 0, 0}, Count: []int64{1, 1, 1}}
	none := func(slab.Block) error { return nil }
	require.Panics(t, func() { v.EachBlock(ctx, point, none) })
	require.NoError(t, v.EachBlock(ctx, point, none))
}
