package lorenz

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchBlocks runs f on blocks of 256 KiB of different kinds.
func benchBlocks(b *testing.B, f func(b *testing.B, p Params, raw []byte)) {
	rng := rand.New(rand.NewPCG(15, 15))
	for _, ty := range []Type{Int16, Float32, Float64} {
		for _, noise := range []float64{0, 0.01, 1} {
			dims := []int{1 << 18 / 512 / ty.Size(), 512}
			raw := field(ty, dims, noise, rng)
			b.Run(fmt.Sprintf("type=%d/noise=%g", ty, noise), func(b *testing.B) {
				f(b, Params{Type: ty, Dims: dims}, raw)
			})
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	benchBlocks(b, func(b *testing.B, p Params, raw []byte) {
		e, err := NewEncoder(p, Default)
		require.NoError(b, err)
		var enc []byte
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			enc, _ = e.Encode(enc[:0], raw)
		}
		b.ReportMetric(float64(len(raw))/float64(len(enc)), "ratio")
	})
}

func BenchmarkDecode(b *testing.B) {
	benchBlocks(b, func(b *testing.B, p Params, raw []byte) {
		e, err := NewEncoder(p, Default)
		require.NoError(b, err)
		enc, err := e.Encode(nil, raw)
		require.NoError(b, err)
		d, err := NewDecoder(p)
		require.NoError(b, err)
		dst := make([]byte, len(raw))
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			require.NoError(b, d.Decode(dst, enc))
		}
	})
}

// BenchmarkPoint decodes single elements all over a block.
func BenchmarkPoint(b *testing.B) {
	benchBlocks(b, func(b *testing.B, p Params, raw []byte) {
		e, err := NewEncoder(p, Default)
		require.NoError(b, err)
		enc, err := e.Encode(nil, raw)
		require.NoError(b, err)
		d, err := NewDecoder(p)
		require.NoError(b, err)
		dst := make([]byte, p.Type.Size())
		n := len(raw) / len(dst)
		i := 0
		for b.Loop() {
			i = (i + 7919) % n
			require.NoError(b, d.DecodeRange(dst, enc, i, i+1))
		}
	})
}
