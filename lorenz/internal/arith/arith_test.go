package arith

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSquash checks the ends of the table and that stretch is its inverse.
func TestSquash(t *testing.T) {
	for x, want := range map[int64]uint32{-1 << 40: 1, -2048: 1, -2047: 1, 0: 2047, 2047: 4094, 2048: 4095, 1 << 40: 4095} {
		require.Equal(t, want, Squash(x), "%d", x)
	}
	for x := int64(-2047); x < 2048; x++ {
		require.LessOrEqual(t, Squash(x), Squash(x+1))
		require.LessOrEqual(t, int64(stretchTable[Squash(x)]), x)
	}
}
