//go:build judge

package treesum

import (
	"bytes"
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestXXHSum compares the sum with the reference implementation, the program xxhsum.
func TestXXHSum(t *testing.T) {
	xxhsum := func(b []byte) []byte {
		cmd := exec.CommandContext(t.Context(), "xxhsum", "-H2", "-")
		cmd.Stdin = bytes.NewReader(b)
		out, err := cmd.Output()
		require.NoError(t, err)
		digits, _, _ := strings.Cut(string(out), " ")
		sum, err := hex.DecodeString(digits)
		require.NoError(t, err)
		return sum
	}
	for _, n := range []int{1, 200, Piece, 3*Piece + 1} {
		b := image(n)
		var tree Tree
		tree.Add(0, b)
		var sums []byte
		for at := 0; at < n; at += Piece {
			sums = append(sums, xxhsum(b[at:min(at+Piece, n)])...)
		}
		require.Equal(t, hex.EncodeToString(xxhsum(sums)), tree.Sum(), "%d bytes", n)
	}
}
