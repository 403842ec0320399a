package kernels

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPutQuotients compares quotients with those of a division of doubles. Many
// integers are near the middle of two floats times the divisor.
func TestPutQuotients(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 61))
	divisors := []float64{1, 2, 3, 7, 10, 100, 1000, 12345, 1<<23 + 1, 1 << 24, 1e9 + 7, 1 << 53}
	for range 40 {
		divisors = append(divisors, float64(1+rng.Uint32()>>(8+rng.UintN(24))))
	}
	for _, d := range divisors {
		y := []uint32{0, 1, 1<<24 - 1, 1 << 24, 1<<24 + 1, math.MaxInt32, 1 << 31}
		for range 2000 {
			v := rng.Uint32() >> rng.UintN(32)
			if rng.IntN(2) == 0 { // about the middle of two floats, times d
				middle := math.Float64frombits(math.Float64bits(float64(v)/d)&^(1<<28-1) | 1<<28)
				v = uint32(int64(math.Round(middle * d)))
			}
			y = append(y, v, -v, rng.Uint32())
		}
		got := make([]byte, 4*len(y))
		PutQuotients(got, y, d)
		for i, v := range y {
			want := math.Float32bits(float32(float64(int32(v)) / d))
			require.Equal(t, want, binary.BigEndian.Uint32(got[4*i:]), "%d / %v", int32(v), d)
		}
	}
}
