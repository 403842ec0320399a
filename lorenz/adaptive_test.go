package lorenz

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
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
		require.Less(t, sizes[Default], 330, "type %d", ty)
		if ty == Char {
			continue
		}
		e, err := NewEncoder(Params{Type: ty, Dims: dims}, Max)
		require.NoError(t, err)
		e.choices.matches = matchLimits{}
		enc, err := e.Encode(nil, raw)
		require.NoError(t, err)
		require.Less(t, len(enc), 220, "type %d", ty)
		require.EqualValues(t, modeAdaptive, enc[0], "type %d", ty)
		for i := range enc {
			d, err := NewDecoder(Params{Type: ty, Dims: dims})
			require.NoError(t, err)
			require.ErrorIs(t, d.Decode(make([]byte, len(raw)), enc[:i]), ErrCorrupt)
		}
	}
}

// TestSample checks that the parts of a sample share no memory after a sample of a block that is
// mostly masked.
func TestSample(t *testing.T) {
	const n = 1 << 16
	sparse, dense := make([]uint32, n), make([]uint32, n)
	for i := range n {
		sparse[i] = uint32(i%1024) / 1023 // one element in 1024 is unmasked
		dense[i] = uint32(i % 3)
	}
	var s shape
	s.n = n
	var buf []part
	for _, b := range []struct {
		u     []uint32
		size  int
		parts int
	}{{dense, 4 * partLen, 4}, {sparse, partLen, 1}, {dense, 4 * partLen, 4}} {
		masks.Build(&s.mask, b.u, []uint32{0})
		got := s.sample(buf, b.size, 1)
		buf = got.parts
		require.Len(t, got.parts, b.parts)
		for _, p := range got.parts {
			require.Equal(t, s.part(nil, p.lo, p.hi), p)
		}
	}
}
