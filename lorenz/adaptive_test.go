package lorenz

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAdaptive checks which blocks take modeAdaptive, and how short they get.
func TestAdaptive(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	for _, ty := range someTypes() {
		// Nearly constant: one change in 500.
		dims := []int{20, 40, 50}
		var raw []byte
		x := 3.0
		for i := range 40000 {
			if i%500 == 499 {
				x += float64(rng.IntN(5))
			}
			raw = appendValue(raw, ty, x)
		}
		sizes := roundTrip(t, Params{Type: ty, Dims: dims}, raw)
		require.Less(t, sizes[Default], 220, "type %d", ty)
		if ty == Char {
			continue
		}
		e, err := NewEncoder(Params{Type: ty, Dims: dims}, Default)
		require.NoError(t, err)
		enc, err := e.Encode(nil, raw)
		require.NoError(t, err)
		require.EqualValues(t, modeAdaptive, enc[0], "type %d", ty)
		for i := range enc {
			d, err := NewDecoder(Params{Type: ty, Dims: dims})
			require.NoError(t, err)
			require.ErrorIs(t, d.Decode(make([]byte, len(raw)), enc[:i]), ErrCorrupt)
		}
	}
}
