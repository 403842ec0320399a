package text

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDamaged changes, cuts and extends encoded blocks. The decoder must not panic, and a
// block that is longer or shorter is never valid.
func TestDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var src []byte
	for range 300 {
		src = append(src, "abc, abd; 012"[rng.IntN(8):]...)
	}
	var e Encoder
	var d Decoder
	enc := e.Encode(nil, src, 13, false)
	dst := make([]byte, len(src))
	require.True(t, d.Decode(dst, enc, nil))
	require.Equal(t, src, dst)
	require.False(t, d.Decode(dst, append(bytes.Clone(enc), 0), nil))
	require.False(t, d.Decode(dst[:len(dst)-1], enc, nil))
	for n := range enc {
		require.False(t, d.Decode(dst, enc[:n], nil), "cut to %d bytes", n)
		for range 4 {
			bad := bytes.Clone(enc)
			bad[n] ^= byte(1 + rng.IntN(255))
			d.Decode(dst, bad, nil)
		}
	}
}

// TestClaims checks numbers that are out of bounds.
func TestClaims(t *testing.T) {
	var d Decoder
	for name, b := range map[string][]byte{
		"row 0":                      {contextNone, 0},
		"row beyond the block":       {contextNone, 11},
		"streams without contexts":   {contextNone | 1<<2, 1},
		"too many streams":           {contextBefore | 16<<2, 1},
		"repeats beyond the block":   {contextNone, 1, 6},
		"literals beyond the block":  {contextNone, 1, 0, 11},
		"few literals":               {contextNone, 1, 0, 9, 0, 'a'},
		"repeat before the block":    {contextNone, 1, 1, 0, 0, 0, 8, 0, 0, 0},
		"large row and distance":     {contextNone, 10, 1, 0, 0, 0, 6, 0, 66, 2, 0, 'a'},
		"a repeat of too many bytes": {contextNone, 1, 1, 0, 1, 0, 8, 0, 0, 1, 0, 'a'},
	} {
		require.False(t, d.Decode(make([]byte, 10), b, nil), name)
	}
	require.True(t, d.Decode(make([]byte, 10), []byte{contextNone, 1, 1, 0, 1, 0, 7, 0, 0, 1, 0, 'a'}, nil))
}
