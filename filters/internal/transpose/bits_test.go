package transpose

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestBitShuffle compares it with its definition.
func TestBitShuffle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 2, 3, 4, 8, 12} {
		for n := 0; n <= 400; n += 8 {
			src := make([]byte, n*size)
			for i := range src {
				src[i] = byte(r.Uint32())
			}
			want := make([]byte, len(src))
			for i := range n {
				for k := range 8 * size {
					bit := src[i*size+k/8] >> (k % 8) & 1
					want[k*n/8+i/8] |= bit << (i % 8)
				}
			}
			got, tmp, back := make([]byte, len(src)), make([]byte, len(src)), make([]byte, len(src))
			BitShuffle(got, src, tmp, size)
			if !bytes.Equal(got, want) {
				t.Fatalf("size %d, %d elements: %x, found %x", size, n, want, got)
			}
			BitUnshuffle(back, got, tmp, size)
			if !bytes.Equal(back, src) {
				t.Fatalf("size %d, %d elements: not undone", size, n)
			}
		}
	}
}

func BenchmarkBits(b *testing.B) {
	const n = 256 << 10
	src, dst, tmp := make([]byte, n), make([]byte, n), make([]byte, n)
	for _, size := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprint("shuffle", size), func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				BitShuffle(dst, src, tmp, size)
			}
		})
		b.Run(fmt.Sprint("unshuffle", size), func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				BitUnshuffle(dst, src, tmp, size)
			}
		})
	}
}
