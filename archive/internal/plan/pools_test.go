package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// TestPoolQuickRest checks when an estimate decides whether variables stay in the rest: below the cost that it is compared
// with, here first 180 and then 680, and if three quarters of it are at least that cost.
func TestPoolQuickRest(t *testing.T) {
	h := &cdf3.Header{Version: 1, Dims: []cdf3.Dim{{Name: "x", Len: 200}}}
	for _, name := range []string{"a", "b"} {
		h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Float, DimIDs: []int{0}})
	}
	require.NoError(t, h.Layout())
	size := h.Vars[1].Begin + h.Vars[1].Len
	for _, c := range []struct {
		quick, exact int64
		tried        int
		pooled       bool
	}{
		{179, 1000, 0, false},
		{180, 179, 1, false},
		{679, 1000, 0, false},
		{680, 679, 1, false},
		{680, 680, 1, true},
		{905, 679, 1, false},
		{905, 680, 1, true},
		{906, 0, 0, true},
	} {
		tried := 0
		o := testOptions()
		o.Block, o.Rest = 256<<10, filters.Chain{{ID: filters.Deflate, Params: []uint32{9}}}
		o.QuickRest = func([]int) (int64, error) { return c.quick, nil }
		o.Trial = func(_ []int, chain filters.Chain, _ *Geometry) (int64, error) {
			if chain.String() != o.Rest.String() {
				return 500, nil
			}
			tried++
			return c.exact, nil
		}
		l, err := NewPlan(t.Context(), h, size, o, Pooled)
		require.NoError(t, err)
		require.Equal(t, c.pooled, len(l.Pools) == 1, "%+v", c)
		require.Equal(t, c.tried, tried, "%+v", c)
	}
}
