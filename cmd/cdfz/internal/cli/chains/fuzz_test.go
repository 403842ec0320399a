package chains

import (
	"testing"

	"github.com/stretchr/testify/require"

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
		specs := Specs{specs: []string{a, b}, deflate: -1}
		if specs.Parse() != nil {
			return
		}
		seen := map[string]bool{}
		for _, v := range specs.vars {
			require.NotEmpty(t, v.Vars)
			for _, name := range v.Vars {
				require.False(t, seen[name], "%q", name)
				seen[name] = true
			}
			require.NoError(t, Check(v.Chain))
		}
	})
}
