package patterns

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzPatterns checks that no pattern panics, and that a file is taken exactly if it and its folders are.
func FuzzPatterns(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string][2]string{
		"ending": {"*.nc", "a/b.nc"}, "below": {"a/***", "a/b/c"}, "brackets": {"/[!a-z]?/**", "0b/c"}, "escape": {`\[x*`, "[xy"},
		"class": {"[[:digit:]]*", "a/1"}, "unclosed": {"[[:digit", "1"}, "empty": {"", ""},
	} {
		s.Add(name, text[0], text[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		rule, err := Parse(pattern, false)
		if err != nil {
			return
		}
		rules := Rules{rule}
		taken := rules.Judge(name, false) == nil
		for i := 1; i < len(name); i++ {
			taken = taken && (name[i] != '/' || rules.Judge(name[:i], true) == nil)
		}
		require.Equal(t, taken, rules.JudgeFile(name) == nil)
	})
}
