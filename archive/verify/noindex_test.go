package verify_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/verify"
)

// TestWalk checks that an archive is restored from its local headers: damage of the index
// does not matter, damage elsewhere is found or does not matter either.
func TestWalk(t *testing.T) {
	walk := func(ar []byte) (*verify.Image, error) {
		return verify.Walk(context.Background(), bytes.NewReader(ar), int64(len(ar)), nil)
	}
	for name, image := range archivetest.Some(t) {
		sum := sha256.Sum256(image)
		got, err := walk(packtest.Pack(t, image, &archive.WriteOptions{Name: name, Block: 4096}))
		require.NoError(t, err, name)
		require.Equal(t, &verify.Image{Name: name, Size: int64(len(image)), SHA256: hex.EncodeToString(sum[:])}, got)
	}
	files := archivetest.Classic(t)
	image := files["cdf2_two_rec_small.nc"]
	ar := packtest.Pack(t, image, &archive.WriteOptions{Zarr: archive.ZarrAlways, Block: archive.MinBlock})
	want, err := walk(ar)
	require.NoError(t, err)
	a := packtest.Open(t, ar)
	found := 0
	for i := 0; i < len(ar); i += 1 + archivetest.Thin()/2 {
		bad := bytes.Clone(ar)
		bad[i] ^= 1
		got, err := walk(bad)
		if err != nil {
			found++
			continue
		}
		require.Equal(t, want, got)
	}
	require.Greater(t, found, len(ar)/8/(1+archivetest.Thin()/2)) // local headers and blocks
	bad := bytes.Clone(ar)
	rows := bad[a.Tail.IdxOff+a.Tail.IdxLen-8:]
	for i := range rows[:16] {
		rows[i] ^= 0xff // of the index: its last rows and the checksum of their page
	}
	got, err := walk(bad)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
