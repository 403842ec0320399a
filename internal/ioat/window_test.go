package ioat

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWindow checks what is read for reads in order, long ones, jumps and the end, and that nothing is held of a read
// that failed.
func TestWindow(t *testing.T) {
	data := make([]byte, 1000)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	var reads []Span
	failing := false
	w := &Window{Size: 1000, Len: 100, R: Func(context.Background(), func(_ context.Context, p []byte, off int64) (int, error) {
		reads = append(reads, Span{off, int64(len(p))})
		if failing {
			return 0, syscall.EIO
		}
		return copy(p, data[off:]), nil
	})}
	require.Empty(t, w.Held(0))
	for _, c := range []struct {
		off, n, most int64 // most is the number of bytes that come back
		read         []Span
	}{
		{10, 5, 100, []Span{{10, 100}}},
		{15, 95, 95, nil},
		{109, 1, 1, nil},
		{109, 2, 100, []Span{{109, 100}}},
		{300, 250, 250, []Span{{300, 250}}},
		{299, 1, 100, []Span{{299, 100}}},
		{960, 7, 40, []Span{{960, 40}}},
		{1000, 0, 0, nil},
	} {
		reads = nil
		b, err := w.From(c.off, c.n)
		require.NoError(t, err)
		require.Equal(t, data[c.off:c.off+c.most], append([]byte{}, b...), "%d bytes at %d", c.n, c.off)
		require.Equal(t, c.read, reads)
	}
	failing = true
	_, err := w.From(0, 1)
	require.Equal(t, syscall.EIO, err)
	require.Empty(t, w.Held(0))
}
