package cdf3

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "_x", "9", "été", "a b", "a.b-c", "日本", "a'\"\\", strings.Repeat("x", maxName)} {
		assert.NoError(t, checkName(name), name)
	}
	for name, want := range map[string]string{
		"":                             "empty name",
		strings.Repeat("x", maxName+1): "expected at most 256 bytes, found 257",
		"x/y":                          `name "x/y": a slash`,
		"/":                            "a slash",
		"a\xff":                        "expected UTF-8",
		"a\nb":                         "found 0x0a at byte 1",
		"a\x00":                        "found 0x00 at byte 1",
		"\x7f":                         "found 0x7f at byte 0",
		" a":                           "as the first character, found ' '",
		"-a":                           "as the first character, found '-'",
		"a ":                           "no blank at the end",
	} {
		assert.ErrorContains(t, checkName(name), want)
	}
}

// TestLayoutRules checks what Layout refuses and LayoutRead does not.
func TestLayoutRules(t *testing.T) {
	x := Dim{"x", 3}
	text := func(name string) Attr { return Attr{name, Char, 1, []byte("a")} }
	wide := Attr{"n", UInt64, 1, make([]byte, 8)}
	for want, h := range map[string]Header{
		`dimension 1 "x/y": a slash`:                                  {Dims: []Dim{x, {"x/y", 3}}},
		`dimension 2 "x": number 0 has this name`:                     {Dims: []Dim{x, {"y", 1}, x}},
		`dimension 1 "u": expected one unlimited dimension`:           {Dims: []Dim{{"t", 0}, {"u", 0}}, Vars: []Var{{Name: "v", Type: Int, DimIDs: []int{0}}, {Name: "w", Type: Int, DimIDs: []int{1}}}},
		`length 2147483645, expected at most 2147483644 in CDF-1`:     {Dims: []Dim{{"x", math.MaxInt32 - 2}}},
		`attribute 1 "a": number 0 has this name`:                     {Attrs: []Attr{text("a"), text("a")}},
		`attribute 0 "": expected at least one character`:             {Attrs: []Attr{text("")}},
		`attribute 0 "n": type uint64, which CDF-1 does not have`:     {Attrs: []Attr{wide}},
		`variable 1 "v": number 0 has this name`:                      {Vars: []Var{{Name: "v", Type: Int}, {Name: "v", Type: Int}}},
		`variable 0 "v": type ubyte, which CDF-1 does not have`:       {Vars: []Var{{Name: "v", Type: UByte}}},
		`attribute 1 "a" of variable 0 "v": number 0 has this name`:   {Vars: []Var{{Name: "v", Type: Int, Attrs: []Attr{text("a"), text("a")}}}},
		`attribute 0 "n" of variable 0 "v": type uint64`:              {Vars: []Var{{Name: "v", Type: Int, Attrs: []Attr{wide}}}},
		`variable 0 "v": 1025 dimensions, expected at most 1024`:      {Dims: []Dim{{"x", 1}}, Vars: []Var{{Name: "v", Type: Int, DimIDs: make([]int, 1025)}}},
		`variable 0 "v": 4294967296 bytes are too large for CDF-2`:    {Dims: []Dim{{"x", 1 << 30}}, Vars: []Var{{Name: "v", Type: Int, DimIDs: []int{0}}, {Name: "r", Type: Int, DimIDs: []int{1}}}},
		`expected the unlimited dimension "t" as the first, found it`: {Dims: []Dim{x, {"t", 0}}, Vars: []Var{{Name: "v", Type: Int, DimIDs: []int{0, 1}}}},
	} {
		h.Version = Classic
		if strings.Contains(want, "too large") {
			h.Version, h.Dims = Offset64, append(h.Dims, Dim{"t", 0})
		}
		assert.ErrorContains(t, h.Layout(), want)
		if !strings.Contains(want, "as the first") {
			assert.NoError(t, h.LayoutRead(), want)
		}
	}
	h := Header{Version: Data64, Attrs: []Attr{wide}, Vars: []Var{{Name: "v", Type: UByte}}}
	require.NoError(t, h.Layout())
}

// TestWriteFileComplete checks that WriteFile drops no values.
func TestWriteFileComplete(t *testing.T) {
	header := func(records uint64) *Header {
		h := &Header{Version: Classic, NumRecsField: records, Dims: []Dim{{"t", 0}, {"x", 3}},
			Vars: []Var{{Name: "fixed", Type: Short, DimIDs: []int{1}}, {Name: "rec", Type: Short, DimIDs: []int{0, 1}}}}
		require.NoError(t, h.Layout())
		return h
	}
	values := func(n int64) Data { return Data{Values: bytes.NewReader(make([]byte, max(n, 0))), Len: n} }
	write := func(h *Header, fixed, rec Data) error {
		var b bytes.Buffer
		err := WriteFile(context.Background(), &b, h, func(v int) Data { return []Data{fixed, rec}[v] })
		if err != nil {
			require.Zero(t, b.Len(), "something was written")
		}
		return err
	}
	require.NoError(t, write(header(2), values(6), values(12)))
	require.NoError(t, write(header(2), values(4), values(0)), "the rest is fill values")
	require.NoError(t, write(header(0), Data{}, Data{}))
	stale := header(2)
	stale.NumRecsField = 3
	moved := header(2)
	moved.Vars[1].Begin += 4
	longer := header(2)
	longer.Dims[1].Len = 4
	for _, c := range []struct {
		want string
		err  error
	}{
		{`variable 1 "rec": expected at most 0 bytes of values in 0 records (NumRecsField), found 12`, write(header(0), values(6), values(12))},
		{`variable 1 "rec": expected at most 0 bytes of values in 0 records`, write(header(Classic.streaming()), values(6), values(12))},
		{`variable 1 "rec": expected at most 12 bytes of values in 2 records (NumRecsField), found 18`, write(header(2), values(6), values(18))},
		{`variable 0 "fixed": expected at most 6 bytes of values for shape [3], found 8`, write(header(2), values(8), values(12))},
		{`variable 0 "fixed": expected a multiple of 2 bytes of values, found 5`, write(header(2), values(5), values(12))},
		{`variable 0 "fixed": expected a multiple of 2 bytes of values, found -2`, write(header(2), values(-2), values(12))},
		{`variable 0 "fixed": expected a reader of 6 bytes`, write(header(2), Data{Len: 6}, values(12))},
		{"cannot write 2 records of 6 bytes: expected 3 of 6", write(stale, values(6), values(12))},
		{`variable 1 "rec": 12 bytes at byte`, write(moved, values(6), values(12))},
		{"expected 2 of 8 as Layout sets them", write(longer, values(6), values(12))},
	} {
		assert.ErrorContains(t, c.err, c.want)
	}
}
