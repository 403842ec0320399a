package cf

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzPacking checks that attributes of any type and length are either refused or
// usable for unpacking.
func FuzzPacking(f *testing.F) {
	s := seeds.Of(f)
	one := []byte{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}
	s.Add("scale", uint8(cdf3.Short), "scale_factor", uint8(cdf3.Double), one, []byte{0, 1, 0, 2}, false)
	s.Add("two-scales", uint8(cdf3.Short), "scale_factor", uint8(cdf3.Double), append(one, one...), []byte{0, 1, 0, 2}, false)
	s.Add("fill", uint8(cdf3.UInt64), "_FillValue", uint8(cdf3.UInt64), one, one, true)
	s.Add("missing", uint8(cdf3.Float), "missing_value", uint8(cdf3.Byte), []byte{1, 2, 3}, one, false)
	s.Add("unsigned", uint8(cdf3.Byte), "_Unsigned", uint8(cdf3.Char), []byte("true"), one, false)
	s.Add("empty", uint8(cdf3.Byte), "add_offset", uint8(cdf3.Int), []byte{}, one, false)
	f.Fuzz(func(t *testing.T, kind uint8, name string, attrKind uint8, attrBytes, values []byte, unsigned bool) {
		typ, attrType := cdf3.Type(kind), cdf3.Type(attrKind)
		if !typ.Valid() || !attrType.Valid() || typ == cdf3.Char {
			return
		}
		n := int64(len(attrBytes)) / attrType.Size()
		values = values[:int64(len(values))/typ.Size()*typ.Size()]
		v := &cdf3.Var{Name: "v", Type: typ, Attrs: []cdf3.Attr{{Name: name, Type: attrType, Len: n, Values: attrBytes[:n*attrType.Size()]}}}
		if unsigned {
			v.Attrs = append(v.Attrs, cdf3.Attr{Name: "_Unsigned", Type: cdf3.Char, Len: 4, Values: []byte("true")})
		}
		p, err := NewPacking(v)
		if err != nil {
			require.ErrorContains(t, err, "expected one number")
		}
		read := func(b []byte) []float64 {
			a, err := slab.New(typ, []int64{int64(len(b)) / typ.Size()}, bytes.NewReader(b))
			require.NoError(t, err)
			out, err := Read[float64](t.Context(), a, slab.Sel{}, p)
			require.NoError(t, err)
			return out
		}
		read(values)
		if name == "_FillValue" && attrType == typ && n > 0 {
			require.True(t, math.IsNaN(read(attrBytes[:typ.Size()])[0]))
		}
	})
}

// FuzzUnits checks that units of any text are refused, or convert numbers to dates of
// the calendar and back.
func FuzzUnits(f *testing.F) {
	s := seeds.Of(f)
	for name, c := range map[string][2]string{
		"days": {"days since 1850-01-01", "noleap"}, "zone": {"hours since 2000-1-1 12:30:15.25 -05:30", "standard"}, "iso": {"seconds since 1970-01-01T00:00:00Z", "julian"},
		"months": {"months since 2000-01-01", "360_day"}, "unknown": {"days since then", "lunar"}, "far": {"weeks since 100000-12-31", "all_leap"}, "empty": {"", ""},
		"gap": {"days since 1582-10-10", "gregorian"}, "negative": {"d since -0001-01-01", "proleptic_gregorian"},
	} {
		s.Add(name, c[0], c[1], 12345.678)
	}
	f.Fuzz(func(t *testing.T, units, calendar string, x float64) {
		u, err := ParseUnits(units, calendar)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		at, ok := u.Time(x)
		if !ok {
			return
		}
		d := u.Calendar.Date(at)
		require.True(t, d.Day >= 1 && d.Day <= u.Calendar.monthDays(d.Year, d.Month), "%s", d)
		if d.Year < -maxYear || d.Year > maxYear {
			return
		}
		again, err := u.Calendar.Time(d)
		require.NoError(t, err)
		require.Equal(t, at, again)
		if d.Year >= 1000 && d.Year < 10000 {
			p, err := u.Calendar.ParsePeriod(d.String())
			require.NoError(t, err)
			require.Equal(t, at, p.Start)
		}
	})
}

// FuzzPeriod checks that dates of any text are refused or cover some time.
func FuzzPeriod(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"year": "2001", "month": "2001-02", "day": "2001-02-30", "minute": "2001-05-16T12:30Z", "fraction": "2001-05-16 12:30:15.5", "empty": "", "far": "100000-12-31T23:59:59.999999"} {
		s.Add(name, text, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, calendar uint8) {
		c := Calendar(calendar) % Calendar(len(calendarNames))
		p, err := c.ParsePeriod(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.Less(t, p.Start, p.End, "%s %q", c, text)
	})
}
