package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdl"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/export"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzFilterSpecs checks that accepted options -F have valid chains and name each
// variable once.
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

// FuzzBenchChain checks that an accepted chain is a preset or valid for a coder.
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

// FuzzDumpFlags checks that accepted digits and lengths are in their ranges.
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

// FuzzNames checks that names of any bytes become names of files below a folder and
// text for a terminal, without the secrets of URLs.
func FuzzNames(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"plain": "tas", "path": "../a/b", "device": "nul", "hidden": ".x", "escape": "\x1b[2J", "not-utf8": "\xff", "separators": "a\u2028b",
		"long": strings.Repeat("ä", 200), "stdin": "-"} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := fileName(text)
		require.True(t, file != "" && file != "." && file != ".." && len(file) <= 255 && !strings.ContainsAny(file, "/\\\x00"), "%q", file)
		p, err := export.ParseSelection(strings.ReplaceAll(cli.Quoted(text), "[", `\[`))
		if err == nil && !strings.Contains(text, "[") {
			require.Equal(t, text, p.Var)
		}
	})
}
