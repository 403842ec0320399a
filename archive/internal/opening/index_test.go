package opening_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/blockidx"
)

// TestCheckRow checks places that no block of an archive can have, but an index may
// claim and a server may fake.
func TestCheckRow(t *testing.T) {
	a := packtest.Open(t, packtest.Pack(t, archivetest.Cube(t, 5, 300, 500), &archive.WriteOptions{Zarr: archive.ZarrAlways}))
	a.Size = 1 << 40
	most := opening.MaxStored(a.L.Geoms[0].BlockLen)
	require.NoError(t, a.CheckRow(a.L.BlockAt(0), blockidx.Row{Len: most}))
	require.NoError(t, a.CheckRow(a.L.BlockAt(0), blockidx.Row{Off: a.Size - most, Len: most}))
	for _, r := range []blockidx.Row{{Len: most + 1}, {Off: -1}, {Off: a.Size, Len: 1}, {Off: a.Size - most + 1, Len: most}, {Len: 1 << 41}} {
		require.ErrorIs(t, a.CheckRow(a.L.BlockAt(0), r), archive.ErrCorrupt, r)
	}
}
