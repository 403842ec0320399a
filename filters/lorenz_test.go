package filters_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/lorenz"
)

// smoothField returns a field of big-endian floats with a mask, as in climate data.
func smoothField(rows, cols int) []byte {
	var b []byte
	for i := range rows {
		for j := range cols {
			v := float32(280 + 10*math.Sin(float64(i)/7)*math.Cos(float64(j)/11))
			if (i/5+j/9)%4 == 0 {
				v = 1e20
			}
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b
}

// TestLorenzFilter checks that parameters follow from the blocks, and that blocks and
// ranges of them are decoded correctly.
func TestLorenzFilter(t *testing.T) {
	src := smoothField(60, 90)
	for _, effort := range [][]uint32{nil, {0}, {1}, {2}} {
		chain, err := filters.Chain{{ID: filters.Lorenz, Params: effort}}.Complete(filters.Block{Len: len(src), Kind: filters.Float, Size: 4, Shape: []int{1, 60, 90}})
		require.NoError(t, err)
		require.Equal(t, append([]uint32{1, 5, 0, 2, 60, 90}, effort...), chain[0].Params)
		require.Equal(t, filters.Chain{{ID: filters.Lorenz, Params: effort}}.String(), chain.Given().String())
		k, err := filters.NewCoder(chain)
		require.NoError(t, err)
		out, mask, err := k.Encode(nil, src)
		require.NoError(t, err)
		require.Zero(t, mask)
		require.Less(t, len(out), len(src)*3/4)
		got := make([]byte, len(src))
		require.NoError(t, k.Decode(got, out, 0))
		require.Equal(t, src, got)
		require.Equal(t, 4, k.Grain(len(src)))
		for _, r := range [][2]int{{0, 4}, {4 * 1000, 4 * 1001}, {len(src) - 4, len(src)}, {400, 8000}, {0, len(src)}} {
			part := make([]byte, r[1]-r[0])
			require.NoError(t, k.DecodeRange(part, out, 0, len(src), r[0]))
			require.Equal(t, src[r[0]:r[1]], part)
		}
		require.ErrorIs(t, k.Decode(got[:len(got)-4], out, 0), filters.ErrDecodedSize)
		require.ErrorIs(t, k.Decode(got, out[:len(out)/2], 0), filters.ErrDamaged)
	}
}

// TestLorenzLength decodes parts of blocks whose parameters describe more or fewer bytes than the
// block has: they are damaged for these reads too.
func TestLorenzLength(t *testing.T) {
	for _, dims := range []uint32{500, 2000} {
		k, err := filters.NewCoder(filters.Chain{{ID: filters.Lorenz, Params: []uint32{1, 5, 0, 1, dims}}})
		require.NoError(t, err)
		out, _, err := k.Encode(nil, make([]byte, 4*dims))
		require.NoError(t, err)
		const n = 4000
		require.ErrorIs(t, k.Decode(make([]byte, n), out, 0), filters.ErrDecodedSize)
		require.ErrorIs(t, k.DecodeRange(make([]byte, 12), out, 0, n, 0), filters.ErrDecodedSize)
		require.ErrorIs(t, k.DecodeRuns(make([]byte, 12), out, 0, n, filters.Runs{Len: 4, Stride: 40, Count: 3}), filters.ErrDecodedSize)
	}
}

// TestLorenzStack encodes a stack of two equal arrays.
func TestLorenzStack(t *testing.T) {
	src := bytes.Repeat(smoothField(60, 90), 2)
	for _, effort := range [][]uint32{nil, {1}, {2}} {
		given := filters.Chain{{ID: filters.Lorenz, Params: effort}}
		chain, err := given.Complete(filters.Block{Len: len(src), Kind: filters.Float, Size: 4, Shape: []int{2, 60, 90}, Stack: true})
		require.NoError(t, err)
		require.Equal(t, uint32(4), chain[0].Params[7]&4)
		require.Equal(t, given.String(), chain.Given().String())
		k, err := filters.NewCoder(chain)
		require.NoError(t, err)
		out, _, err := k.Encode(nil, src)
		require.NoError(t, err)
		require.Equal(t, !slices.Equal(effort, []uint32{1}), lorenz.ModeName(out[0]) == "parts")
		got := make([]byte, 400)
		require.NoError(t, k.DecodeRange(got, out, 0, len(src), len(src)/2-200))
		require.Equal(t, src[len(src)/2-200:len(src)/2+200], got)
	}
}

// TestLorenzTypes codes every kind of elements, with one session for all of them.
func TestLorenzTypes(t *testing.T) {
	for _, b := range []filters.Block{
		{Len: 4000, Kind: filters.Int, Size: 1, Shape: []int{4000}},
		{Len: 4000, Kind: filters.Text, Size: 1, Shape: []int{40, 100}},
		{Len: 4000, Kind: filters.Int, Size: 2, Shape: []int{2000}},
		{Len: 4000, Kind: filters.Uint, Size: 8, Shape: []int{5, 100}},
		{Len: 4000, Kind: filters.Float, Size: 8, Shape: []int{500}, LittleEndian: true},
		{Len: 8, Kind: filters.Float, Size: 8, Shape: []int{}},
		{Len: 4001},
	} {
		chain, err := filters.Chain{{ID: filters.Lorenz}}.Complete(b)
		require.NoError(t, err, "%+v", b)
		k, err := filters.NewCoder(chain)
		require.NoError(t, err)
		src := bytes.Repeat([]byte{0, 1, 2, 3, 5, 8}, b.Len)[:b.Len]
		out, _, err := k.Encode(nil, src)
		require.NoError(t, err)
		got := make([]byte, b.Len)
		require.NoError(t, k.Decode(got, out, 0), "%+v", b)
		require.Equal(t, src, got)
		codecs, err := chain.Codecs(b)
		require.NoError(t, err)
		back, err := filters.ToFilter(codecs[0])
		require.NoError(t, err)
		require.Equal(t, chain[0].Params, back.Params)
	}
	for _, b := range []filters.Block{{}, {Len: 12, Kind: filters.Float, Size: 3, Shape: []int{4}}, {Len: 2, Kind: filters.Float, Size: 1, Shape: []int{2}}} {
		_, err := filters.Chain{{ID: filters.Lorenz}}.Complete(b)
		require.ErrorIs(t, err, filters.ErrParam, "%+v", b)
	}
	for _, p := range [][]uint32{nil, {0}, {2, 5, 0, 0}, {1, 12, 0, 0}, {1, 5, 0, 0, 3}, {1, 5, 0, 0, 7}, {1, 5, 0, 0, 8}, {1, 5, 0, 9}, {1, 5, 0, 1, 1 << 30}} {
		_, err := filters.NewCoder(filters.Chain{{ID: filters.Lorenz, Params: p}})
		require.ErrorIs(t, err, filters.ErrParam, "%v", p)
	}
}
