package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestLongRows checks that variables longer than a block may be are no stack, although those of the other plan were one.
func TestLongRows(t *testing.T) {
	const n = maxBlock/4 + 1
	h := &cdf3.Header{Version: cdf3.Data64, Dims: []cdf3.Dim{{Name: "x", Len: n}}, Vars: []cdf3.Var{
		{Name: "a", Type: cdf3.Int, DimIDs: []int{0}}, {Name: "b", Type: cdf3.Int, DimIDs: []int{0}},
	}}
	require.NoError(t, h.Layout())
	s := &Spec{Block: 1 << 20, Vars: make([]VarSpec, 2)}
	for _, block := range [][]int64{nil, {1, n / 4}} {
		pools := PoolsOf(h, s, 0, []PlanPool{{Vars: []int{0, 1}, Type: "int", Shape: []int64{2, n}, Block: block}})
		require.Len(t, pools, 1)
		g, err := pools[0].Geometry()
		require.NoError(t, err)
		require.Equal(t, int64(2*4*n), g.RawLen)
		require.LessOrEqual(t, g.BlockLen, int64(1<<20))
	}
}
