package parity_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

// TestVectors heals the published archives with parity, which an independent program made:
// a burst anywhere, and all records lost but those that suffice.
func TestVectors(t *testing.T) {
	names, err := filepath.Glob("../../testdata/vectors/good/parity*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			_, b, ok := bytes.Cut(b, []byte("\n\n"))
			require.True(t, ok)
			l := find(t, b).Bytes()
			for off := 0; off+3*64 <= len(b); off += 241 {
				d := bytes.Clone(b)
				clear(d[off : off+2*64])
				got, rep := heal(t, d)
				require.True(t, bytes.Equal(b, got), "burst at %d: %+v", off, rep)
			}
			f := faultio.NewFile(b)
			s, err := parity.Find(context.Background(), f, int64(len(b)), nil)
			require.NoError(t, err)
			_, err = f.WriteAt(make([]byte, l.Len-100), l.Off+100)
			require.NoError(t, err)
			require.NoError(t, s.Rebuild(context.Background(), f))
			require.True(t, bytes.Equal(b, f.Bytes()), "the parity made again")
		})
	}
}
