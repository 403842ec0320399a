package repair_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/verify"
)

// TestCopies damages the plan, the netCDF header and their second copies. As long as one of
// each is intact, the archive is read, and repaired to the byte.
func TestCopies(t *testing.T) {
	for _, zarr := range []archive.ZarrMode{archive.ZarrAlways, archive.ZarrNever} {
		image, ar := packtest.Copied(t, zarr)
		m := packtest.Open(t, ar).Man
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
					f, err := archive.New(t.Context(), bytes.NewReader(bad), int64(len(bad)), nil)
					if !c.reads {
						require.ErrorIs(t, err, archive.ErrCorrupt)
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
	_, ar := packtest.Copied(t, archive.ZarrNever)
	r := packtest.Open(t, ar)
	for _, p := range []plan.Place{r.Man.Plan, r.Man.Header} {
		bad := bytes.Clone(ar[:len(ar)-czip.EndLen])
		bad[p.Off+1] ^= 1
		fixed, err := repairOf(t, bad)
		require.NoError(t, err)
		require.Empty(t, fixed.Damage)
		require.True(t, bytes.Equal(ar, inPlace(t, bad, fixed)))
	}
}
