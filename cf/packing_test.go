package cf

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

func attrOf(name string, t cdf3.Type, b ...byte) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: t, Len: int64(len(b)) / t.Size(), Values: b}
}

func double(x float64) []byte { return binary.BigEndian.AppendUint64(nil, math.Float64bits(x)) }

func single(x float32) []byte { return binary.BigEndian.AppendUint32(nil, math.Float32bits(x)) }

// TestPacking checks values and types for combinations of attributes. TestJudgeUnpack
// compares many more with netCDF4-python and xarray.
func TestPacking(t *testing.T) {
	nan := NaN()
	for _, c := range []struct {
		typ   cdf3.Type
		in    []byte
		to    cdf3.Type
		want  []float64
		attrs []cdf3.Attr
	}{
		{cdf3.Short, []byte{0, 2, 0xff, 0xff}, cdf3.Short, []float64{2, -1}, nil},
		{cdf3.Short, []byte{0, 2, 0xff, 0xff}, cdf3.Double, []float64{2, 0.5}, []cdf3.Attr{attrOf("scale_factor", cdf3.Double, double(.5)...), attrOf("add_offset", cdf3.Byte, 1)}},
		{cdf3.Short, []byte{0, 2, 0xff, 0xff}, cdf3.Float, []float64{float64(float32(.2)), float64(float32(-.1))}, []cdf3.Attr{attrOf("scale_factor", cdf3.Float, single(.1)...)}},
		{cdf3.Int, []byte{0, 0, 0, 2}, cdf3.Double, []float64{float64(float32(.1)) * 2}, []cdf3.Attr{attrOf("scale_factor", cdf3.Float, single(.1)...)}},
		{cdf3.Short, []byte{0, 2, 0xff, 0xff}, cdf3.Float, []float64{2, nan}, []cdf3.Attr{attrOf("_FillValue", cdf3.Short, 0xff, 0xff)}},
		{cdf3.Short, []byte{0, 2, 0xff, 0xff, 0, 3}, cdf3.Float, []float64{nan, -1, nan}, []cdf3.Attr{attrOf("missing_value", cdf3.Short, 0, 2, 0, 3)}},
		{cdf3.Byte, []byte{1, 0xff, 0xfe}, cdf3.Float, []float64{1, nan, 254}, []cdf3.Attr{attrOf("_Unsigned", cdf3.Char, []byte("true")...), attrOf("_FillValue", cdf3.Byte, 0xff)}},
		{cdf3.Byte, []byte{1, 0xff}, cdf3.UByte, []float64{1, 255}, []cdf3.Attr{attrOf("_Unsigned", cdf3.Char, []byte("true\x00")...)}},
		{cdf3.UByte, []byte{1, 0xff}, cdf3.Byte, []float64{1, -1}, []cdf3.Attr{attrOf("_Unsigned", cdf3.Char, []byte("false")...)}},
		{cdf3.Byte, []byte{1, 0xff}, cdf3.Float, []float64{1, nan}, []cdf3.Attr{attrOf("_FillValue", cdf3.Double, double(-1)...)}},
		// As a float, 1e20 is not the number that it is as a double.
		{cdf3.Float, single(1e20), cdf3.Float, []float64{nan}, []cdf3.Attr{attrOf("missing_value", cdf3.Double, double(1e20)...)}},
		{cdf3.Float, single(float32(math.Inf(1))), cdf3.Float, []float64{math.Inf(1)}, []cdf3.Attr{attrOf("missing_value", cdf3.Double, double(1e300)...)}},
		// As doubles, both are 2^63.
		{cdf3.Int64, []byte{0x7f, 255, 255, 255, 255, 255, 255, 254, 0x7f, 255, 255, 255, 255, 255, 255, 255}, cdf3.Double, []float64{1 << 63, nan},
			[]cdf3.Attr{attrOf("_FillValue", cdf3.Int64, 0x7f, 255, 255, 255, 255, 255, 255, 255)}},
		{cdf3.Int, []byte{0, 0, 0, 5}, cdf3.Int, []float64{5}, []cdf3.Attr{attrOf("missing_value", cdf3.Double, double(nan)...), attrOf("missing_value", cdf3.Int, 0, 0, 0, 5)}},
		{cdf3.Int, []byte{0, 0, 0, 5}, cdf3.Int, []float64{5}, []cdf3.Attr{attrOf("missing_value", cdf3.Char, '5'), attrOf("valid_max", cdf3.Int, 0, 0, 0, 1)}},
		{cdf3.UInt, []byte{0, 0, 0, 5}, cdf3.Double, []float64{nan}, []cdf3.Attr{attrOf("missing_value", cdf3.UInt, 0, 0, 0, 5), attrOf("add_offset", cdf3.Byte, 1)}},
	} {
		p, err := NewPacking(&cdf3.Var{Type: c.typ, Attrs: c.attrs})
		require.NoError(t, err)
		require.Equal(t, c.to, p.Type, "%v", c)
		a, err := slab.New(c.typ, []int64{int64(len(c.want))}, bytes.NewReader(c.in))
		require.NoError(t, err)
		got, err := Read[float64](t.Context(), a, slab.Sel{}, p)
		require.NoError(t, err)
		for i, w := range c.want {
			require.Equal(t, math.Float64bits(w), math.Float64bits(got[i]), "%v: %d: expected %v, found %v", c, i, w, got[i])
		}
	}
}

