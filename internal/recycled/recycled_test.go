package recycled

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClasses checks that memory of each class has the length of the class, and that the classes are in order.
func TestClasses(t *testing.T) {
	for c := least; c <= most; c++ {
		require.Equal(t, c, classOf(lenOf(c)))
		if c > least {
			require.Greater(t, lenOf(c), lenOf(c-1))
			require.LessOrEqual(t, lenOf(c), lenOf(c-1)+lenOf(c-1)/4)
			require.Equal(t, c-1, classOf(lenOf(c)-1))
		}
	}
	require.Equal(t, 512, lenOf(least))
	require.Equal(t, 64<<20, lenOf(most))
}

// TestGet checks the lengths of new memory and of memory that was used before, and that nobody gets memory
// shorter than it needs.
func TestGet(t *testing.T) {
	for _, n := range []int64{0, 1, 511, 512, 513, 1023, 1024, 1025, 1279, 1280, 1281, 300_000, 1 << 20, 64 << 20, 64<<20 + 1} {
		for range 2 {
			b := Get(n)
			require.Len(t, b, int(n))
			clear(b[:cap(b)])
			if n >= 512 && n <= 64<<20 {
				require.LessOrEqual(t, cap(b), int(n+n/4+1))
			}
			Put(b)
		}
	}
	for _, n := range []int{0, 3, 600, 1300} { // from elsewhere
		Put(make([]byte, 0, n))
		b := Get(int64(n))
		clear(b[:cap(b)])
	}
}

func BenchmarkGet(b *testing.B) {
	for b.Loop() {
		Put(Get(256 << 10))
	}
}
