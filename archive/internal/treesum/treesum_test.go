package treesum

import (
	"encoding/hex"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

// expected is the sum by its definition.
func expected(image []byte) string {
	var sums []byte
	for len(image) > 0 {
		n := min(Piece, len(image))
		s := xxh3.Hash128(image[:n]).Bytes()
		sums, image = append(sums, s[:]...), image[n:]
	}
	s := xxh3.Hash128(sums).Bytes()
	return hex.EncodeToString(s[:])
}

func image(n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// addParts adds bytes of the image from off on in parts of many lengths.
func addParts(x *Tree, b []byte, off int64) {
	run := x.Run(off)
	rng := rand.New(rand.NewPCG(2, uint64(off)))
	for len(b) > 0 {
		n := min(rng.IntN(1<<rng.IntN(22)), len(b))
		run.Add(b[:n])
		b = b[n:]
	}
	run.Close()
}

func TestTree(t *testing.T) {
	for _, n := range []int{0, 1, Piece - 1, Piece, Piece + 1, 4*Piece - 1, 4 * Piece, 9*Piece + 5} {
		b := image(n)
		for _, step := range []int{Piece, 2 * Piece, 4 * Piece} {
			var forwards, backwards, together, parts Tree
			var wg sync.WaitGroup
			last := (n - 1) / step * step
			for at := 0; at < n; at += step {
				forwards.Add(int64(at), b[at:min(at+step, n)])
				back := last - at
				backwards.Add(int64(back), b[back:min(back+step, n)])
				wg.Go(func() { together.Add(int64(at), b[at:min(at+step, n)]) })
				wg.Go(func() { addParts(&parts, b[at:min(at+step, n)], int64(at)) })
			}
			wg.Wait()
			want := expected(b)
			require.Equal(t, want, forwards.Sum(), "%d bytes in steps of %d", n, step)
			require.Equal(t, want, backwards.Sum(), "%d bytes in steps of %d, backwards", n, step)
			require.Equal(t, want, together.Sum(), "%d bytes in steps of %d, together", n, step)
			require.Equal(t, want, parts.Sum(), "%d bytes in steps of %d, in parts", n, step)
			require.Empty(t, backwards.early)
		}
	}
}

// TestDiffers changes, swaps and drops parts of an image.
func TestDiffers(t *testing.T) {
	sum := func(b []byte) string {
		var x Tree
		x.Add(0, b)
		return x.Sum()
	}
	b := image(3*Piece + 7)
	seen := map[string]bool{sum(b): true}
	add := func(b []byte) {
		s := sum(b)
		require.False(t, seen[s])
		seen[s] = true
	}
	add(b[:len(b)-1])
	add(b[:3*Piece])
	add(append(append([]byte(nil), b[Piece:2*Piece]...), b[:Piece]...))
	for _, at := range []int{0, Piece - 1, Piece, len(b) - 1} {
		b[at] ^= 1
		add(b)
		b[at] ^= 1
	}
}

// TestVectors computes the sums that docs/FORMAT.md has in section 5.5.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../../docs/FORMAT.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| (\\d+) \\| (\\d+) \\| `(.{32})` \\|$").FindAllSubmatch(text, -1)
	require.Len(t, rows, 5)
	for _, row := range rows {
		n, err := strconv.Atoi(string(row[1]))
		require.NoError(t, err)
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i % 251)
		}
		var tree Tree
		tree.Add(0, b)
		require.Equal(t, string(row[3]), tree.Sum(), "%d bytes", n)
		require.Equal(t, string(row[3]), expected(b), "%d bytes", n)
		require.Equal(t, string(row[2]), strconv.Itoa((n+Piece-1)/Piece), "%d bytes", n)
	}
}
