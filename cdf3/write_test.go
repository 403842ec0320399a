package cdf3

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLayout(t *testing.T) {
	for _, v := range []Version{Classic, Offset64, Data64} {
		h := Header{
			Version: v, NumRecsField: 3,
			Dims: []Dim{{"t", 0}, {"x", 3}},
			Vars: []Var{
				{Name: "r1", Type: Byte, DimIDs: []int{0, 1}},
				{Name: "f1", Type: Short, DimIDs: []int{1}},
				{Name: "r2", Type: Double, DimIDs: []int{0}},
				{Name: "f2", Type: Char},
			},
		}
		require.NoError(t, h.Layout())
		n := h.Len
		assert.Equal(t, []int64{n + 12, n, n + 16, n + 8}, begins(&h))
		assert.Equal(t, int64(12), h.RecSize)
		assert.Equal(t, int64(3), h.NumRecs)
		assert.Equal(t, []int64{3, 3}, h.Vars[0].Shape)
		assert.Equal(t, uint64(4), h.Vars[0].VSize)
		assert.Equal(t, int64(9), h.Vars[0].Len)
		assert.Equal(t, int64(6), h.Vars[1].Len)
		b, err := h.Append(nil)
		require.NoError(t, err)
		got, err := parse(b)
		require.NoError(t, err)
		assert.Equal(t, begins(&h), begins(got))
		assert.Equal(t, h.Len, got.Len)

		// A single record variable is not padded, and Layout can be repeated.
		h.Vars = h.Vars[:2]
		require.NoError(t, h.Layout())
		assert.Equal(t, int64(3), h.RecSize)
		h.NumRecsField = v.streaming()
		require.NoError(t, h.Layout())
		assert.True(t, h.Streaming)
		assert.Zero(t, h.NumRecs)
		assert.Equal(t, []int64{0, 3}, h.Vars[0].Shape)
	}
}

func begins(h *Header) (b []int64) {
	for i := range h.Vars {
		b = append(b, h.Vars[i].Begin)
	}
	return b
}

func TestLayoutVSizeMarker(t *testing.T) {
	h := Header{Version: Offset64, Dims: []Dim{{"x", 1 << 30}}, Vars: []Var{{Name: "a", Type: Int, DimIDs: []int{0}}, {Name: "b", Type: Byte}}}
	require.NoError(t, h.LayoutRead())
	assert.Equal(t, uint64(math.MaxUint32), h.Vars[0].VSize)
	assert.Equal(t, h.Len+1<<32, h.Vars[1].Begin)
	h.Version = Data64
	require.NoError(t, h.LayoutRead())
	assert.Equal(t, uint64(1<<32), h.Vars[0].VSize)
	h.Version = Classic
	assert.ErrorContains(t, h.LayoutRead(), "no room")
}

func TestLayoutErrors(t *testing.T) {
	x := []Dim{{"t", 0}, {"x", math.MaxInt32}, {"y", 1 << 30}}
	for want, h := range map[string]Header{
		"cannot write CDF-3":                    {Version: 3},
		"type code 12":                          {Version: Classic, Vars: []Var{{Type: 12}}},
		"dimension number 3":                    {Version: Classic, Dims: x, Vars: []Var{{Type: Int, DimIDs: []int{3}}}},
		"dimension number -1":                   {Version: Classic, Dims: x, Vars: []Var{{Type: Int, DimIDs: []int{-1}}}},
		"dimension 0 has length 0":              {Version: Classic, Dims: x, Vars: []Var{{Type: Int, DimIDs: []int{1, 0}}}},
		"the length of shape [2147483647 2147":  {Version: Classic, Dims: x, Vars: []Var{{Type: Int, DimIDs: []int{1, 1, 1}}}},
		"size of a record overflows":            {Version: Offset64, Dims: x, Vars: []Var{{Type: Int, DimIDs: []int{0, 1, 2}}, {Type: Int, DimIDs: []int{0, 1, 2}}}},
		"no room for":                           {Version: Offset64, Dims: x, Vars: []Var{{Type: Int, DimIDs: []int{1, 2}}, {Type: Int, DimIDs: []int{1, 2}}}},
		"length -1":                             {Version: Classic, Dims: []Dim{{"x", -1}}},
		"length 2147483648 does not fit":        {Version: Classic, Dims: []Dim{{"x", 1 << 31}}},
		"4294967296 does not fit in CDF-2":      {Version: Offset64, Dims: []Dim{{"x", 1 << 32}}},
		"number of records: 4294967296 does":    {Version: Offset64, NumRecsField: 1 << 32},
		"9223372036854775808 records, expected": {Version: Data64, NumRecsField: 1 << 63},
		"records of 8 bytes overflows":          {Version: Data64, NumRecsField: 1 << 62, Dims: x, Vars: []Var{{Type: Double, DimIDs: []int{0}}}},
		"3 bytes of values for 2 elements":      {Version: Classic, Attrs: []Attr{{Type: Short, Len: 2, Values: make([]byte, 3)}}},
		"for 1 elements of type type(12)":       {Version: Classic, Attrs: []Attr{{Type: 12, Len: 1, Values: make([]byte, 3)}}},
		"for -1 elements":                       {Version: Classic, Attrs: []Attr{{Type: Int, Len: -1}}},
	} {
		assert.ErrorContains(t, h.LayoutRead(), want)
	}
}

func TestAppendErrors(t *testing.T) {
	for want, v := range map[string]Var{
		"begin -1 does not fit":         {Type: Int, Begin: -1},
		"begin 2147483648 does not fit": {Type: Int, Begin: 1 << 31},
		"4294967296 does not fit":       {Type: Int, VSize: 1 << 32},
		"dimension number -1":           {Type: Int, DimIDs: []int{-1}},
	} {
		h := Header{Version: Classic, Vars: []Var{v}}
		b, err := h.Append([]byte("dst"))
		assert.ErrorContains(t, err, want)
		assert.Equal(t, []byte("dst"), b)
	}
}

// TestAppendPadding checks that padding is zero even if dst has other bytes in its
// capacity.
func TestAppendPadding(t *testing.T) {
	h := Header{Version: Classic, Attrs: []Attr{{"a", Char, 1, []byte("b")}}}
	dst := make([]byte, 0, 100)
	for i := range 100 {
		dst = append(dst, byte(i|1))
	}
	got, err := h.Append(dst[:0])
	require.NoError(t, err)
	want, err := h.Append(nil)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}
