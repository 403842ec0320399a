package archive

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/blockidx"
)

// TestCheckRow: places that no block of an archive can have, which an index may
// claim and a server make seem to be there.
func TestCheckRow(t *testing.T) {
	a := open(t, pack(t, cubeImage(t, 5, 300, 500), &WriteOptions{Zarr: ZarrAlways}))
	a.size = 1 << 40
	most := maxStored(a.l.geoms[0].blockLen)
	require.NoError(t, a.checkRow(0, blockidx.Row{Len: most}))
	require.NoError(t, a.checkRow(0, blockidx.Row{Off: a.size - most, Len: most}))
	for _, r := range []blockidx.Row{{Len: most + 1}, {Off: -1}, {Off: a.size, Len: 1}, {Off: a.size - most + 1, Len: most}, {Len: 1 << 41}} {
		require.ErrorIs(t, a.checkRow(0, r), ErrCorrupt, r)
	}
}
