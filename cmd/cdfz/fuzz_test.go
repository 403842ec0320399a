package main

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cdl"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzSelect: a VAR argument is refused at a place in it, or selects indices that
// the variable has; and the name it picks prints as an argument that picks it.
func FuzzSelect(f *testing.F) {
	s := seeds.Of(f)
	for name, arg := range map[string]string{
		"all": "tas", "index": "tas[0]", "ranges": "v[0:10, :, -1]", "steps": "v[::-2, ..., 5]", "largest": "v[-9223372036854775808:99999999999999999999:-9223372036854775808]",
		"brackets": `a\[1\][0]`, "escapes": `\x00\u00e9\n[:]`, "quoted": `"a b"[0]`, "comma": "v[1,]", "unclosed": "v[0", "behind": "v[0]x", "step-0": "v[::0]",
		"no-escape": `v\q`, "not-utf8": "\xff[ä]",
	} {
		s.Add(name, arg, int64(10), int64(3))
	}
	f.Fuzz(func(t *testing.T, arg string, n0, n1 int64) {
		p, err := parsePicked(arg)
		if err != nil {
			var e *syntaxError
			require.ErrorAs(t, err, &e)
			require.True(t, e.at >= 0 && e.at <= len(arg), "%d in %q", e.at, arg)
			require.NotEmpty(t, err.Error())
			return
		}
		again, err := parsePicked(quoted(p.name))
		if !strings.ContainsAny(p.name, "[") {
			require.NoError(t, err)
			require.Equal(t, p.name, again.name)
		}
		n0, n1 = max(n0, 0), max(n1, 0)
		h := &cdf3.Header{Dims: []cdf3.Dim{{Name: "x", Len: n0}, {Name: "y", Len: n1}}}
		h.Vars = []cdf3.Var{{Name: p.name, DimIDs: []int{0, 1}, Shape: []int64{n0, n1}}}
		num, err := findVar(h, p.name)
		require.NoError(t, err)
		axes, err := p.resolve(h, &h.Vars[num])
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.Len(t, axes, 2)
		for i, a := range axes {
			n := h.Vars[0].Shape[i]
			require.Equal(t, i, a.dim)
			require.NotZero(t, a.delta)
			require.True(t, a.count >= 0 && a.count <= n && (a.keep || a.count == 1), "%+v of %d", a, n)
			if a.count > 0 {
				last := a.start + (a.count-1)*a.delta
				require.True(t, a.start >= 0 && a.start < n && last >= 0 && last < n, "%+v of %d", a, n)
			}
		}
	})
}

// FuzzFindVar: no panic in looking for names like one.
func FuzzFindVar(f *testing.F) {
	s := seeds.Of(f)
	s.Add("near", "tsa", "tas", "temperature")
	s.Add("empty", "", "", "x")
	s.Add("not-utf8", "\xff", "\xfe\x00", "ÄÖ")
	f.Fuzz(func(t *testing.T, name, a, b string) {
		h := &cdf3.Header{Vars: []cdf3.Var{{Name: a}, {Name: b}}}
		i, err := findVar(h, name)
		require.Equal(t, name == a || name == b, err == nil)
		if err == nil {
			require.Equal(t, name, h.Vars[i].Name)
		}
		require.Equal(t, distance(a, b), distance(b, a))
	})
}

// FuzzSize: a number of bytes is at least 0, and prints as one that reads the same.
func FuzzSize(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"plain": "65536", "unit": "64K", "iec": "1GiB", "byte": "5b", "none": "", "unit-alone": "K", "negative": "-1", "sign": "+1",
		"largest": "9223372036854775807", "overflow": "8388608T", "twice": "1KK", "fraction": "1.5M"} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseSize(text)
		if err != nil {
			require.ErrorIs(t, err, errSize)
			return
		}
		require.GreaterOrEqual(t, n, int64(0))
		again, err := parseSize(blockName(n))
		require.NoError(t, err)
		require.Equal(t, n, again)
		require.NotEmpty(t, size(n))
		var to int64
		set := (&sizeFlag{n: &to, min: archive.MinBlock, max: archive.MaxBlock}).Set(text)
		require.Equal(t, n >= archive.MinBlock && n <= archive.MaxBlock, set == nil)
	})
}

// FuzzFilterSpecs: what -F takes is chains that coders can be made of, for names
// of which each comes once.
func FuzzFilterSpecs(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string][2]string{
		"two": {"air,2|32015,19", "u&v,307,9"}, "all": {"*,1,6", "air,none"}, "twice": {"a,1,6", "a,1,6"}, "contradiction": {"a,none", "a&b,3"},
		"unknown": {"a,99999", "b,3"}, "parameter": {"a,1,99", "b,3"}, "escapes": {`a\,b,3`, `c\&d,3`}, "empty": {"", ","},
	} {
		s.Add(name, text[0], text[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var specs filterSpecs
		if specs.parse([]string{a, b}) != nil {
			return
		}
		require.Len(t, specs.vars, 2)
		seen := map[string]bool{}
		for _, v := range specs.vars {
			require.NotEmpty(t, v.Vars)
			for _, name := range v.Vars {
				require.False(t, seen[name], "%q", name)
				seen[name] = true
			}
			require.NoError(t, checkChain(v.Chain))
		}
	})
}

