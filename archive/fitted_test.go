package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
)

// TestFitted: a variable whose second half repeats the first one has one block, others
// keep theirs, and a long header of numbers is coded as such.
func TestFitted(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(6, 6))
	const n = 80000
	noise := func() []byte {
		b := make([]byte, 0, 4*n)
		for range n {
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(rng.NormFloat64())))
		}
		return b
	}
	plain, twice := noise(), noise()
	copy(twice[2*n:], twice[:2*n])
	var table []byte // of few values
	for range 5000 {
		table = append(table, plain[4*rng.IntN(900):][:4]...)
	}
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "x", Len: n}}, Vars: []cdf3.Var{
		{Name: "plain", Type: cdf3.Float, DimIDs: []int{0}},
		{Name: "twice", Type: cdf3.Float, DimIDs: []int{0}, Attrs: []cdf3.Attr{{Name: "a", Type: cdf3.Float, Len: 5000, Values: table}, {Name: "b", Type: cdf3.Float, Len: 5000, Values: table}}},
	}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	image = append(append(image, plain...), twice...)

	for preset, want := range map[Preset]int{PresetDefault: 1, PresetFast: 2} {
		var buf bytes.Buffer
		_, err = Write(ctx, &buf, bytes.NewReader(image), int64(len(image)), &WriteOptions{Name: "x.nc", Preset: preset})
		require.NoError(t, err)
		f, err := New(bytes.NewReader(buf.Bytes()), int64(buf.Len()), nil)
		require.NoError(t, err)
		blocks, head := map[int]int{}, []byte(nil)
		for b, err := range f.Blocks(ctx) {
			require.NoError(t, err)
			if blocks[b.Var]++; b.Name == ".cdfz/rest/0" {
				head = buf.Bytes()[b.Off:][:b.Len]
			}
		}
		require.Equal(t, 2, blocks[0])
		require.Equal(t, want, blocks[1])
		if preset == PresetDefault {
			require.Less(t, len(head), len(table)+len(table)/8)
			require.NotEqual(t, []byte{0x28, 0xB5, 0x2F, 0xFD}, head[:4], "not zstd")
		}
		got := make([]byte, len(image))
		_, err = f.Image().ReadAt(got, 0)
		require.NoError(t, err)
		require.True(t, bytes.Equal(image, got))
		require.NoError(t, f.Close())
		rep, err := verify.Verify(ctx, bytes.NewReader(buf.Bytes()), int64(buf.Len()), nil)
		require.NoError(t, err)
		require.Empty(t, rep.Damage)
	}
}
