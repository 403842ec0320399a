package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/slab"
)

// varOf returns a variable that the file has.
func varOf(t testing.TB, f *File, name string) *Var {
	v, err := f.Var(name)
	require.NoError(t, err)
	return v
}

func openFile(t testing.TB, ar []byte, o *OpenOptions) *File {
	f, err := New(t.Context(), bytes.NewReader(ar), int64(len(ar)), o)
	require.NoError(t, err)
	return f
}

// needed counts the blocks of a variable that hold selected elements, one element at a
// time.
func needed(g *plan.Geometry, s slab.Sel) int64 {
	seen := map[int64]bool{}
	var walk func(i int, off int64)
	walk = func(i int, off int64) {
		if i == len(g.Shape) {
			b, _ := g.Find(off * g.Size)
			seen[b] = true
			return
		}
		for k := range s.Count[i] {
			walk(i+1, off*g.Shape[i]+s.Start[i]+k*s.Stride[i])
		}
	}
	walk(0, 0)
	return int64(len(seen))
}

// TestBlocksDecoded checks that each pattern decodes exactly the blocks it needs, once,
// and reads only these and a gap for each run.
func TestBlocksDecoded(t *testing.T) {
	image := cubeImage(t, 40, 30, 50)
	ar := pack(t, image, &WriteOptions{Block: 3000, Zarr: ZarrAlways})
	one, all := []int64{1, 1, 1}, []int64{40, 30, 50}
	for name, s := range map[string]slab.Sel{
		"point":   {Start: []int64{7, 8, 9}, Count: one, Stride: one},
		"series":  {Start: []int64{0, 29, 49}, Count: []int64{40, 1, 1}, Stride: one},
		"map":     {Start: []int64{39, 0, 0}, Count: []int64{1, 30, 50}, Stride: one},
		"rows":    {Start: []int64{3, 5, 0}, Count: []int64{1, 7, 50}, Stride: one},
		"box":     {Start: []int64{3, 5, 6}, Count: []int64{9, 10, 11}, Stride: one},
		"strided": {Start: []int64{39, 1, 2}, Count: []int64{4, 3, 8}, Stride: []int64{-9, 12, 6}},
		"all":     {Start: []int64{0, 0, 0}, Count: all, Stride: one},
		"none":    {Start: []int64{0, 0, 0}, Count: []int64{0, 30, 50}, Stride: one},
	} {
		t.Run(name, func(t *testing.T) {
			f := openFile(t, ar, nil)
			a := f.Array(1)
			got, err := slab.Read[int32](context.Background(), a, s)
			require.NoError(t, err)
			k := 0
			for i := range s.Count[0] {
				for j := range s.Count[1] {
					for l := range s.Count[2] {
						want := ((s.Start[0]+i*s.Stride[0])*30+s.Start[1]+j*s.Stride[1])*50 + s.Start[2] + l*s.Stride[2]
						require.Equal(t, int32(want), got[k])
						k++
					}
				}
			}
			st := f.Stats()
			want := needed(f.archive.L.Geoms[f.vars[1]], s)
			require.Equal(t, want, st.Blocks, "blocks decoded")
			var stored int64
			require.NoError(t, eachBlock(f.archive, func(b BlockInfo) error { stored = max(stored, b.Len); return nil }))
			require.LessOrEqual(t, st.Bytes, want*stored+st.Reads*opening.LocalGap+want*opening.LocalGap)
			require.LessOrEqual(t, st.Reads, want)
			// The second time they are kept, the third time they come from the cache.
			_, err = slab.Read[int32](context.Background(), a, s)
			require.NoError(t, err)
			again := f.Stats()
			require.LessOrEqual(t, again.Blocks, 2*want)
			_, err = slab.Read[int32](context.Background(), a, s)
			require.NoError(t, err)
			require.Equal(t, again.Blocks, f.Stats().Blocks)
			require.Equal(t, want, f.Stats().Hits-again.Hits)
		})
	}
}

// TestCachedPoint checks that a point in a cached block allocates nothing.
func TestCachedPoint(t *testing.T) {
	ar := pack(t, cubeImage(t, 4, 30, 50), &WriteOptions{Zarr: ZarrAlways})
	f := openFile(t, ar, nil)
	a := f.Array(1)
	ctx := context.Background()
	dst := make([]int32, 1)
	s := slab.Sel{Start: []int64{1, 2, 3}, Count: []int64{1, 1, 1}}
	allocs := testing.AllocsPerRun(100, func() {
		require.NoError(t, slab.ReadInto(ctx, a, dst, s))
	})
	require.Equal(t, int32(1*1500+2*50+3), dst[0])
	require.Zero(t, allocs)
}

// trackID is a filter of the testing range that tracks its decoding.
const trackID = 299

// tracker is a filter that leaves blocks unchanged and fails if two goroutines decode
// the same block at the same time.
type tracker struct {
	mu   sync.Mutex
	busy map[string]bool
	bad  int
	most int
}

func (k *tracker) Encode(dst, src []byte, _ []uint32, _ filters.Block) ([]byte, error) {
	return append(dst, src...), nil
}

