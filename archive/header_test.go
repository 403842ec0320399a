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

// TestHeader: an archive's header is that of its image, wherever the number of
// records comes from.
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

// TestHeaderChain: a chain of the header with parameters that its filter does not
// have is damage; one with a filter that is not known here is not.
func TestHeaderChain(t *testing.T) {
	ar := pack(t, smallestImage, nil)
	r := open(t, ar)
	first := ar[r.Man.Header.Off:][:r.Man.Header.Len]
	for _, c := range []struct {
		filter format.PlanFilter
		want   error
	}{{format.PlanFilter{ID: filters.Deflate, Params: []uint32{99}}, ErrCorrupt}, {format.PlanFilter{ID: 35}, filters.ErrUnknownFilter}} {
		p := *r.L.Plan
		p.Chains = [][]format.PlanFilter{{c.filter}}
		bad, err := seal(encodePlan(&p), first, nil)
		require.NoError(t, err)
		_, err = blocks.NewReader(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
		require.ErrorIs(t, err, c.want)
		require.Equal(t, c.want == ErrCorrupt, errors.Is(err, ErrCorrupt))
	}
}
