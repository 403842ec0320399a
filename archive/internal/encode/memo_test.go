package encode

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
)

// TestMemo checks that a memo returns what the coder does, keeps only lengths if it is full, and
// tells chains and lengths apart.
func TestMemo(t *testing.T) {
	coder := func(level uint32) *filters.Coder {
		c, err := filters.NewCoder(filters.Chain{{ID: filters.Deflate, Params: []uint32{level}}})
		require.NoError(t, err)
		return c
	}
	m := NewMemo(t.Context())
	var scratch []byte
	for _, c := range []*filters.Coder{coder(1), coder(9)} {
		for _, n := range []int{1, 2, 1000, 100_000} {
			raw := bytes.Repeat([]byte{1, 2, 3, byte(n)}, n)
			want, _, err := c.Encode(nil, raw)
			require.NoError(t, err)
			for range 2 {
				k, err := m.Len(c, &scratch, raw)
				require.NoError(t, err)
				require.Equal(t, len(want), k)
				got, _, err := m.Encode(c, []byte("x"), raw)
				require.NoError(t, err)
				require.Equal(t, append([]byte("x"), want...), got)
			}
			m.bytes = memoLimit // full: the next payloads are not kept
		}
		m.bytes = 0
	}
	require.Len(t, m.blocks, 8)
	var none *Memo
	k, err := none.Len(coder(1), &scratch, []byte("abc"))
	require.NoError(t, err)
	require.Positive(t, k)
}