func (k *tracker) Decode(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	key := string(src)
	k.mu.Lock()
	if k.busy[key] {
		k.bad++
	}
	k.busy[key] = true
	k.most = max(k.most, len(k.busy))
	k.mu.Unlock()
	time.Sleep(50 * time.Microsecond)
	k.mu.Lock()
	delete(k.busy, key)
	k.mu.Unlock()
	return append(dst, src...), nil
}

var registerTracker = sync.OnceValue(func() *tracker {
	k := &tracker{busy: map[string]bool{}}
	if err := filters.Register(filters.Method{ID: trackID, Name: "tracker", New: func() filters.Session { return k }}); err != nil {
		panic(err)
	}
	return k
})

// inGoroutines calls f in n goroutines at the same time, each with separate random
// numbers.
func inGoroutines(t *testing.T, n int, f func(*rand.Rand) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for g := range n {
		wg.Go(func() { errs[g] = f(rand.New(rand.NewSource(int64(g)))) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

// TestManyGoroutines checks that 64 goroutines on a reader with a small cache get right
// values, and that no block is decoded twice at the same time.
func TestManyGoroutines(t *testing.T) {
	k := registerTracker()
	image := cubeImage(t, 64, 30, 50)
	ar := pack(t, image, &WriteOptions{Block: 6000, Zarr: ZarrAlways, Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: trackID}}}}})
	f := openFile(t, ar, &OpenOptions{Cache: 20 << 10})
	length := time.Second
	if testing.Short() {
		length /= 10
	}
	if os.Getenv("CDFZ_SOAK") != "" {
		length = time.Minute
	}
	until := time.Now().Add(length)
	inGoroutines(t, 64, func(rng *rand.Rand) error {
		a := f.Array(1)
		for time.Now().Before(until) {
			r, y := rng.Int63n(60), rng.Int63n(30)
			got, err := slab.Read[int32](context.Background(), a, slab.Sel{Start: []int64{r, y, 0}, Count: []int64{4, 1, 50}})
			if err == nil && (got[0] != int32(r*1500+y*50) || got[199] != int32((r+3)*1500+y*50+49)) {
				err = fmt.Errorf("record %d, row %d: got %d and %d", r, y, got[0], got[199])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.Zero(t, k.bad, "blocks decoded twice at the same time")
	require.LessOrEqual(t, k.most, f.archive.Workers, "blocks in memory outside the cache")
}

// TestCancelledReader checks that a caller whose context ends does not fail another
// that waits for the same block.
func TestCancelledReader(t *testing.T) {
	registerTracker()
	ar := pack(t, cubeImage(t, 8, 30, 50), &WriteOptions{Block: 6000, Zarr: ZarrAlways, Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: trackID}}}}})
	for range 50 {
		f := openFile(t, ar, nil)
		a := f.Array(1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			dst := make([]int32, 8*1500)
			slab.ReadInto(ctx, a, dst, slab.Sel{})
		}()
		go cancel()
		dst := make([]int32, 8*1500)
		require.NoError(t, slab.ReadInto(context.Background(), a, dst, slab.Sel{}))
	}
	f := openFile(t, ar, nil)
	a := f.Array(1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, slab.ReadInto(ctx, a, make([]int32, 8*1500), slab.Sel{}), context.Canceled)
}

func BenchmarkCachedPoint(b *testing.B) {
	f := openFile(b, pack(b, cubeImage(b, 4, 300, 500), nil), nil)
	a := f.Array(0)
	dst := make([]float32, 1)
	s := slab.Sel{Start: []int64{1, 2, 3}, Count: []int64{1, 1, 1}}
	b.ReportAllocs()
	for b.Loop() {
		if err := slab.ReadInto(context.Background(), a, dst, s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCachedMap(b *testing.B) {
	f := openFile(b, pack(b, cubeImage(b, 4, 300, 500), nil), nil)
	a := f.Array(0)
	dst := make([]float32, 300*500)
	s := slab.Sel{Start: []int64{1, 0, 0}, Count: []int64{1, 300, 500}}
	b.SetBytes(4 * 300 * 500)
	for b.Loop() {
		if err := slab.ReadInto(context.Background(), a, dst, s); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSharedCache checks that two readers share a cache without mixing up their blocks.
func TestSharedCache(t *testing.T) {
	one, two := cubeImage(t, 8, 30, 50), cubeImage(t, 8, 50, 30)
	c, err := NewCache(1 << 20)
	require.NoError(t, err)
	o := &OpenOptions{Shared: c}
	for range 2 {
		for _, image := range [][]byte{one, two} {
			f := openFile(t, pack(t, image, &WriteOptions{Block: 6000, Zarr: ZarrAlways}), o)
			classic := openFile(t, image, nil)
			want, err := slab.Read[int32](context.Background(), classic.Array(1), slab.Sel{})
			require.NoError(t, err)
			for range 3 {
				got, err := slab.Read[int32](context.Background(), f.Array(1), slab.Sel{})
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			st := f.Stats()
			require.Equal(t, st.Blocks, 2*st.Hits, "the third time from the cache")
		}
	}
	_, err = NewCache(0)
	require.ErrorIs(t, err, ErrOptions)
}
