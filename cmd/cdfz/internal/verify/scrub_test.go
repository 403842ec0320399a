package verify

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// TestRate checks that all inputs together are read at the rate, and that a wait can be cancelled.
func TestRate(t *testing.T) {
	s := &scrub{rate: 2 << 20}
	require.NoError(t, s.open(t.Context(), nil, nil))
	ctx, cancel := context.WithCancel(t.Context())
	data := make([]byte, 1<<20)
	start := time.Now()
	for range 2 {
		in := &fileio.Input{R: bytes.NewReader(data), Size: int64(len(data))}
		s.slow(ctx, in)
		n, err := in.R.ReadAt(make([]byte, len(data)), 0)
		require.NoError(t, err)
		require.Equal(t, len(data), n)
	}
	require.Greater(t, time.Since(start), 400*time.Millisecond) // the first MiB comes at once
	in := &fileio.Input{R: bytes.NewReader(data), Size: int64(len(data))}
	s.slow(ctx, in)
	cancel()
	_, err := in.R.ReadAt(data, 0)
	require.ErrorIs(t, err, context.Canceled)
}

// far is a reader with latency.
type far struct{ *bytes.Reader }

func (far) Gap() int64 { return 64 << 10 }

// TestRateFar checks that files at URLs stay such with a rate: they are read ahead, and what is garbled is read again.
func TestRateFar(t *testing.T) {
	s := &scrub{rate: 2 << 20}
	require.NoError(t, s.open(t.Context(), nil, nil))
	in := &fileio.Input{R: far{bytes.NewReader(nil)}}
	s.slow(t.Context(), in)
	require.EqualValues(t, 64<<10, ioat.Of(in.R).Gap())
}

func TestAges(t *testing.T) {
	for text, want := range map[string]time.Duration{"1m": time.Minute, "12h": 12 * time.Hour, "90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "36525d": maxAge} {
		var f ageFlag
		require.NoError(t, f.Set(text))
		require.EqualValues(t, want, f)
	}
	for _, text := range []string{"", "d", "0d", "-1d", "1.5d", "36526d", "1y", "90", "99999999999999999999h", "1dd"} {
		require.Error(t, new(ageFlag).Set(text), text)
	}
	for _, text := range []string{"", "%", "1", "0%", "-1%", "101%", "NaN%", "Inf%", "1%%"} {
		require.Error(t, new(shareFlag).Set(text), text)
	}
}
