package archive

import (
	"bytes"
	"context"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/slab"
)

// TestWorkers checks that at most Workers blocks are decoded at the same time, by one
// read of many blocks, by many reads and by many chunks that are not kept.
func TestWorkers(t *testing.T) {
	k := registerTracker()
	defer func() { k.most = 0 }()
	ar := pack(t, cubeImage(t, 64, 30, 50), &WriteOptions{Block: 6000, Zarr: ZarrAlways, Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: trackID}}}}})
	for _, workers := range []int{1, 3} {
		k.most = 0
		f := openFile(t, ar, &OpenOptions{Workers: workers, Cache: -1})
		_, err := slab.Read[int32](context.Background(), f.Array(1), slab.Sel{})
		require.NoError(t, err)
		require.LessOrEqual(t, k.most, workers)
		inGoroutines(t, 8, func(rng *rand.Rand) error {
			_, err := slab.Read[int32](context.Background(), f.Array(1), slab.Sel{Start: []int64{rng.Int63n(8) * 8, 0, 0}, Count: []int64{8, 30, 50}})
			return err
		})
		require.LessOrEqual(t, k.most, workers)
		chunks, err := varOf(t, f, f.Header().Vars[1].Name).Chunks(&ChunkOptions{Keep: func(filters.Chain) bool { return false }})
		require.NoError(t, err)
		inGoroutines(t, 8, func(rng *rand.Rand) (err error) {
			for range 10 {
				if _, _, e := chunks.Append(context.Background(), nil, rng.Int63n(chunks.Len())); e != nil {
					err = e
				}
			}
			return err
		})
		require.LessOrEqual(t, k.most, workers)
	}
	for _, workers := range []int{-1, 1025} {
		_, err := read.NewReader(context.Background(), bytes.NewReader(ar), int64(len(ar)), &read.Options{Workers: workers})
		require.ErrorIs(t, err, ErrOptions)
	}
}

// TestCopyMemory checks that blocks that are large relative to the memory are decoded
// one by one.
func TestCopyMemory(t *testing.T) {
	k := registerTracker()
	defer func() { k.most = 0 }()
	ar := pack(t, cubeImage(t, 300, 30, 50), &WriteOptions{Block: 6000, Zarr: ZarrAlways, Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: trackID}}}}})
	f := openFile(t, ar, &OpenOptions{Cache: -1})
	k.most = 0
	require.NoError(t, f.Image().Copy(context.Background(), nil, &CopyOptions{Workers: 8, Memory: 20_000}))
	require.Equal(t, 1, k.most)
}
