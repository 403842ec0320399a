package archive

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/slab"
)

// TestIndexDamage checks that a damaged page of the index is ErrCorrupt on every path
// that reads rows.
func TestIndexDamage(t *testing.T) {
	ar := pack(t, cubeImage(t, 64, 30, 50), &WriteOptions{Block: MinBlock, Zarr: ZarrAlways, Preset: PresetFast})
	r := open(t, ar)
	require.Greater(t, r.L.Blocks, int64(300))
	bad := bytes.Clone(ar)
	for at := r.Tail.IdxOff + 41 + 32; at < r.Tail.IdxOff+r.Tail.IdxLen; at += 50 {
		bad[at] ^= 1
	}
	ctx := context.Background()
	f := openFile(t, bad, nil)
	read := func(sel slab.Sel) error {
		_, err := slab.Read[int32](ctx, f.Array(1), sel)
		return err
	}
	for name, read := range map[string]func() error{
		"Stored": func() error { _, err := f.Stored(ctx); return err },
		"Blocks": func() (err error) {
			for _, err = range f.Blocks(ctx) {
			}
			return err
		},
		"Copy":      func() error { return copyImage(ctx, f.archive, io.Discard, nil) },
		"Image":     func() error { _, err := f.Image().ReadAt(make([]byte, f.Image().Size()), 0); return err },
		"one block": func() error { return read(slab.Sel{Start: []int64{5, 5, 5}, Count: []int64{1, 1, 1}}) },
		"blocks":    func() error { return read(slab.Sel{}) },
		"header":    func() error { _, err := f.Image().ReadAt(make([]byte, 4), 0); return err },
	} {
		require.ErrorIs(t, read(), ErrCorrupt, name)
	}
	rep := verified(t, bad)
	require.NotEmpty(t, rep.Damage)
	require.Equal(t, verify.DamageIndex, rep.Damage[0].Kind)
}
