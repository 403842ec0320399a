package layout

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFar checks which numbers recur only in longer blocks.
func TestFar(t *testing.T) {
	numbers := func(list ...uint32) (b []byte) {
		for _, v := range list {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return b
	}
	for _, c := range []struct {
		raw         []byte
		size        int64
		short, long int64
		far         int64
	}{
		{numbers(1, 2, 1, 2), 4, 8, 16, 8},
		{numbers(1, 1, 2, 2), 4, 8, 16, 0},             // in the same short block
		{numbers(1, 2, 1, 1), 4, 8, 16, 4},             // the last one, too
		{numbers(1, 2, 1, 2), 4, 8, 8, 0},              // no longer block
		{numbers(0, 0, 0, 0), 4, 8, 16, 0},             // zeros
		{numbers(1, 2, 3, 4, 1, 2), 8, 8, 24, 8},       // doubles
		{numbers(1, 2, 3, 4, 1, 2), 2, 8, 24, 8},       // shorter elements in words
		{numbers(1, 2, 3, 4, 1, 2), 4, 8, 16, 0},       // in another long block
		{append(numbers(7, 8, 7), 1, 2), 4, 8, 100, 4}, // a rest that is no number
	} {
		require.Equal(t, c.far, far(c.raw, c.size, c.short, c.long), c)
	}
}
