package archive

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
)

// copiedArchive returns an image and an archive of it that is just large enough for second
// copies.
func copiedArchive(t testing.TB, zarr ZarrMode) (image, ar []byte) {
	image = cubeImage(t, 40, 60, 60)
	rng := rand.New(rand.NewSource(1))
	for i := len(image) / 3; i < len(image); i += 2 {
		image[i] = byte(rng.Intn(256))
	}
	ar = pack(t, image, &WriteOptions{Name: "c.nc", Zarr: zarr, Block: 64 << 10})
	require.NotZero(t, open(t, ar).Man.Copies)
	return image, ar
}

// TestCopiesCost checks which archives have second copies.
func TestCopiesCost(t *testing.T) {
	image, ar := copiedArchive(t, ZarrNever)
	r := open(t, ar)
	require.Less(t, len(ar), len(image))
	require.Less(t, r.Tail.ManOff-r.Man.Copies.Plan, r.Man.Stored/plan.CopiesShare)
	require.Zero(t, open(t, pack(t, smallestImage, nil)).Man.Copies)

	rng := rand.New(rand.NewSource(1))
	random := cubeImage(t, 40, 60, 60)
	rng.Read(random[400:])
	ar = pack(t, random, &WriteOptions{Zarr: ZarrNever})
	require.Zero(t, open(t, ar).Man.Copies, "an archive of %d bytes, an image of %d", len(ar), len(random))
}
