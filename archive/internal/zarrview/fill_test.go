package zarrview

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
)

// TestZarrFill checks the fill values of the view: those of _FillValue, if it is one value of
// the variable's type, with all digits. Others are attributes only.
func TestZarrFill(t *testing.T) {
	bytesOf := func(x any) []byte {
		b, err := binary.Append(nil, binary.BigEndian, x)
		require.NoError(t, err)
		return b
	}
	for _, c := range []struct {
		typ    cdf3.Type
		attrs  []cdf3.Attr
		fill   string
		attr   string // in .zattrs, "" if left out
		listed bool   // among the attributes that are left out
	}{
		{cdf3.Byte, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Byte, Len: 1, Values: bytesOf(int8(-127))}}, "-127", "-127", false},
		{cdf3.UByte, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.UByte, Len: 1, Values: bytesOf(uint8(255))}}, "255", "255", false},
		{cdf3.Short, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Short, Len: 1, Values: bytesOf(int16(-32767))}}, "-32767", "-32767", false},
		{cdf3.UInt, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.UInt, Len: 1, Values: bytesOf(uint32(1<<32 - 1))}}, "4294967295", "4294967295", false},
		{cdf3.Int64, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Int64, Len: 1, Values: bytesOf(int64(-9223372036854775806))}}, "-9223372036854775806", "", false},
		{cdf3.Int64, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Int64, Len: 1, Values: bytesOf(int64(math.MaxInt64))}}, "9223372036854775807", "", false},
		{cdf3.UInt64, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.UInt64, Len: 1, Values: bytesOf(uint64(math.MaxUint64))}}, "18446744073709551615", "", false},
		{cdf3.Float, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Float, Len: 1, Values: bytesOf(float32(1e20))}}, "1.0000000200408773e+20", "1.0000000200408773e+20", false},
		{cdf3.Float, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Float, Len: 1, Values: bytesOf(float32(-999))}}, "-999.0", "-999.0", false},
		{cdf3.Double, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Double, Len: 1, Values: bytesOf(math.NaN())}}, `"NaN"`, "", false},
		{cdf3.Float, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Float, Len: 1, Values: bytesOf(float32(math.Inf(1)))}}, `"Infinity"`, "", false},
		{cdf3.Double, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Double, Len: 1, Values: bytesOf(math.Inf(-1))}}, `"-Infinity"`, "", false},
		{cdf3.Char, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Char, Len: 1, Values: []byte{0}}}, `"AA=="`, `""`, false},
		{cdf3.Char, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Char, Len: 1, Values: []byte("#")}}, `"Iw=="`, `"#"`, false},
		{cdf3.Char, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Char, Len: 1, Values: []byte{0xe9}}}, `"6Q=="`, "", false},
		{cdf3.Int, nil, "null", "", false},
		{cdf3.Int, []cdf3.Attr{{Name: "missing_value", Type: cdf3.Int, Len: 1, Values: bytesOf(int32(-1))}}, "null", "", false},
		{cdf3.Int, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Short, Len: 1, Values: bytesOf(int16(-1))}}, "null", "-1", false},
		{cdf3.Int, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Int, Len: 2, Values: bytesOf([]int32{1, 2})}}, "null", "[1,2]", false},
		{cdf3.Short, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Float, Len: 1, Values: bytesOf(float32(1e20))}}, "null", "1.0000000200408773e+20", false},
		{cdf3.Char, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Char, Len: 2, Values: []byte("ab")}}, "null", `"ab"`, false},
		{cdf3.Double, []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Float, Len: 1, Values: bytesOf(float32(math.NaN()))}}, "null", "", true},
	} {
		h := &cdf3.Header{Version: cdf3.Data64, Dims: []cdf3.Dim{{Name: "x", Len: 3}}, Vars: []cdf3.Var{{Name: "v", Type: c.typ, DimIDs: []int{0}, Attrs: c.attrs}}}
		require.NoError(t, h.Layout())
		l, err := plan.NewPlan(t.Context(), h, h.Vars[0].Begin+h.Vars[0].Len, &plan.Spec{Block: 1 << 10, Headers: 1 << 20, Vars: make([]plan.VarSpec, 1)}, plan.Viewed)
		require.NoError(t, err)
		files, err := ZarrMeta(t.Context(), h, l.Plan, 1<<20, nil)
		require.NoError(t, err)
		text := map[string][]byte{}
		for _, f := range files {
			text[f.Name] = f.Data
		}
		omitted, err := OmittedAttrs(t.Context(), h, l.Plan, nil)
		require.NoError(t, err)
		var array, attrs map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text["v/.zarray"], &array))
		require.Equal(t, c.fill, string(array["fill_value"]), "%v %+v", c.typ, c.attrs)
		require.NoError(t, json.Unmarshal(text["v/.zattrs"], &attrs))
		require.Equal(t, c.attr, string(attrs["_FillValue"]), "%v %+v", c.typ, c.attrs)
		require.Equal(t, c.listed, len(omitted) > 0, "%+v", omitted)
	}
}
