package verify

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// TestRate checks that all inputs together are read at the rate, and that a wait can be cancelled.
func TestRate(t *testing.T) {
	s := &scrub{rate: 2 << 20}
	require.NoError(t, s.open(t.Context(), nil))
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

// TestState has archives that were proved twice, names that are not UTF-8, and a file that is made shorter.
func TestState(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.jsonl")
	at := time.Unix(1e9, 5).UTC()
	open := func() *state {
		t.Helper()
		s, err := openState(name)
		require.NoError(t, err)
		return s
	}
	s := open()
	_, err := openState(name)
	require.Error(t, err, "another program has it")
	sum := strings.Repeat("a", 64)
	for i := range 1200 {
		s.add(fmt.Sprintf("/a/%d\xff", i%500), 10, at, sum, time.Now())
	}
	s.add("https://host/x", 7, time.Time{}, sum, time.Now())
	require.NoError(t, s.file.Close())
	before, err := os.ReadFile(name)
	require.NoError(t, err)
	s = open()
	require.Len(t, s.known, 501)
	require.NotZero(t, s.last("/a/7\xff", 10, at))
	require.Zero(t, s.last("/a/7\xff", 11, at))
	require.Zero(t, s.last("/a/7\xff", 10, at.Add(1)))
	require.Zero(t, s.last("/a/7", 10, at))
	require.NotZero(t, s.last("https://host/x", 0, time.Time{}))
	require.Zero(t, s.last("https://host/x", 8, time.Time{}))
	s.add("/a/7\xff", 11, at, sum, time.Now())
	require.NoError(t, s.file.Close())
	s = open()
	require.NotZero(t, s.last("/a/7\xff", 11, at))
	require.NoError(t, s.file.Close())
	after, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Less(t, bytes.Count(after, []byte("\n")), bytes.Count(before, []byte("\n")))

	// An archive that has failed.
	s = open()
	s.revoke("/a/8\xff")
	s.revoke("/a/unknown")
	require.NoError(t, s.file.Close())
	s = open()
	require.Zero(t, s.last("/a/8\xff", 10, at))
	require.NotZero(t, s.last("/a/9\xff", 10, at))
	require.Len(t, s.known, 501)
	require.NoError(t, s.file.Close())

	// A line that was cut off.
	require.NoError(t, os.WriteFile(name, after[:len(after)-20], 0o644)) // the last line is that of /a/7
	s = open()
	require.Zero(t, s.last("/a/7\xff", 11, at))
	require.NoError(t, s.file.Close())
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
