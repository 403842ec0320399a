package czip

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// TestInflateAfter: bytes after a deflate stream are damage, however few.
func TestInflateAfter(t *testing.T) {
	for _, n := range []int{0, 1, 100, 3000, 200_000} {
		var text strings.Builder
		for i := 0; text.Len() < n; i++ {
			text.WriteString(strings.Repeat("x", i%7))
			text.WriteByte(byte(i * i >> 3))
		}
		payload := NewMeta("m", []byte(text.String())).Payload
		for after := range 5 {
			b := append(payload[:len(payload):len(payload)], make([]byte, after)...)
			got, err := InflateTo(context.Background(), "m", b, 1<<20)
			if after > 0 {
				require.ErrorIs(t, err, fault.ErrCorrupt, "%d bytes, %d after", n, after)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, text.String(), string(got))
		}
	}
}
