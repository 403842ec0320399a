package layout

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/filters"
)

// TestTrialsStop checks that trials look at the context for each block, since one at the level
// Max may take long.
func TestTrialsStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g, err := plan.NewGeometry([]int64{100}, []int64{10}, 4)
	require.NoError(t, err)
	m := &measure{ctx: ctx}
	_, err = m.stored(make([]byte, 400), filters.Chain{{ID: filters.Deflate, Params: []uint32{1}}}, g)
	require.ErrorIs(t, err, context.Canceled)
}
