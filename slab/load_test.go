package slab

import (
	"fmt"
	"testing"

	"github.com/cdfz-format/cdfz/cdf3"
)

// BenchmarkLoadRow copies one time step of a 1-degree field as short, float and double,
// in every way that this processor has.
func BenchmarkLoadRow(b *testing.B) {
	const n = 64800
	src := make([]byte, n)
	defer func(was bool) { useAVX2 = was }(useAVX2)
	was := useAVX2
	for _, useAVX2 = range []bool{false, was} {
		b.Run(fmt.Sprintf("16/avx2=%v", useAVX2), func(b *testing.B) { loadRow(b, make([]int16, n/2), src) })
		b.Run(fmt.Sprintf("32/avx2=%v", useAVX2), func(b *testing.B) { loadRow(b, make([]float32, n/4), src) })
		b.Run(fmt.Sprintf("64/avx2=%v", useAVX2), func(b *testing.B) { loadRow(b, make([]float64, n/8), src) })
	}
}

func loadRow[T cdf3.Number](b *testing.B, dst []T, src []byte) {
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		load(dst, src)
	}
}
