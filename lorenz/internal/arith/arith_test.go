package arith

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSquash checks the ends of the table and that stretch is its inverse.
func TestSquash(t *testing.T) {
	for x, want := range map[int64]uint32{-1 << 40: 1, -2048: 1, -2047: 1, 0: 2047, 2047: 4094, 2048: 4095, 1 << 40: 4095} {
		require.Equal(t, want, squash(x).P12(), "%d", x)
	}
	for x := int64(-2047); x < 2048; x++ {
		require.LessOrEqual(t, squash(x).P12(), squash(x+1).P12())
		require.LessOrEqual(t, int64(stretched[squash(x).P12()]), x)
	}
}

// TestWeights checks that weights may need more than 32 bits. Each 1 that is unlikely makes all of them less.
func TestWeights(t *testing.T) {
	const most = 1<<31 - 1
	w := [4]Weight{most, most, -most, -most}
	sure := probStart - probStart/8 // a 0 is more likely
	for range 3 {
		before := w
		p := [4]Prob{sure, sure, sure, sure}
		c := NewDecoder(make([]byte, 9)) // decodes as ones
		require.Equal(t, 1, c.Mix4(&w, &p[0], &p[1], &p[2], &p[3], 0, 14))
		require.Less(t, w[0], before[0])
		require.Less(t, w[3], before[3])
	}
	require.Less(t, w[3], Weight(-1<<31))
	w = [4]Weight{-most - 1<<20, most, 0, 0}
	require.Greater(t, Mix2(&w, sure, sure).P12(), uint32(4000)) // the sum is small, its parts are not
}
