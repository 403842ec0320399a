package archive

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Images and helpers that other packages' tests share.
var (
	classicFiles  = archivetest.Classic
	someFiles     = archivetest.Some
	oneVersion    = archivetest.OneVersion
	cubeImage     = archivetest.Cube
	longImage     = archivetest.Long
	smallestImage = archivetest.Smallest
	entries       = archivetest.Entries
	ours          = archivetest.Ours
)

func verified(t testing.TB, ar []byte) *verify.Report {
	t.Helper()
	rep, err := verify.Verify(context.Background(), bytes.NewReader(ar), int64(len(ar)), nil)
	require.NoError(t, err)
	return rep
}

// smallArchives returns archives of each layout, small enough to try every byte.
func smallArchives(t testing.TB) map[string][]byte {
	files := classicFiles(t)
	out := map[string][]byte{}
	for _, name := range []string{"cdf1_single_rec_short.nc", "cdf2_two_rec_small.nc", "cdf5_all_types.nc"} {
		image, ok := files[name]
		require.True(t, ok, name)
		for _, zarr := range []ZarrMode{ZarrAlways, ZarrNever} {
			out[name+"/"+string(zarr)] = pack(t, image, &WriteOptions{Name: name, Zarr: zarr, Block: MinBlock})
		}
	}
	out["pools"] = pack(t, files["cdf1_climate_small.nc"], &WriteOptions{Zarr: ZarrNever})
	require.NotEmpty(t, open(t, out["pools"]).L.Pools)
	out["consolidated"] = pack(t, files["cdf2_two_rec_small.nc"], &WriteOptions{Zarr: ZarrConsolidated, Block: MinBlock})
	return out
}

// draftOf plans an archive as far as header and options decide it, with all pools or without any.
func draftOf(ctx context.Context, h *cdf3.Header, size int64, o *WriteOptions, lay plan.Layout, pools bool) (*write.Draft, error) {
	l := o.layout()
	s := l.Spec(h, size, lay)
	if pools {
		_, blocked := unlimited.Plan(h, size)
		s.Pools = plan.Pools(ctx, h, blocked, s, 0)
		for _, p := range s.Pools {
			p.Chain = l.PoolChain(p.Values)
		}
	}
	return write.NewDraft(ctx, h, size, s, lay)
}
