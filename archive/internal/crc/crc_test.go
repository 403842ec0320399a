package crc

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSum compares with hash/crc32, at all lengths near the limits and at odd addresses.
func TestSum(t *testing.T) {
	b := make([]byte, 1<<17+200)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(b)
	var lengths []int
	for n := range 600 {
		lengths = append(lengths, n)
	}
	for _, n := range []int{1 << 12, 1 << 16, 1 << 17} {
		for d := -130; d <= 130; d++ {
			lengths = append(lengths, n+d)
		}
	}
	for _, n := range lengths {
		for _, from := range []int{0, 1, 31} {
			require.Equal(t, crc32.ChecksumIEEE(b[from:from+n]), Sum(b[from:from+n]), "%d bytes at %d", n, from)
		}
	}
}

// TestSumPatterns sums single bits, zeros and ones, since these reveal a wrong factor and a bit in a
// wrong place.
func TestSumPatterns(t *testing.T) {
	b := make([]byte, 5000)
	require.Equal(t, crc32.ChecksumIEEE(b), Sum(b))
	for i := range 8 * len(b) {
		b[i/8] = 1 << (i % 8)
		require.Equal(t, crc32.ChecksumIEEE(b), Sum(b), "bit %d", i)
		b[i/8] = 0
	}
	for i := range b {
		b[i] = 0xff
	}
	require.Equal(t, crc32.ChecksumIEEE(b), Sum(b))
}

// TestSumWithout tests what processors without the instruction do.
func TestSumWithout(t *testing.T) {
	defer func(old bool) { useFold = old }(useFold)
	useFold = false
	require.Equal(t, uint32(0xcbf43926), Sum([]byte("123456789")))
	b := make([]byte, 5000)
	require.Equal(t, crc32.ChecksumIEEE(b), Sum(b))
}

func BenchmarkSum(b *testing.B) {
	for _, n := range []int{512, 1 << 10, 4 << 10, 140_000} {
		p := make([]byte, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				Sum(p)
			}
		})
		b.Run(fmt.Sprint(n, "-hash"), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				crc32.ChecksumIEEE(p)
			}
		})
	}
}
