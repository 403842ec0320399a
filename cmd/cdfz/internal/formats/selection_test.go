package formats

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// TestSelectNames checks how the name of a selection is parsed.
func TestSelectNames(t *testing.T) {
	for arg, name := range map[string]string{
		`tas`: "tas", `tas[0]`: "tas", `a b`: "a b", ``: "", `a]`: "a]",
		`a\[1\]`: "a[1]", `a\[1\][0]`: "a[1]", `\\`: `\`, `a\"`: `a"`, `\x00\xff[0]`: "\x00\xff", `\u00e9`: "é", `\n\t`: "\n\t",
		`"a b"`: "a b", `"a[1]"[0]`: "a[1]", `"\xff\n"`: "\xff\n", `\"a"`: `"a"`, `ä[0]`: "ä", `\ä`: "ä",
	} {
		p, err := ParseSelection(arg)
		require.NoError(t, err, arg)
		require.Equal(t, name, p.Var, arg)
		require.Equal(t, strings.HasSuffix(arg, "[0]"), p.subs != nil, arg)
	}
}

func TestSelectSyntaxErrors(t *testing.T) {
	for arg, want := range map[string]string{
		`v[`:           "expected ], at character 3",
		`v[0`:          "expected ], at character 4",
		`v[0]x`:        "expected nothing after ], at character 5",
		`v[0][1]`:      "expected nothing after ], at character 5",
		`v[]`:          "expected an index or a range, at character 3",
		`v[,]`:         "expected an index or a range, at character 3",
		`v[0,,1]`:      "expected an index or a range, at character 5",
		`v[0,1,,]`:     "expected an index or a range, at character 7",
		`v[a]`:         `expected an integer, found "a", at character 3`,
		`v[0, b]`:      `expected an integer, found "b", at character 6`,
		`v[0:1.5]`:     `expected an integer, found "1.5", at character 5`,
		`v[0x1]`:       `expected an integer, found "0x1", at character 3`,
		`v[1_0]`:       `expected an integer, found "1_0", at character 3`,
		`v[- 1]`:       `expected an integer, found "- 1", at character 3`,
		`v[0:1:2:3]`:   "expected at most two colons in 0:1:2:3, at character 3",
		`v[::0]`:       "expected a step other than 0 in ::0, at character 6",
		`v[..., ...]`:  "expected one ..., found two, at character 7",
		`v[..]`:        `expected an integer, found "..", at character 3`,
		`v\`:           "expected a character after \\, at character 2",
		`v\q`:          `unknown escape, expected \n, \xHH, \uHHHH or the like, at character 2`,
		`v\x1[0]`:      `unknown escape, expected \n, \xHH, \uHHHH or the like, at character 2`,
		`ü[a]`:         `expected an integer, found "a", at character 3`,
		`"v`:           `malformed quoted name; \" is a quote in a name, at character 1`,
		`"v"x`:         "expected [ after the name, at character 4",
		`v[None]`:      `expected an integer, found "None", at character 3`,
		`v[[1, 2], 3]`: `expected an integer, found "[1", at character 3`,
	} {
		_, err := ParseSelection(arg)
		require.Error(t, err, arg)
		require.Equal(t, arg+": "+want, err.Error())
	}
}

// fakeSource is a file without values.
type fakeSource struct{ h *cdf3.Header }

func (s fakeSource) Header() *cdf3.Header { return s.h }
func (s fakeSource) Array(int) slab.Array { panic("no values") }

// vector returns a header with variables v of dimension x, and m of x, y and x.
func vector(n int64) *cdf3.Header {
	return &cdf3.Header{
		Dims: []cdf3.Dim{{Name: "x", Len: n}, {Name: "y y", Len: 3}},
		Vars: []cdf3.Var{
			{Name: "v", DimIDs: []int{0}, Shape: []int64{n}},
			{Name: "m", DimIDs: []int{0, 1, 0}, Shape: []int64{n, 3, n}},
			{Name: "s"},
		},
	}
}

// TestSelectRanges compares ranges with numpy, as start, count and step in a dimension
// of length 10. TestJudgeExport compares many more.
func TestSelectRanges(t *testing.T) {
	for _, c := range []struct {
		text string
		want [3]int64
		keep bool
	}{
		{"0", [3]int64{0, 1, 1}, false}, {"-1", [3]int64{9, 1, 1}, false}, {" +9 ", [3]int64{9, 1, 1}, false}, {"-10", [3]int64{0, 1, 1}, false},
		{":", [3]int64{0, 10, 1}, true}, {"::", [3]int64{0, 10, 1}, true}, {"...", [3]int64{0, 10, 1}, true}, {"..., :", [3]int64{0, 10, 1}, true},
		{"2:5", [3]int64{2, 3, 1}, true}, {"2:5,", [3]int64{2, 3, 1}, true}, {"-3:", [3]int64{7, 3, 1}, true}, {":-3", [3]int64{0, 7, 1}, true},
		{"5:100", [3]int64{5, 5, 1}, true}, {"-100:2", [3]int64{0, 2, 1}, true}, {"5:5", [3]int64{0, 0, 1}, true}, {"7:5", [3]int64{0, 0, 1}, true},
		{"20:", [3]int64{0, 0, 1}, true}, {"::3", [3]int64{0, 4, 3}, true}, {"1::3", [3]int64{1, 3, 3}, true}, {"9::3", [3]int64{9, 1, 1}, true},
		{"::-1", [3]int64{9, 10, -1}, true}, {"::-3", [3]int64{9, 4, -3}, true}, {"5::-1", [3]int64{5, 6, -1}, true}, {":5:-1", [3]int64{9, 4, -1}, true},
		{"5:2:-1", [3]int64{5, 3, -1}, true}, {"2:5:-1", [3]int64{0, 0, 1}, true}, {"100:-100:-4", [3]int64{9, 3, -4}, true}, {"-2:-5:-2", [3]int64{8, 2, -2}, true},
		{"::99999999999999999999", [3]int64{0, 1, 1}, true}, {"::-99999999999999999999", [3]int64{9, 1, 1}, true},
		{"-99999999999999999999:99999999999999999999", [3]int64{0, 10, 1}, true},
	} {
		p, err := ParseSelection("v[" + c.text + "]")
		require.NoError(t, err, c.text)
		h := vector(10)
		a, err := p.resolve(t.Context(), fakeSource{h}, &h.Vars[0], false)
		require.NoError(t, err, c.text)
		require.Equal(t, axis{dim: 0, start: c.want[0], count: c.want[1], delta: c.want[2], keep: c.keep}, a.axes[0], c.text)
	}
}

// TestSelectDims checks which subscript applies to which dimension.
func TestSelectDims(t *testing.T) {
	all := [3]string{":", ":", ":"}
	h := vector(10)
	for text, want := range map[string][3]string{
		"": all, "[...]": all, "[:]": all, "[:,:,:,...]": all, "[..., :,:,:]": all, "[:,...,:]": all,
		"[1]": {"1", ":", ":"}, "[...,1]": {":", ":", "1"}, "[1,...,2]": {"1", ":", "2"}, "[1,2]": {"1", "2", ":"},
		"[...,1,2]": {":", "1", "2"}, "[1,2,...]": {"1", "2", ":"}, "[1,...,2,0]": {"1", "2", "0"}, "[1,2,0,...]": {"1", "2", "0"},
	} {
		p, err := ParseSelection("m" + text)
		require.NoError(t, err, text)
		a, err := p.resolve(t.Context(), fakeSource{h}, &h.Vars[1], false)
		require.NoError(t, err, text)
		for i, w := range want {
			if w == ":" {
				require.Equal(t, axis{dim: h.Vars[1].DimIDs[i], count: h.Vars[1].Shape[i], delta: 1, keep: true}, a.axes[i], text)
			} else {
				require.Equal(t, axis{dim: h.Vars[1].DimIDs[i], start: int64(w[0] - '0'), count: 1, delta: 1}, a.axes[i], text)
			}
		}
	}
}

func TestSelectErrors(t *testing.T) {
	for _, c := range []struct {
		n         int64
		arg, want string
	}{
		{10, "v[10]", "v[10]: dimension x of v has length 10: there is no index 10, expected -10 to 9"},
		{10, "v[-11]", "v[-11]: dimension x of v has length 10: there is no index -11, expected -10 to 9"},
		{10, "v[99999999999999999999]", "v[99999999999999999999]: dimension x of v has length 10: there is no index 99999999999999999999, expected -10 to 9"},
		{0, "v[0]", "v[0]: dimension x of v has length 0: there is no index 0"},
		{10, "v[0,0]", "v[0,0]: found 2 indices, and v has one dimension, x"},
		{10, "v[0,...,0]", "v[0,...,0]: found 2 indices, and v has one dimension, x"},
		{10, "m[0,3]", `m[0,3]: dimension "y y" of m has length 3: there is no index 3, expected -3 to 2`},
		{10, "m[0,0,0,0]", `m[0,0,0,0]: found 4 indices, and m has 3 dimensions, x, "y y", x`},
		{10, "s[0]", "s[0]: found 1 index, and s has no dimension"},
	} {
		p, err := ParseSelection(c.arg)
		require.NoError(t, err, c.arg)
		h := vector(c.n)
		num, err := findVar(h, p.Var)
		require.NoError(t, err)
		_, err = p.resolve(t.Context(), fakeSource{h}, &h.Vars[num], false)
		require.EqualError(t, err, c.want)
	}
}

// failingSource is a file whose values cannot be read.
type failingSource struct {
	memSource
	err error
}

func (s failingSource) Array(v int) slab.Array {
	w := &s.h.Vars[v]
	return array(w, failing{s.err})
}

// TestErrSelection tells errors of the selection from errors of reading.
func TestErrSelection(t *testing.T) {
	f := onAxis(cdf3.Double, []float64{1, 2, 3})
	for _, text := range []string{"v[", "v[y=1]", "v[x=9]", "v[9]", "v[none=1]", "none", "x[x=2001-05]"} {
		s, err := ParseSelection(text)
		if err == nil {
			_, err = s.Apply(t.Context(), f, nil)
		}
		require.ErrorIs(t, err, ErrSelection, text)
	}
	gone := errors.New("gone")
	s, err := ParseSelection("v[x=2]")
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), failingSource{f, gone}, nil)
	require.ErrorIs(t, err, gone)
	require.NotErrorIs(t, err, ErrSelection)
	require.EqualError(t, err, "v[x=2]: coordinate variable x: slab: reading 24 bytes at 0: gone")
}