func TestPackingErrors(t *testing.T) {
	for _, c := range []struct {
		a    cdf3.Attr
		want string
	}{
		{attrOf("scale_factor", cdf3.Char, '2'), `cf: variable "v": expected one number as scale_factor, found text`},
		{attrOf("add_offset", cdf3.Byte, 1, 2), `cf: variable "v": expected one number as add_offset, found 2`},
		{attrOf("scale_factor", cdf3.Byte), `cf: variable "v": expected one number as scale_factor, found 0`},
	} {
		p, err := NewPacking(&cdf3.Var{Name: "v", Type: cdf3.Int, Attrs: []cdf3.Attr{c.a, attrOf("_FillValue", cdf3.Int, 0, 0, 0, 5)}})
		require.EqualError(t, err, c.want)
		require.False(t, p.Scaled)
		require.True(t, p.HasMissing())
	}
	text := &cdf3.Var{Type: cdf3.Char, Attrs: []cdf3.Attr{attrOf("_FillValue", cdf3.Char, 0)}}
	p, err := NewPacking(text)
	require.NoError(t, err)
	require.True(t, p.Plain())
	a, err := slab.New(cdf3.Char, []int64{1}, bytes.NewReader([]byte{0}))
	require.NoError(t, err)
	_, err = Read[float64](t.Context(), a, slab.Sel{}, p)
	require.ErrorIs(t, err, slab.ErrType)
	a, err = slab.New(cdf3.Double, []int64{1 << 46}, bytes.NewReader(nil))
	require.NoError(t, err)
	_, err = Read[float64](t.Context(), a, slab.Sel{}, p)
	require.ErrorIs(t, err, slab.ErrLength)
}

// TestMissing checks that Contains finds values in a long list as well as in a short
// one.
func TestMissing(t *testing.T) {
	var b []byte
	for i := range 100 {
		b = append(b, 0, byte(2*i))
	}
	p, err := NewPacking(&cdf3.Var{Type: cdf3.Short, Attrs: []cdf3.Attr{attrOf("missing_value", cdf3.Short, b...), attrOf("_FillValue", cdf3.Short, 0, 2)}})
	require.NoError(t, err)
	m := Missing[int16](p, cdf3.Short)
	require.Len(t, m, 100)
	for x := range int16(210) {
		require.Equal(t, x < 200 && x%2 == 0, Contains(m, x))
		require.Equal(t, x < 8 && x%2 == 0, Contains(m[:4], x))
	}
}