// FuzzBenchChain: a chain to measure is a preset or one that a coder can be made of.
func FuzzBenchChain(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"preset": "default", "none": "none", "names": "shuffle+zstd:19", "numbers": "2|32015,19", "unknown": "shuffle+x",
		"no-level": "zstd:", "negative": "zstd:-5", "overflow": "deflate:99999999999", "empty-word": "zstd++"} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := &bencher{}
		if v.parse([]string{text}, []string{"none"}) == nil {
			require.Len(t, v.blocks, 1)
		}
		v = &bencher{}
		if v.parse(nil, []string{text}) != nil {
			return
		}
		for _, c := range v.chains {
			require.NoError(t, checkChain(c.chain))
		}
	})
}

// FuzzDumpFlags: what dump takes as digits and lengths lies in their ranges.
func FuzzDumpFlags(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"float": "9", "both": "9,17", "none": "", "comma": ",", "three": "1,2,3", "zero": "0", "many": "21", "language": "fortran", "length": "80"} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := &cdl.Options{}
		if (&digitsFlag{v: o}).Set(text) == nil {
			require.True(t, o.FloatDigits >= 1 && o.FloatDigits <= 20 && o.DoubleDigits >= 0 && o.DoubleDigits <= 20, "%+v", o)
		}
		on := false
		require.Equal(t, (&indexFlag{v: o, on: &on}).Set(text) == nil, on)
		n := 0
		if (&lineFlag{&n}).Set(text) == nil {
			require.GreaterOrEqual(t, n, 10)
		}
	})
}

// FuzzNames: names of any bytes become names of files below a folder, text for a
// terminal, and of a URL nothing secret.
func FuzzNames(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"plain": "tas", "path": "../a/b", "device": "nul", "hidden": ".x", "escape": "\x1b[2J", "not-utf8": "\xff", "separators": "a\u2028b",
		"long": strings.Repeat("ä", 200), "url": "https://me:secret@example.org/a/x.nc.cdfz?key=secret", "url-root": "http://example.org", "url-dots": "http://example.org/..%2f..", "stdin": "-"} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := fileName(text)
		require.True(t, file != "" && file != "." && file != ".." && len(file) <= 255 && !strings.ContainsAny(file, "/\\\x00"), "%q", file)
		require.True(t, utf8.ValidString(printable(text)))
		require.Equal(t, printable(text), printable(printable(text)))
		p, err := parsePicked(strings.ReplaceAll(quoted(text), "[", `\[`))
		if err == nil && !strings.Contains(text, "[") {
			require.Equal(t, text, p.name)
		}
		if u, ok := asURL(text); ok {
			shown := showName(text)
			require.NotContains(t, shown, "?")
			if u.User != nil && u.User.String() != "" {
				require.NotContains(t, shown, u.User.String()+"@")
			}
			require.NotContains(t, localName(text), "/")
		}
	})
}

// FuzzUnpack: attributes of any type and length are refused or can be unpacked by.
func FuzzUnpack(f *testing.F) {
	s := seeds.Of(f)
	one := double(1)
	s.Add("scale", uint8(cdf3.Short), "scale_factor", uint8(cdf3.Double), one, []byte{0, 1, 0, 2}, false)
	s.Add("two-scales", uint8(cdf3.Short), "scale_factor", uint8(cdf3.Double), append(one, one...), []byte{0, 1, 0, 2}, false)
	s.Add("fill", uint8(cdf3.UInt64), "_FillValue", uint8(cdf3.UInt64), one, one, true)
	s.Add("missing", uint8(cdf3.Float), "missing_value", uint8(cdf3.Byte), []byte{1, 2, 3}, one, false)
	s.Add("unsigned", uint8(cdf3.Byte), "_Unsigned", uint8(cdf3.Char), []byte("true"), one, false)
	f.Fuzz(func(t *testing.T, kind uint8, name string, attrKind uint8, attrBytes, values []byte, unsigned bool) {
		typ, attrType := cdf3.Type(kind), cdf3.Type(attrKind)
		if !typ.Valid() || !attrType.Valid() {
			return
		}
		attrBytes = attrBytes[:int64(len(attrBytes))/attrType.Size()*attrType.Size()]
		values = values[:int64(len(values))/typ.Size()*typ.Size()]
		v := &cdf3.Var{Name: "v", Type: typ, Attrs: []cdf3.Attr{attr(name, attrType, attrBytes...)}}
		if unsigned {
			v.Attrs = append(v.Attrs, attr("_Unsigned", cdf3.Char, []byte("true")...))
		}
		u, err := newUnpacker(v)
		if err != nil || u == nil {
			return
		}
		out := make([]byte, int64(len(values))/typ.Size()*8)
		u.unpack(out, values)
		if name == "_FillValue" && attrType == typ && len(attrBytes) > 0 {
			filled := make([]byte, 8)
			u.unpack(filled, attrBytes[:typ.Size()])
			require.True(t, math.IsNaN(number(filled, cdf3.Double)))
		}
	})
}
