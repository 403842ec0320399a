package bytecoder

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSparse encodes a block of one value with few others. Its literals have almost no
// entropy. The encoder once ignored all repeats here and compared the rest of the block
// at every position.
func TestSparse(t *testing.T) {
	src := make([]byte, 1<<20)
	for i := range 50 {
		src[i*20] = 1
	}
	var m Model
	enc, ok := m.Encode(nil, src, 1, len(src), 64, len(src), 8)
	require.True(t, ok)
	require.Less(t, len(enc), 64)
	dst := make([]byte, len(src))
	require.True(t, m.Decode(dst, enc, 1, len(src), nil))
	require.True(t, bytes.Equal(src, dst))
}
