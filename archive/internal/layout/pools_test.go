package layout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
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
		o := &Options{Preset: Portable, Block: DefaultBlock, Memory: 8 << 10}
		spec := o.Spec(h, size, plan.Pooled)
		_, blocked := unlimited.Plan(h, size)
		f := &fixed{rest: spec.Rest, inRest: c.rest}
		pools := plan.Pools(t.Context(), h, blocked, spec, 0)
		require.Len(t, pools, 1)
		pools[0].Chain = o.PoolChain(cdf3.Float)
		pools, err := poolsThatPay(h, spec, pools, f)
		require.NoError(t, err)
		require.Equal(t, c.pooled, len(pools) == 1, "%+v", c)
		require.Equal(t, c.tried, f.pools, "%+v", c)
	}
}

// fixed says that blocks of variables take 500 bytes, and inRest in the rest.
type fixed struct {
	rest   filters.Chain
	inRest int64
	pools  int // trials of more than one variable
}

func (f *fixed) ofVars(vars []int, c filters.Chain, _ *plan.Geometry) (int64, error) {
	if c.String() == f.rest.String() {
		return f.inRest, nil
	}
	if len(vars) > 1 {
		f.pools++
	}
	return 500, nil
}
