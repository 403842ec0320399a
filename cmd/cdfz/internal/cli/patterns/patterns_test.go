package patterns

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudge has patterns with what they match. A name that ends in a slash is a folder.
func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		pattern   string
		match     []string
		different []string
	}{
		{"a.nc", []string{"a.nc", "x/a.nc", "x/y/a.nc", "a.nc/"}, []string{"ba.nc", "a.nc/b", "a.ncx"}},
		{"/a.nc", []string{"a.nc"}, []string{"x/a.nc"}},
		{"a/", []string{"a/", "x/a/"}, []string{"a", "x/a"}},
		{"/a/", []string{"a/"}, []string{"a", "x/a/"}},
		{"a/b", []string{"a/b", "x/a/b"}, []string{"ca/b", "a/x/b", "a/b/c"}},
		{"/a/b", []string{"a/b"}, []string{"x/a/b"}},
		{"*.nc", []string{"a.nc", "x/a.nc", ".nc"}, []string{"a.ncx", "a.nc/b"}},
		{"a*b", []string{"ab", "axb", "x/axb"}, []string{"a/b", "x/a/b"}},
		{"a**b", []string{"ab", "axb", "a/b", "a/x/b", "x/axb", "x/a/b"}, []string{"ca/b"}},
		{"a/**", []string{"a/b", "a/b/c", "x/a/b"}, []string{"a", "a/", "b/c"}},
		{"a/***", []string{"a/", "a/b", "a/b/c", "x/a/"}, []string{"a"}},
		{"**/b", []string{"b", "a/b", "a/c/b"}, []string{"ab", "a/cb"}},
		{"**b", []string{"b", "ab", "a/cb"}, []string{"bc"}},
		{"/**/b", []string{"a/b", "a/c/b"}, []string{"b"}},
		{"a/*/c", []string{"a/b/c", "x/a/b/c"}, []string{"a/c", "a/b/d/c"}},
		{"a?c", []string{"abc", "aäc", "x/abc"}, []string{"ac", "a/c"}},
		{"[a-c]x", []string{"ax", "bx", "cx"}, []string{"dx", "x", "-x"}},
		{"[!a-c]x", []string{"dx", "-x"}, []string{"ax", "x"}},
		{"[^a]x", []string{"bx"}, []string{"ax"}},
		{"[]a]x", []string{"]x", "ax"}, []string{"[x"}},
		{"[a-]x", []string{"-x", "ax"}, []string{"bx"}},
		{"[c-a]x", nil, []string{"ax", "bx", "cx"}},
		{"a[+-9]b", []string{"a+b", "a0b", "a.b"}, []string{"a/b"}},
		{"a[!x]b", []string{"ayb"}, []string{"a/b"}},
		{"[[:digit:]]*", []string{"1", "1a"}, []string{"a1"}},
		{"[[:upper:]_]x", []string{"Ax", "_x"}, []string{"ax"}},
		{"[ä-ö]x", []string{"äx", "öx"}, []string{"ax", "üx"}},
		{`\*`, []string{"*"}, []string{"a", `\*`}},
		{`a\b`, []string{`a\b`}, []string{"ab"}}, // without a wildcard, a backslash is one
		{`a\b*`, []string{"abc"}, []string{`a\bc`}},
		{`[\]]x`, []string{"]x"}, []string{`\x`}},
		{".", []string{"."}, []string{"a"}},
		{"a+(b)$", []string{"a+(b)$"}, []string{"aab"}},
		{"*\n", []string{"a\n"}, []string{"a"}},
		{"*", []string{"a", "a/b", "a\nb", "\xff"}, nil},
	} {
		r, err := Parse(tc.pattern, false)
		require.NoError(t, err, tc.pattern)
		judge := func(name string) *Rule {
			folder := len(name) > 1 && name[len(name)-1] == '/'
			if folder {
				name = name[:len(name)-1]
			}
			return Rules{r}.Judge(name, folder)
		}
		for _, name := range tc.match {
			require.NotNil(t, judge(name), "%q must match %q", tc.pattern, name)
		}
		for _, name := range tc.different {
			require.Nil(t, judge(name), "%q must not match %q", tc.pattern, name)
		}
	}
}

// TestOrder checks that the first match decides, and that folders are judged before what is in them.
func TestOrder(t *testing.T) {
	rules := func(text ...string) (r Rules) {
		for _, s := range text {
			rule, err := Parse(s[1:], s[0] == '+')
			require.NoError(t, err)
			r = append(r, rule)
		}
		return r
	}
	r := rules("+tas*.nc", "-*.nc")
	require.Nil(t, r.Judge("a/tas1.nc", false))
	require.Equal(t, "*.nc", r.Judge("a/pr1.nc", false).Text)
	require.Nil(t, r.Judge("a/readme", false))
	r = rules("-*.nc", "+tas*.nc")
	require.NotNil(t, r.Judge("tas1.nc", false))
	r = rules("+*/", "+*.nc", "-*")
	require.Nil(t, r.JudgeFile("a/b/c.nc"))
	require.NotNil(t, r.JudgeFile("a/b/c.txt"))
	r = rules("+*.nc", "-*") // excludes the folders
	require.Nil(t, r.JudgeFile("c.nc"))
	require.NotNil(t, r.JudgeFile("a/c.nc"))
	require.NotNil(t, rules("-/tmp/").JudgeFile("tmp/a/c.nc"))
	require.Nil(t, Rules(nil).JudgeFile("a/c.nc"))
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":              "expected a pattern, found an empty one",
		"/":             "expected a pattern, found an empty one",
		"//":            "expected a pattern, found an empty one",
		"[a":            "expected ] after [",
		"[!":            "expected ] after [",
		"[]":            "expected ] after [",
		`[a\`:           "expected ] after [",
		"[a-":           "expected ] after [",
		"[[:nothing:]]": "expected [[: to begin a class such as [:digit:]",
		"[[:alpha":      "expected [[: to begin a class such as [:digit:]",
		`*\`:            `expected a character after the last \`,
		"a\xff":         "expected a pattern in UTF-8",
	} {
		_, err := Parse(text, true)
		require.EqualError(t, err, want, text)
	}
}
