package parity_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/parity"
)

// TestFindHostile checks that a search reads a bounded multiple of a file that is full of what
// looks like records: of their first bytes only, or of heads that are possible where they are.
func TestFindHostile(t *testing.T) {
	ar := archived(t, image(400_000, 1), 5)
	s, err := parity.Find(context.Background(), bytes.NewReader(ar), int64(len(ar)), nil)
	require.NoError(t, err)
	p := s.Bytes()
	at := bytes.Index(ar[p.Off:], []byte("cdfzpar\x01"))
	require.Positive(t, at)
	magic := bytes.Repeat([]byte("cdfzpar\x01"), len(ar)/8)
	heads := bytes.Repeat(ar[p.Off+int64(at):][:60], len(ar)/60)
	near := bytes.Repeat([]byte("cdfzpar\x02"), len(ar)/8)
	broken := bytes.Clone(ar) // each record has a true head and a wrong checksum
	for i := p.Off + int64(at) + 100; i < p.Off+p.Len; i += 200 {
		broken[i] ^= 1
	}
	for _, b := range [][]byte{magic, heads, near, broken} {
		for i := range 3 {
			b := bytes.Clone(b)
			copy(b, ar[:60*i]) // with and without the first local header
			c := &counter{ReaderAt: bytes.NewReader(b)}
			_, _ = parity.Find(context.Background(), c, int64(len(b)), nil)
			require.Less(t, c.n, 6*int64(len(b))+1<<16)
		}
	}
}
