package archive

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/verify"
)

func verified(t testing.TB, ar []byte) *verify.Report {
	t.Helper()
	rep, err := verify.Verify(context.Background(), bytes.NewReader(ar), int64(len(ar)), nil)
	require.NoError(t, err)
	return rep
}

func TestVerifyIntact(t *testing.T) {
	for name, image := range someFiles(t) {
		for _, zarr := range []ZarrMode{ZarrAlways, ZarrConsolidated, ZarrAuto} {
			rep := verified(t, pack(t, image, &WriteOptions{Name: name, Zarr: zarr, Block: 4096}))
			require.Empty(t, rep.Damage, name)
			require.Equal(t, name, rep.Image)
			require.Equal(t, int64(len(image)), rep.ImageSize)
		}
	}
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

// TestVerifyEveryByte checks that flipped bytes of small archives are detected, every third
// of them or, in the soak, every one.
func TestVerifyEveryByte(t *testing.T) {
	for name, ar := range smallArchives(t) {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(ar); i += thin() {
				bad := bytes.Clone(ar)
				bad[i] ^= byte(1 << (i % 8))
				rep, err := verify.Verify(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
				require.NoError(t, err, "byte %d", i)
				require.NotEmpty(t, rep.Damage, "byte %d of %d", i, len(ar))
			}
		})
	}
}

// TestVerifyCuts cuts archives at every third byte or, in the soak, at every one.
func TestVerifyCuts(t *testing.T) {
	for name, ar := range smallArchives(t) {
		t.Run(name, func(t *testing.T) {
			for n := czip.HeadLen; n < len(ar); n += thin() {
				rep, err := verify.Verify(context.Background(), bytes.NewReader(ar[:n]), int64(n), nil)
				require.NoError(t, err, "cut at %d", n)
				require.NotEmpty(t, rep.Damage, "cut at %d", n)
			}
			rep := verified(t, append(bytes.Clone(ar), 0))
			require.NotEmpty(t, rep.Damage)
		})
	}
}

// TestVerifyRandomFlips flips random bytes of larger archives.
func TestVerifyRandomFlips(t *testing.T) {
	image := classicFiles(t)["cdf2_climate.nc"]
	require.NotNil(t, image)
	for _, zarr := range []ZarrMode{ZarrAlways, ZarrNever} {
		ar := pack(t, image, &WriteOptions{Name: "c.nc", Zarr: zarr, Block: 8 << 10})
		rng := rand.New(rand.NewSource(1))
		n := 1500
		if os.Getenv("CDFZ_SOAK") != "" {
			n = 100_000
		}
		for range n / thin() {
			bad := bytes.Clone(ar)
			i := rng.Intn(len(bad))
			bad[i] ^= byte(1 + rng.Intn(255))
			rep, err := verify.Verify(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
			require.NoError(t, err, "byte %d", i)
			require.NotEmpty(t, rep.Damage, fmt.Sprintf("byte %d of %d", i, len(ar)))
		}
	}
}
