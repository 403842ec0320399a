package cdf3_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

func TestAttrValues(t *testing.T) {
	attr := func(typ cdf3.Type, b ...byte) *cdf3.Attr {
		return &cdf3.Attr{Type: typ, Len: int64(len(b)) / typ.Size(), Values: b}
	}
	ones := []byte{255, 255, 255, 255, 255, 255, 255, 255}
	for _, c := range []struct {
		a      *cdf3.Attr
		floats []float64
		ints   []int64
	}{
		{attr(cdf3.Byte, 1, 0xff), []float64{1, -1}, []int64{1, -1}},
		{attr(cdf3.UByte, 1, 0xff), []float64{1, 255}, []int64{1, 255}},
		{attr(cdf3.Short, 0x80, 0), []float64{-32768}, []int64{-32768}},
		{attr(cdf3.UShort, 0x80, 0), []float64{32768}, []int64{32768}},
		{attr(cdf3.Int, 0xff, 0xff, 0xff, 0xfe), []float64{-2}, []int64{-2}},
		{attr(cdf3.UInt, 0xff, 0xff, 0xff, 0xfe), []float64{1<<32 - 2}, []int64{1<<32 - 2}},
		{attr(cdf3.Int64, ones...), []float64{-1}, []int64{-1}},
		{attr(cdf3.UInt64, ones...), []float64{1 << 64}, nil},
		{attr(cdf3.Float, 0x40, 0x20, 0, 0), []float64{2.5}, nil},
		{attr(cdf3.Double, 0x40, 0x08, 0, 0, 0, 0, 0, 0), []float64{3}, []int64{3}},
		{attr(cdf3.Double, 0x43, 0xe0, 0, 0, 0, 0, 0, 0), []float64{1 << 63}, nil},
		{attr(cdf3.Double, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0), []float64{math.Inf(1)}, nil},
		{attr(cdf3.Char, 'a', 0), nil, nil},
		{attr(cdf3.Int), []float64{}, []int64{}},
	} {
		require.Equal(t, c.floats, c.a.Float64s(), c.a.Type)
		require.Equal(t, c.ints, c.a.Int64s(), c.a.Type)
	}
	require.Equal(t, "a", attr(cdf3.Char, 'a', 0).Text())
	require.Equal(t, "", attr(cdf3.Byte, 'a').Text())
	require.Equal(t, []int8{-1}, cdf3.Values[int8](attr(cdf3.Byte, 0xff)))
	require.Equal(t, []uint8{'a'}, cdf3.Values[uint8](attr(cdf3.Char, 'a')))
	require.Nil(t, cdf3.Values[uint8](attr(cdf3.Byte, 'a')))
	require.Nil(t, cdf3.Values[float64](attr(cdf3.Float, 0, 0, 0, 0)))
	type level int16 // a type of the program with that of the values below it
	require.Equal(t, []level{-1}, cdf3.Values[level](attr(cdf3.Short, 0xff, 0xff)))
	require.Nil(t, cdf3.Values[level](attr(cdf3.UShort, 0xff, 0xff)))
	require.Nil(t, cdf3.Values[level](attr(cdf3.Int, 0, 0, 0, 1)))
}

// TestMissingAttr reads values of an attribute that a variable does not have.
func TestMissingAttr(t *testing.T) {
	v := &cdf3.Var{Attrs: []cdf3.Attr{{Name: "units", Type: cdf3.Char, Len: 2, Values: []byte("K\x00")}}}
	require.Equal(t, "K", v.Attr("units").Text())
	a := v.Attr("unit")
	require.Nil(t, a)
	require.Empty(t, a.Text())
	require.Nil(t, a.Float64s())
	require.Nil(t, a.Int64s())
}

// TestAttrValue gives the values of attributes back as they were passed to NewAttr.
func TestAttrValue(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Data64}
	for i, want := range []any{"text", []int8{-1}, []uint8{255}, []int16{-2, 3}, []uint16{65535}, []int32{-4}, []uint32{1 << 31},
		[]int64{-1 << 63}, []uint64{1 << 63}, []float32{0.5}, []float64{}} {
		a, err := cdf3.NewAttr(string(rune('a'+i)), want)
		require.NoError(t, err)
		h.Attrs = append(h.Attrs, a)
		require.Equal(t, want, h.Attr(a.Name).Value(), a.Type)
	}
	require.Nil(t, h.Attr("A"))
	require.Nil(t, h.Attr("A").Value())
}
