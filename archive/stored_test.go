package archive

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
)

// TestCheckStored inverts single bytes of archives. Opening or CheckStored notices it, except in local
// headers of the entries after the front and in the directory. Those can be rebuilt.
func TestCheckStored(t *testing.T) {
	_, copied := copiedArchive(t, ZarrNever)
	for _, ar := range [][]byte{pack(t, cubeImage(t, 3, 5, 7), &WriteOptions{Block: MinBlock, Zarr: ZarrAlways}), copied} {
		check := func(b []byte, blocks bool) error {
			f, err := New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
			if err != nil {
				return err
			}
			return f.CheckStored(t.Context(), blocks)
		}
		require.NoError(t, check(ar, true))
		f, err := New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
		require.NoError(t, err)
		z, front := f.archive, f.archive.Man.Front.Len
		must := make([]bool, len(ar))
		mark := func(off, n int64) {
			for i := range must[off:][:n] {
				must[off+int64(i)] = true
			}
		}
		mark(0, front)
		man := czip.ZipEntry{Name: czip.ManifestName}
		mark(z.Tail.ManOff+man.LocalLen(), z.Tail.ManLen)
		idx := z.Tail.Index()
		mark(idx.End()-idx.Stored, idx.Stored)
		mark(int64(len(ar))-czip.TailLen, czip.TailLen)
		inBlocks := make([]bool, len(ar))
		for b, err := range f.Blocks(t.Context()) {
			require.NoError(t, err)
			for i := range b.Len {
				inBlocks[b.Off+i] = true
			}
		}
		header := z.Man.Header
		for i := 0; i < len(ar); i += 1 + len(ar)/2000 {
			b := slices.Clone(ar)
			b[i] ^= 0xff
			inHeader := int64(i) >= header.Off && int64(i) < header.Off+header.Len
			if must[i] || inBlocks[i] {
				require.ErrorIs(t, check(b, true), ErrCorrupt, "byte %d", i)
			}
			if must[i] || inHeader {
				require.ErrorIs(t, check(b, false), ErrCorrupt, "byte %d", i)
			}
		}
	}
}
