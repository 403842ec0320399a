package text

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func roundTrip(t *testing.T, src []byte, row int, quick bool) int {
	var e Encoder
	var d Decoder
	enc := e.Encode(nil, src, row, quick)
	dst := make([]byte, len(src))
	require.True(t, d.Decode(dst, enc, nil))
	require.Equal(t, string(src), string(dst))
	return len(enc)
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 3, 100, 5000, 70000} {
		noise := make([]byte, n)
		words := make([]byte, 0, n)
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		for len(words) < n {
			words = fmt.Appendf(words, "station %04d  ", rng.IntN(50))
		}
		for _, row := range []int{1, 14, n} {
			for _, quick := range []bool{false, true} {
				roundTrip(t, noise, min(row, n), quick)
				roundTrip(t, make([]byte, n), min(row, n), quick)
				size := roundTrip(t, words[:n], min(row, n), quick)
				if n >= 5000 {
					require.Less(t, size, n/6)
				}
			}
		}
	}
}
