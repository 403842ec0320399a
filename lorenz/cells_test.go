package lorenz

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// A chain may have strides between the rows of a cell and its planes.
func TestCellsOfChains(t *testing.T) {
	dims := []int{13, 10, 22, 18}
	s := &shape{dims: dims, n: 13 * 10 * 22 * 18}
	for _, chain := range [][]int{{1}, {18}, {396}, {3960}, {1, 18, 396}, {1, 18, 3960}, {1, 396, 3960}, {1, 18, 396, 3960}} {
		for parts := 32; parts >= 4; parts /= 2 {
			l := cellsFor(s, &candidate[uint32]{pred: predict.Predictor{Chain: chain}}, parts, 1)
			require.True(t, l.Valid())
			for _, d := range chain {
				require.True(t, l.Allows(d), "%v: stride %d of %v", l, d, chain)
			}
		}
	}
}

// One decoder reads blocks with more masks than it keeps, again and again, and damaged ones in between.
func TestRecentMasks(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 16))
	dims := []int{6, 20, 40}
	p := Params{Type: Float32, Dims: dims}
	plane := dims[1] * dims[2]
	e, err := NewEncoder(p, Default)
	require.NoError(t, err)
	e.choices.contexts.tried = false
	var raws, encs [][]byte
	for k := range 12 {
		raw := field(Float32, dims, 0.3, rng)
		for i := range plane {
			if i%40 > 3*k && i%40 < 3*k+9 || k > 6 && i/40 == k { // some blocks share one mask, some have two values
				for at := i; at < len(raw)/4; at += plane {
					copy(raw[4*at:], appendValue(nil, Float32, []float64{1e35, -999}[k&i/500&1]))
				}
			}
		}
		enc, err := e.Encode(nil, raw)
		require.NoError(t, err)
		require.Equal(t, byte(modeGroups), enc[0])
		raws, encs = append(raws, raw), append(encs, enc)
	}
	used, err := NewDecoder(p)
	require.NoError(t, err)
	dst := make([]byte, len(raws[0]))
	for range 400 {
		k := rng.IntN(len(encs))
		if rng.IntN(4) == 0 {
			enc := bytes.Clone(encs[k])
			enc[rng.IntN(min(len(enc), 200))] ^= 1 << rng.IntN(8)
			fresh, err := NewDecoder(p)
			require.NoError(t, err)
			again := make([]byte, len(dst))
			want, got := fresh.Decode(again, enc), used.Decode(dst, enc)
			require.Equal(t, want, got)
			if want == nil {
				require.Equal(t, again, dst)
			}
			continue
		}
		n := len(dst) / 4
		i := rng.IntN(n)
		j := i + 1 + rng.IntN(n-i)
		require.NoError(t, used.DecodeRange(dst[:4*(j-i)], encs[k], i, j))
		require.Equal(t, raws[k][4*i:4*j], dst[:4*(j-i)])
	}
}
