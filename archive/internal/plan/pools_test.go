package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// TestPoolRest checks when variables stay in the rest: if that takes less than the places of the
// pool's blocks, here 180 bytes, or than the pool, here 680.
func TestPoolRest(t *testing.T) {
	h := &cdf3.Header{Version: 1, Dims: []cdf3.Dim{{Name: "x", Len: 200}}}
	for _, name := range []string{"a", "b"} {
		h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Float, DimIDs: []int{0}})
	}
	require.NoError(t, h.Layout())
	size := h.Vars[1].Begin + h.Vars[1].Len
	for _, c := range []struct {
		rest   int64
		tried  int // chains of pools
		pooled bool
	}{
		{179, 0, false},
		{180, 1, false},
		{679, 1, false},
		{680, 1, true},
	} {
		tried := 0
		o := testOptions()
		o.Block, o.Rest = 256<<10, filters.Chain{{ID: filters.Deflate, Params: []uint32{9}}}
		o.Trial = func(vars []int, chain filters.Chain, _ *Geometry) (int64, error) {
			if chain.String() == o.Rest.String() {
				return c.rest, nil
			}
			if len(vars) > 1 {
				tried++
			}
			return 500, nil
		}
		l, err := NewPlan(t.Context(), h, size, o, Pooled)
		require.NoError(t, err)
		require.Equal(t, c.pooled, len(l.Pools) == 1, "%+v", c)
		require.Equal(t, c.tried, tried, "%+v", c)
	}
}
