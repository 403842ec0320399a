package archive

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/verify"
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

// TestCopies damages the plan, the netCDF header and their second copies. As long as one of
// each is intact, the archive is read, and repaired to the byte.
func TestCopies(t *testing.T) {
	for _, zarr := range []ZarrMode{ZarrAlways, ZarrNever} {
		image, ar := copiedArchive(t, zarr)
		m := open(t, ar).Man
		copied, header := plan.Place{Off: m.Copies.Plan, Len: m.Plan.Len}, plan.Place{Off: m.Copies.Header, Len: m.Header.Len}
		for _, c := range []struct {
			name   string
			hit    []plan.Place
			reads  bool
			repair bool
		}{
			{"plan", []plan.Place{m.Plan}, true, true},
			{"header", []plan.Place{m.Header}, true, true},
			{"plan and header", []plan.Place{m.Plan, m.Header}, true, true},
			{"copy of the plan", []plan.Place{copied}, true, true},
			{"copy of the header", []plan.Place{header}, true, true},
			{"both copies", []plan.Place{copied, header}, true, true},
			{"plan and copy of the header", []plan.Place{m.Plan, header}, true, true},
			{"header and copy of the plan", []plan.Place{m.Header, copied}, true, true},
			{"both plans", []plan.Place{m.Plan, copied}, false, false},
			{"both headers", []plan.Place{m.Header, header}, false, false},
		} {
			for _, how := range []string{"byte", "zeros"} {
				t.Run(fmt.Sprintf("%v/%s/%s", zarr, c.name, how), func(t *testing.T) {
					bad := bytes.Clone(ar)
					for _, p := range c.hit {
						if how == "byte" {
							bad[p.Off+p.Len/2] ^= 1
						} else {
							clear(bad[p.Off : p.Off+p.Len])
						}
					}
					rep, err := verify.Verify(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
					require.NoError(t, err)
					require.NotEmpty(t, rep.Damage)
					f, err := New(bytes.NewReader(bad), int64(len(bad)), nil)
					if !c.reads {
						require.ErrorIs(t, err, ErrCorrupt)
					} else {
						require.NoError(t, err)
						var back bytes.Buffer
						_, err = f.Image().WriteTo(&back)
						require.NoError(t, err)
						require.True(t, bytes.Equal(image, back.Bytes()))
						got := make([]byte, 500)
						_, err = f.Image().ReadAt(got, 0)
						require.NoError(t, err)
						require.Equal(t, image[:500], got)
					}
					p, err := repairOf(t, bad)
					if !c.repair {
						require.True(t, err != nil || len(p.Damage) > 0 && !p.Identical)
						return
					}
					require.NoError(t, err)
					require.True(t, p.Identical)
					require.False(t, p.Intact())
					require.True(t, bytes.Equal(ar, inPlace(t, bad, p)))
					var whole bytes.Buffer
					_, err = p.WriteTo(context.Background(), &whole)
					require.NoError(t, err)
					require.True(t, bytes.Equal(ar, whole.Bytes()))
				})
			}
		}
	}
}

// TestCopiesWithoutTail damages plan or netCDF header of an archive that has lost its end
// line, so that the second copies are found by the local headers.
func TestCopiesWithoutTail(t *testing.T) {
	_, ar := copiedArchive(t, ZarrNever)
	r := open(t, ar)
	for _, p := range []plan.Place{r.Man.Plan, r.Man.Header} {
		bad := bytes.Clone(ar[:len(ar)-czip.EndLen])
		bad[p.Off+1] ^= 1
		fixed, err := repairOf(t, bad)
		require.NoError(t, err)
		require.Empty(t, fixed.Damage)
		require.True(t, bytes.Equal(ar, inPlace(t, bad, fixed)))
	}
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
