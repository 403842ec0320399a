package parity_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

// gridded returns a classic file of two record variables and a short one, whose archive has many
// blocks.
func gridded(t testing.TB, nt int64, seed uint64) []byte {
	t.Helper()
	h := &cdf3.Header{Version: cdf3.Offset64, NumRecsField: uint64(nt)}
	h.Dims = []cdf3.Dim{{Name: "t"}, {Name: "y", Len: 20}, {Name: "x", Len: 30}}
	h.Vars = []cdf3.Var{
		{Name: "a", DimIDs: []int{0, 1, 2}, Type: cdf3.Float},
		{Name: "b", DimIDs: []int{0, 1, 2}, Type: cdf3.Int},
		{Name: "mask", DimIDs: []int{1, 2}, Type: cdf3.Short},
	}
	require.NoError(t, h.Layout())
	img, err := h.Append(nil)
	require.NoError(t, err)
	img = append(img, make([]byte, (h.Vars[2].RecLen+3)&^3)...)
	r := rand.New(rand.NewPCG(seed, 1))
	for range nt * 2 * 20 * 30 {
		img = binary.BigEndian.AppendUint32(img, 0x40000000|r.Uint32()&0xffff)
	}
	return img
}

// protected returns the archive of an image in blocks of 4 KiB, with a Zarr view and parity.
func protected(t testing.TB, img []byte, s parity.Share) []byte {
	t.Helper()
	var b bytes.Buffer
	o := &archive.WriteOptions{Name: "x.nc", Preset: archive.PresetFast, Block: 4096, Zarr: archive.ZarrConsolidated, Parity: s}
	_, err := archive.Write(context.Background(), &b, bytes.NewReader(img), int64(len(img)), o)
	require.NoError(t, err)
	return b.Bytes()
}

// forged returns an archive whose parity was made of other bytes. change changes them; it must not
// change the tail.
func forged(t testing.TB, b []byte, s parity.Share, change func(b []byte)) []byte {
	t.Helper()
	f := faultio.NewFile(b)
	size, err := parity.Remove(context.Background(), f, f.Size())
	require.NoError(t, err)
	other := f.Bytes()
	change(other[:size])
	f = faultio.NewFile(other)
	_, err = parity.Add(context.Background(), f, size, s, nil)
	require.NoError(t, err)
	e := find(t, b).Bytes()
	out := bytes.Clone(b)
	copy(out[e.Off:e.Off+e.Len], f.Bytes()[e.Off:])
	return out
}

// repaired repairs an archive as cdfz repair does, and returns it with what was done.
func repaired(t testing.TB, b []byte) ([]byte, *repair.Healed, *repair.Repaired, error) {
	t.Helper()
	f := faultio.NewFile(b)
	h, err := repair.Heal(context.Background(), f, f.Size(), &repair.Options{CutAfter: true})
	require.NoError(t, err)
	defer h.Close()
	p, rerr := repair.Repair(context.Background(), h, h.Size(), nil)
	require.NoError(t, h.Commit(context.Background(), f))
	if rerr == nil {
		defer p.Close()
		_, err = p.Commit(context.Background(), f)
		require.NoError(t, err)
	}
	return f.Bytes(), h, p, rerr
}

func restores(t testing.TB, b, img []byte) {
	t.Helper()
	a, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, a.Image().Copy(context.Background(), &out, nil))
	require.True(t, bytes.Equal(img, out.Bytes()))
}

// listed returns the entries of an archive.
func listed(b []byte) (list []czip.ZipEntry) {
	w := czip.Walker{R: bytes.NewReader(b), Size: int64(len(b))}
	for off := int64(0); ; {
		e, err := w.At(off)
		if err != nil {
			return list
		}
		list, off = append(list, e), e.End()
	}
}

// TestForged repairs archives whose parity has the right checksums over other bytes. No byte that
// the index or a local header confirms changes, and the parity is made again.
func TestForged(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for what, groups := range map[string]int64{"one group": 16384, "many groups": 128} {
		t.Run(what, func(t *testing.T) {
			parity.ManyGroups(t, groups, 4)
			img := gridded(t, 200, 3)
			b := protected(t, img, 5)
			if groups < 16384 {
				require.Greater(t, find(t, b).Groups, int64(1))
			}
			list := listed(b)
			last := &list[89]
			index := &list[len(list)-1]
			e := find(t, b).Bytes().Len
			for name, at := range map[string]int64{
				"block": list[2].End() - 100, "local header": list[2].Off + 14, "another block": last.End() - 2000, "plan": list[0].End() - 9,
				"netCDF header": list[1].End() - 9, "index": index.End() - 100 - e, "directory": index.End() + 1000 - e,
			} {
				t.Run(name, func(t *testing.T) {
					bad := forged(t, b, 5, func(b []byte) { b[at] ^= 1 })
					require.NotEqual(t, b, bad)
					rep, err := verify.Verify(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
					require.NoError(t, err)
					require.NotEmpty(t, rep.Damage)
					outlook, err := repair.Preview(context.Background(), bytes.NewReader(bad), int64(len(bad)), rep, nil)
					require.NoError(t, err)
					require.True(t, outlook.Whole)
					require.NotEmpty(t, outlook.Kept)
					got, h, p, err := repaired(t, bad)
					require.NoError(t, err)
					require.True(t, h.Rebuilt)
					require.True(t, p.Identical)
					require.True(t, bytes.Equal(b, got))

					// With damage elsewhere in the group, that heals.
					clear(bad[list[40].Off+100:][:700])
					got, h, p, err = repaired(t, bad)
					require.NoError(t, err)
					require.Positive(t, h.Parity.Healed)
					require.True(t, bytes.Equal(b, got))
					require.True(t, p.Identical)
					restores(t, got, img)
				})
			}
		})
	}
}
