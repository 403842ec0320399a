package archive

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// TestHeader checks that an archive has the header of its image, for all sources of the
// number of records.
func TestHeader(t *testing.T) {
	streaming := 0
	for name, image := range someFiles(t) {
		want, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
		require.NoError(t, err, name)
		if want.Streaming {
			streaming++
		}
		for _, zarr := range []ZarrMode{ZarrAlways, ZarrNever} {
			r := open(t, pack(t, image, &WriteOptions{Name: name, Zarr: zarr, Block: MinBlock}))
			require.Equal(t, want, r.Header, name)
		}
	}
	require.NotZero(t, streaming)
}

// TestHeaderChain checks that invalid parameters in the header's chain are damage, but
// an unknown filter is not.
func TestHeaderChain(t *testing.T) {
	ar := pack(t, smallestImage, nil)
	r := open(t, ar)
	first := ar[r.Man.Header.Off:][:r.Man.Header.Len]
	for _, c := range []struct {
		filter format.PlanFilter
		want   error
	}{{format.PlanFilter{ID: filters.Deflate, Params: []uint32{99}}, ErrCorrupt}, {format.PlanFilter{ID: 35}, filters.ErrUnknownFilter}} {
		p := *r.L.Plan
		p.Chains, p.Rest.Chain, p.Rest.Head = [][]format.PlanFilter{{c.filter}}, 0, nil
		bad, err := seal(encodePlan(&p), first, nil)
		require.NoError(t, err)
		_, err = blocks.NewReader(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
		require.ErrorIs(t, err, c.want)
		require.Equal(t, c.want == ErrCorrupt, errors.Is(err, ErrCorrupt))
	}
}
