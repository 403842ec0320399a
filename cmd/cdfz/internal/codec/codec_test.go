package codec

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/spec"
)

// TestCodecRows checks the rows L13, L17 and L20 of CONTRIBUTING.md that need no plugin.
func TestCodecRows(t *testing.T) {
	block := filters.Block{Len: 32000, Kind: filters.Int, Size: 4, Shape: []int{80, 100}}
	t.Run("L13", func(t *testing.T) {
		n := 0
		for _, id := range filters.Registered() {
			m, _ := filters.Lookup(id)
			if m.Codec == nil {
				continue
			}
			chain, err := filters.Chain{{ID: id, Params: m.Defaults}}.Complete(block)
			if err != nil { // of other types than this one
				continue
			}
			codecs, err := chain.Codecs(block)
			require.NoError(t, err, m.Name)
			f, err := filters.ToFilter(codecs[0])
			require.NoError(t, err, m.Name)
			again, err := filters.Chain{f}.Complete(block)
			require.NoError(t, err, m.Name)
			twice, err := again.Codecs(block)
			require.NoError(t, err, m.Name)
			require.JSONEq(t, string(codecs[0]), string(twice[0]))
			n++
		}
		require.Greater(t, n, 8)
	})
	t.Run("L17", func(t *testing.T) { // both forms side by side
		chain, err := spec.ParseChain("2,4|32015,3", nil)
		require.NoError(t, err)
		codecs, err := chain.Codecs(block)
		require.NoError(t, err)
		b, err := json.Marshal(reportChain(chain, codecs))
		require.NoError(t, err)
		require.JSONEq(t, `{"spec":"2,4|32015,3","filters":[{"id":2,"name":"shuffle","params":[4]},{"id":32015,"name":"zstd","params":[3]}],
			"codecs":[{"id":"shuffle","elementsize":4},{"id":"zstd","level":3}]}`, string(b))
	})
	t.Run("L20", func(t *testing.T) { // the same numbers on every machine
		chain, err := spec.ParseChain("40001,12345678.12345678d,-9223372036854775807L,-25S", nil)
		require.NoError(t, err)
		require.Equal(t, []uint32{3287505826, 1097305129, 1, 2147483648, 65511}, chain[0].Params)
		b, err := json.Marshal(reportChain(chain, nil))
		require.NoError(t, err)
		require.Contains(t, string(b), `"params":[3287505826,1097305129,1,2147483648,65511]`)
	})
}
