package layout

import (
	"strconv"
	"testing"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/cdf3"
)

// TestLeastWithView: no layout with a view has fewer structural bytes than the bound, however
// well its documents deflate.
func TestLeastWithView(t *testing.T) {
	for _, lay := range []plan.Layout{plan.Viewed, plan.Consolidated} {
		for _, typ := range []cdf3.Type{cdf3.Byte, cdf3.Char, cdf3.Short, cdf3.Double} {
			for _, dims := range [][]cdf3.Dim{nil, {{Name: "x", Len: 1}}, {{Name: "x", Len: 4096}}, {{Name: "x", Len: 1}, {Name: "y", Len: 1}}} {
				for _, n := range []int{0, 1, 2, 3, 5, 9, 36, 200} {
					h := &cdf3.Header{Version: 1, Dims: dims}
					for i := range n {
						v := cdf3.Var{Name: "v" + strconv.FormatInt(int64(i), 36), Type: typ}
						for k := range dims {
							v.DimIDs = append(v.DimIDs, k)
						}
						h.Vars = append(h.Vars, v)
					}
					if err := h.Layout(); err != nil {
						t.Fatal(err)
					}
					size := h.Len
					for i := range h.Vars {
						size += int64(h.Vars[i].VSize)
					}
					o := &Options{Preset: Default, Block: DefaultBlock, OwnBlock: true, Memory: 128 << 20, Forced: true}
					d, err := write.NewDraft(t.Context(), h, size, o.Spec(h, size, lay), lay)
					if err != nil {
						t.Fatal(err)
					}
					if least, got := leastWithView(h, size, lay), d.Structural(); least > got {
						t.Errorf("%v, %d variables of %v with dimensions %v: at least %d structural bytes expected, found %d", lay, n, typ, dims, least, got)
					}
				}
			}
		}
	}
}
