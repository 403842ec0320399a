package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// alike is variables of one type and length whose bytes are nearly the same.
type alike struct {
	prefix string
	t      cdf3.Type
	n      int
	bytes  int64 // of each
}

// alikeImage returns an image of such variables.
func alikeImage(t testing.TB, all ...alike) []byte {
	t.Helper()
	h := &cdf3.Header{Version: cdf3.Classic}
	for d, a := range all {
		h.Dims = append(h.Dims, cdf3.Dim{Name: a.prefix, Len: a.bytes / a.t.Size()})
		for i := range a.n {
			h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprint(a.prefix, i), Type: a.t, DimIDs: []int{d}})
		}
	}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for _, a := range all {
		values := make([]byte, 0, a.bytes+4)
		for int64(len(values)) < a.bytes {
			if a.t == cdf3.Char {
				values = append(values, 'a'+byte(r.IntN(26)))
			} else {
				values = binary.BigEndian.AppendUint32(values, r.Uint32()>>4)
			}
		}
		values = append(values[:a.bytes], make([]byte, -a.bytes&3)...)
		for i := range a.n {
			values[3] = byte('a' + i)
			image = append(image, values...)
		}
	}
	return image
}

// TestRewritePools checks that rewriting keeps the pools of the source, with blocks of any size. A
// variable with its own filters leaves its pool, and the others stay.
func TestRewritePools(t *testing.T) {
	for name, all := range map[string][]alike{
		"numbers":       {{"i", cdf3.Int, 6, 30_000}},
		"text":          {{"c", cdf3.Char, 8, 80_000}},
		"two pools":     {{"i", cdf3.Int, 20, 30_000}, {"s", cdf3.Short, 4, 150_000}},
		"text, numbers": {{"c", cdf3.Char, 4, 9000}, {"d", cdf3.Double, 8, 9000}},
	} {
		t.Run(name, func(t *testing.T) {
			image := alikeImage(t, all...)
			ar := pack(t, image, &WriteOptions{Zarr: ZarrNever})
			pools := open(t, ar).L.Pools
			require.NotEmpty(t, pools)
			again, res, decoded := rewrite(t, ar, nil)
			require.Equal(t, ar, again)
			require.Equal(t, res.Blocks, res.Copied)
			require.Zero(t, decoded)

			own := &WriteOptions{Filters: []VarFilter{{Vars: []string{all[0].prefix + "1"}, Chain: filters.Chain{{ID: filters.Deflate, Params: []uint32{1}}}}}}
			again, _, _ = rewrite(t, ar, own)
			require.True(t, bytes.Equal(image, restored(t, again)))
			got := open(t, again).L.Pools
			require.Len(t, got, len(pools))
			require.Equal(t, members(pools)-1, members(got))
			require.Less(t, len(again), len(ar)+2*int(all[0].bytes))

			again, _, _ = rewrite(t, ar, &WriteOptions{Block: 16 << 10})
			require.True(t, bytes.Equal(image, restored(t, again)))
			l := open(t, again).L
			for i, p := range l.Pools {
				require.Equal(t, pools[i].Vars, p.Vars)
				require.LessOrEqual(t, l.Geoms[len(l.Vars)+i].BlockLen, max(2*16<<10, all[len(all)-1].bytes))
			}
		})
	}
}

// TestRewriteOtherPools checks that an archive of another program is rewritten whose pool has a shape that says
// nothing about its variables (docs/FORMAT.md, "Pools"). Its blocks then have the usual length.
func TestRewriteOtherPools(t *testing.T) {
	for name, c := range map[string]struct {
		vars         [][]int64 // their shapes
		shape, block []int64
		blocks       int64
	}{
		"shapes differ, their rank fits": {[][]int64{{4}, {8}}, []int64{2, 6}, []int64{2, 6}, 1},
		"one row":                        {[][]int64{{200, 500}, {500, 200}}, []int64{1, 200_000}, []int64{1, 50_000}, 7},
		"rows cut":                       {[][]int64{{100_000}, {100_000}}, []int64{2, 100_000}, []int64{1, 25_000}, 2},
		"rows of many elements":          {[][]int64{{200, 500}, {500, 200}}, []int64{200, 1000}, []int64{2, 1000}, 7},
		"rows of the variables":          {[][]int64{{30, 50}, {30, 50}, {30, 50}}, []int64{3, 30, 50}, []int64{2, 30, 50}, 2},
		"elements":                       {[][]int64{{30, 50}, {500}}, []int64{2000}, []int64{700}, 3},
		"scalars":                        {[][]int64{{}, {}}, []int64{2}, []int64{1}, 2},
	} {
		h := &cdf3.Header{Version: cdf3.Classic}
		p := &plan.Pool{PlanPool: plan.PlanPool{Type: "int", Shape: c.shape, Block: c.block}, Values: cdf3.Int}
		for i, shape := range c.vars {
			v := cdf3.Var{Name: fmt.Sprint("v", i), Type: cdf3.Int}
			for _, n := range shape {
				v.DimIDs = append(v.DimIDs, len(h.Dims))
				h.Dims = append(h.Dims, cdf3.Dim{Name: fmt.Sprint("d", len(h.Dims)), Len: n})
			}
			h.Vars = append(h.Vars, v)
			p.Vars = append(p.Vars, i)
		}
		require.NoError(t, h.Layout())
		image, err := h.Append(nil)
		require.NoError(t, err)
		for i := range h.Vars {
			p.Bytes += h.Vars[i].Len
		}
		for i := range uint32(p.Bytes / 4) {
			image = binary.BigEndian.AppendUint32(image, i*i)
		}
		s := &plan.Spec{Block: DefaultBlock, Vars: make([]plan.VarSpec, len(h.Vars)), Pools: []*plan.Pool{p}}
		d, err := write.NewDraft(t.Context(), h, int64(len(image)), s, plan.Pooled)
		require.NoError(t, err, name)
		var b bytes.Buffer
		_, err = d.Image(t.Context(), &b, bytes.NewReader(image), nil, &write.Options{Workers: 1})
		require.NoError(t, err, name)
		for _, o := range []*WriteOptions{nil, {Block: DefaultBlock}} {
			again, _, _ := rewrite(t, b.Bytes(), o)
			require.True(t, bytes.Equal(image, restored(t, again)), name)
			if l := open(t, again).L; o == nil {
				require.Equal(t, c.blocks, l.RestFirst, "%s: %+v", name, l.Pools)
			}
		}
	}
}

func members(pools []plan.PlanPool) (n int) {
	for _, p := range pools {
		n += len(p.Vars)
	}
	return n
}
