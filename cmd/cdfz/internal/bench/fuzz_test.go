package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/chains"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

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
			require.NoError(t, chains.Check(c.chain))
		}
	})
}
