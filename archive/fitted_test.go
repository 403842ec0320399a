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
	"github.com/cdfz-format/cdfz/filters"
)

// TestFitted: a variable whose second half repeats the first one has one block, others keep theirs.
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
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "x", Len: n}}, Vars: []cdf3.Var{
		{Name: "plain", Type: cdf3.Float, DimIDs: []int{0}},
		{Name: "twice", Type: cdf3.Float, DimIDs: []int{0}},
	}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	image = append(append(image, plain...), twice...)

	for _, c := range []struct {
		o    WriteOptions
		want int
	}{
		{WriteOptions{}, 1},
		{WriteOptions{Preset: PresetFast}, 1},
		{WriteOptions{Preset: PresetPortable}, 2},
		{WriteOptions{Block: DefaultBlock}, 2}, // the user's choice
	} {
		var buf bytes.Buffer
		_, err = Write(ctx, &buf, bytes.NewReader(image), int64(len(image)), &c.o)
		require.NoError(t, err)
		f, err := New(ctx, bytes.NewReader(buf.Bytes()), int64(buf.Len()), nil)
		require.NoError(t, err)
		blocks := map[int]int{}
		for b, err := range f.Blocks(ctx) {
			require.NoError(t, err)
			blocks[b.Var]++
		}
		require.Equal(t, 2, blocks[0])
		require.Equal(t, c.want, blocks[1])
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

// TestRepeats: a field whose records are equal has one block, however long it is.
func TestRepeats(t *testing.T) {
	const records, cells = 12, 60000
	values := make([]float32, records*cells)
	for i := range values {
		values[i] = math.Float32frombits(uint32(i%cells)*0x9E3779B1>>2 | 1<<29)
	}
	var image bytes.Buffer
	b := cdf3.NewBuilder(1)
	time, x := b.Dim("time", records), b.Dim("x", cells)
	b.Var("ice", cdf3.Float, time, x).Values(values)
	require.NoError(t, b.WriteFile(t.Context(), &image))
	ar := pack(t, image.Bytes(), nil)
	require.True(t, bytes.Equal(image.Bytes(), unpack(t, ar)))
	require.Less(t, len(ar), image.Len()/records*3/2)
}

// TestHeadAsNumbers: a long header that is a table of numbers is encoded as numbers, and one of text
// is not.
func TestHeadAsNumbers(t *testing.T) {
	table, text := make([]float32, 20000), bytes.Repeat([]byte("The header has much text. "), 6000)
	for i := range table {
		table[i] = float32(math.Round(1e4*math.Sin(float64(i)/50)) / 100)
	}
	for _, c := range []struct {
		values any
		want   uint32
	}{{table, filters.Lorenz}, {string(text), filters.Zstd}} {
		var image bytes.Buffer
		require.NoError(t, cdf3.NewBuilder(1).Attr("table", c.values).WriteFile(t.Context(), &image))
		ar := pack(t, image.Bytes(), nil)
		require.True(t, bytes.Equal(image.Bytes(), unpack(t, ar)))
		f, err := New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
		require.NoError(t, err)
		info, _ := f.Info()
		require.Equal(t, c.want, info.Rest.Head[0].ID)
	}
}
