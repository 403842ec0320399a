package formats

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzSelect checks that a selection is refused at a place inside it, or selects
// indices that exist. The name of its variable must print as a selection of the same
// variable.
func FuzzSelect(f *testing.F) {
	s := seeds.Of(f)
	for name, arg := range map[string]string{
		"all": "tas", "index": "tas[0]", "ranges": "v[0:10, :, -1]", "steps": "v[::-2, ..., 5]", "largest": "v[-9223372036854775808:99999999999999999999:-9223372036854775808]",
		"brackets": `a\[1\][0]`, "escapes": `\x00\u00e9\n[:]`, "quoted": `"a b"[0]`, "comma": "v[1,]", "unclosed": "v[0", "behind": "v[0]x", "step-0": "v[::0]",
		"no-escape": `v\q`, "not-utf8": "\xff[ä]",
		"value": "v[x=40.5]", "value-range": "v[y=50:-30.5, 1]", "value-step": "v[x=:3e1:2]", "date": "v[x=2001-05]", "dates": "v[x=2001-05-01T12:2001-06]",
		"value-quoted": `v["x"=1, \y=2]`, "value-twice": "v[x=1,x=2]", "value-both": "v[0,x=1]", "value-empty": "v[x=]", "value-all": "v[x=:]",
	} {
		s.Add(name, arg, int64(10), int64(3))
	}
	f.Fuzz(func(t *testing.T, arg string, n0, n1 int64) {
		p, err := ParseSelection(arg)
		if err != nil {
			var e *SyntaxError
			require.ErrorAs(t, err, &e)
			require.True(t, e.At >= 0 && e.At <= len(arg), "%d in %q", e.At, arg)
			require.NotEmpty(t, err.Error())
			return
		}
		again, err := ParseSelection(quoted(p.Var))
		if !strings.ContainsAny(p.Var, "[") {
			require.NoError(t, err)
			require.Equal(t, p.Var, again.Var)
		}
		n0, n1 = min(max(n0, 0), 1<<62), min(max(n1, 0), 1<<12)
		h := &cdf3.Header{Dims: []cdf3.Dim{{Name: "x", Len: n0}, {Name: "y", Len: n1}}}
		h.Vars = []cdf3.Var{{Name: p.Var, Type: cdf3.Int, DimIDs: []int{0, 1}, Shape: []int64{n0, n1}}, {Name: "y", Type: cdf3.Int, DimIDs: []int{1}, Shape: []int64{n1}}}
		if n1%2 == 1 {
			h.Vars[1].Attrs = []cdf3.Attr{textAttr("units", "degrees_east")}
		}
		num, err := findVar(h, p.Var)
		require.NoError(t, err)
		v := &h.Vars[num]
		r, err := p.resolve(t.Context(), rampSource{h}, v, n0%2 == 1)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.Len(t, r.axes, len(v.Shape))
		for i, a := range r.axes {
			n := v.Shape[i]
			require.Equal(t, v.DimIDs[i], a.dim)
			require.NotZero(t, a.delta)
			require.True(t, a.count >= 0 && a.count <= n && (a.keep || a.count == 1), "%+v of %d", a, n)
			if a.count > 0 {
				last := a.start + (a.count-1)*a.delta
				require.True(t, a.start >= 0 && a.start < n && last >= 0 && last < n, "%+v of %d", a, n)
			}
		}
	})
}
