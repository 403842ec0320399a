package lorenz

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFast: the level Fast takes references for doubles that recur, a dictionary for few values, and contexts for a
// noisy field, and none of them where little is left to save.
func TestFast(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n = 128
	encode := func(value func(i, j int) float64) (*Encoder, []byte) {
		p := Params{Type: Float64, Dims: []int{n, n}}
		var raw []byte
		for i := range n * n {
			raw = binary.BigEndian.AppendUint64(raw, math.Float64bits(value(i/n, i%n)))
		}
		e, err := NewEncoder(p, Fast)
		require.NoError(t, err)
		b, err := e.Encode(nil, raw)
		require.NoError(t, err)
		d, err := NewDecoder(p)
		require.NoError(t, err)
		got := make([]byte, len(raw))
		require.NoError(t, d.Decode(got, b))
		require.Equal(t, raw, got)
		return e, b
	}
	nodes := make([]float64, n*n/3)
	for i := range nodes {
		nodes[i] = rng.Float64()
	}
	_, b := encode(func(i, j int) float64 { return nodes[max(0, i*n/3+j/3-rng.IntN(8))] })
	require.EqualValues(t, modeReferences, b[0])
	e, b := encode(func(i, j int) float64 {
		size := math.Exp(3 * math.Sin(float64(i)/20) * math.Cos(float64(j)/15))
		return 1e3 + math.Round(1e6*size*rng.NormFloat64())/1e6
	})
	require.EqualValues(t, modeContexts, b[0])
	require.True(t, e.shape.price.pays(formContexts, n*n, made{len: n * n}))
	require.False(t, e.shape.price.pays(formContexts, n*n, made{len: n * n / 2}))
	require.True(t, e.shape.price.pays(formReferences, n*n, made{len: n * n / 2}))
	_, b = encode(func(i, j int) float64 { return nodes[rng.IntN(20)] })
	require.EqualValues(t, modeGroups, b[0])
	require.EqualValues(t, mapDict, b[2])
}
