package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzPlan checks that an accepted plan has places within raw for all blocks.
func FuzzPlan(f *testing.F) {
	s := seeds.Of(f)
	for _, l := range testPlans(f, archivetest.Some(f)) {
		f.Add([]byte(encoded(f, l.Plan)))
	}
	files := archivetest.Classic(f)
	for name, c := range map[string]struct {
		file string
		lay  Layout
	}{"viewed": {"cdf1_single_rec_short.nc", Viewed}, "pools": {"cdf1_climate_small.nc", Pooled}} {
		l := testPlans(f, map[string][]byte{name: files[c.file]})[name+"/"+string(c.lay)]
		require.Equal(f, c.lay == Pooled, len(l.Pools) > 0)
		s.AddDamaged(name, []byte(encoded(f, l.Plan)))
	}
	s.Add("newer-format", []byte(`{"format":2}`))
	s.Add("unknown-feature", []byte(`{"format":1,"features":["x"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParsePlan(t.Context(), b)
		if err != nil {
			require.True(t, archivetest.Ours(err), "%v", err)
			return
		}
		for _, n := range []int64{0, l.Blocks / 2, l.Blocks - 1} {
			v, k := l.Locate(n)
			require.Equal(t, n, l.Number(v, k))
			l.AppendName(nil, v, k)
			l.BlockInfo(v, k)
		}
		for _, off := range []int64{0, l.Image.Size / 2, l.Image.Size - 1} {
			if off < 0 || off >= l.Image.Size {
				continue
			}
			block, in, left := l.FindRaw(off)
			n := block.Len
			require.True(t, in >= 0 && left > 0 && in+left <= n)
		}
		count := 0
		l.StoredOrder(func(int, int64) bool { count++; return count < 1000 })
	})
}
