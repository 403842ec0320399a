package cdl

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// unitsOf returns the units of a variable with these attributes.
func unitsOf(units, calendar string, iso bool) *timeUnits {
	h := &cdf3.Header{Vars: []cdf3.Var{{Name: "t", Type: cdf3.Double, Attrs: []cdf3.Attr{textAttr("units", units), textAttr("calendar", calendar)}}}}
	d := &dumper{h: h, o: &Options{Times: true, ISO: iso}}
	return d.timeUnits(0, true)
}

// TestTimes checks dates that ncdump -t writes.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		units, calendar string
		x               float64
		want            string
	}{
		{"days since 2000-01-01", "", 0, `"2000-01-01"`},
		{"days since 2000-01-01", "noleap", 59.5, `"2000-03-01 12"`},
		{"days since 2000-01-01", "360_day", 59, `"2000-02-30"`},
		{"days since 2001-01-01", "366", 59, `"2001-02-29"`},
		{"days since 1582-10-04", "gregorian", 1, `"1582-10-05"`}, // the same day as the 15th
		{"days since 1582-10-04", "gregorian", 2, `"1582-10-16"`},
		{"days since 1582-10-15", "standard", -1, `"1582-10-04"`},
		{"days since 1582-10-04", "proleptic_gregorian", 1, `"1582-10-05"`},
		{"days since 1582-10-04", "julian", 1, `"1582-10-05"`},
		{"hours since 1900-01-01 00:00:0.0", "gregorian", 1043112.5, `"2018-12-31 00:30"`},
		{"sec since 1981-01-01T00:00:00Z", "", 61.25, `"1981-01-01 00:01:1.250000"`},
		{"min since 1981-01-01T12:30", "", 1, `"1981-01-01 12:31"`},
		{"wk since 2000", "", 1, `"2000-01-08"`},
		{"months since 2000-01-15", "", -2, `"1999-11-01"`},
		{"months since 2000-01-15", "", 0, `"2000-01-15"`},
		{"seasons since 2000-02", "", 1.5, `"2000-06-01"`},
		{"years since 0001-01-01", "", 1999, `"2000-01-01"`},
		{"days since 2001-02-30", "", 0, `"2001-03-02"`},
		{"days since 1990-01-01 25:00", "", 0, `"1990-01-01"`},
		{"days since T12", "", 0, `"1979-01-01"`},
		{"days since 0000-01-01", "noleap", -1, `"-0001-12-31"`},
		{"days since 2000-01-01", "", math.NaN(), `NaN`},
		{"days since 2000-01-01", "", 1e20, `1e+20`},
		{"years since 2000-01-01", "", 1e6, `1000000`},
	} {
		u := unitsOf(c.units, c.calendar, false)
		require.NotNil(t, u, c.units)
		require.Equal(t, c.want, string(u.append(nil, c.x)), c.units)
	}
	require.Equal(t, `"2000-01-01T12"`, string(unitsOf("days since 2000-01-01", "", true).append(nil, 0.5)))
	for _, units := range []string{"", "K", "days", "days since", "decades since 2000-01-01", "days from 2000-01-01", "since 2000", strings.Repeat("d", 64) + " since 2000"} {
		require.Nil(t, unitsOf(units, "", false), units)
	}
	require.Nil(t, unitsOf("days since 2000-01-01", "none", false))
}

// TestTimesInFile checks that values, attributes and bounds are written as dates.
func TestTimesInFile(t *testing.T) {
	double := func(x ...float64) (b []byte) {
		for _, x := range x {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
		}
		return b
	}
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "t", Len: 2}}}
	h.Vars = []cdf3.Var{
		{Name: "t", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{textAttr("units", "days since 2000-01-01"), textAttr("bounds", "b"),
			{Name: "one", Type: cdf3.Double, Len: 1, Values: double(1)}, {Name: "far", Type: cdf3.Double, Len: 2, Values: double(1e20, math.Inf(-1))}, {Name: "three", Type: cdf3.Double, Len: 3, Values: double(1, 2, 3)}}},
		{Name: "b", Type: cdf3.Double, DimIDs: []int{0}},
	}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	image = append(image, double(0, 1.5, 31, 9.969209968386869e36)...)
	f, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, Dump(context.Background(), &out, f, &Options{Name: "x", Times: true}))
	require.Equal(t, `netcdf x {
dimensions:
	t = 2 ;
variables:
	double t(t) ;
		t:units = "days since 2000-01-01" ;
		t:bounds = "b" ;
		t:one = 1. ; // "2000-01-02"
		t:far = 1.e+20, -Infinity ; // "", -Infinity
		t:three = 1., 2., 3. ;
		  // "2000-01-02", "2000-01-03", "2000-01-04"
	double b(t) ;
data:

 t = "2000-01-01", "2000-01-02 12" ;

 b = "2000-02-01", _ ;
}
`, out.String())
}

// TestNcML checks a file with text that needs escapes, is not UTF-8, or has characters that XML does not have.
func TestNcML(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Data64, NumRecsField: 3, Dims: []cdf3.Dim{{Name: "t"}, {Name: "a&b", Len: 2}}}
	h.Attrs = []cdf3.Attr{textAttr("title", "<\"x\">\n\x01\x00"), textAttr("m²", "\xb0C \x85"), textAttr("é", "é\x7f\uffff"), {Name: "n", Type: cdf3.Int64, Len: 2, Values: []byte{127, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 7}}}
	h.Vars = []cdf3.Var{{Name: "v", Type: cdf3.UShort, DimIDs: []int{0, 1}}, {Name: "w", Type: cdf3.Char, Attrs: []cdf3.Attr{{Name: "x", Type: cdf3.Float, Len: 2, Values: []byte{0x3f, 0x80, 0, 0, 0xff, 0x80, 0, 0}}}}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	var out bytes.Buffer
	var warnings []string
	o := &Options{NcML: true, Header: true, Location: "a&b\xe9.nc", Warn: func(text string) { warnings = append(warnings, text) }}
	require.NoError(t, Dump(context.Background(), &out, f, o))
	require.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<netcdf xmlns="https://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2" location="a&amp;bé.nc">
  <dimension name="t" length="3" isUnlimited="true" />
  <dimension name="a&amp;b" length="2" />
  <attribute name="title" value="&lt;&quot;x&quot;&gt;&#xA;�" />
  <attribute name="m²" value="°C `+"\u0085"+`" />
  <attribute name="é" value="é&#127;�" />
  <attribute name="n" type="int64" value="-9223372036854775808 7" />
  <variable name="v" shape="t a&amp;b" type="ushort" />
  <variable name="w" type="char">
    <attribute name="x" type="float" value="1. -inf" />
  </variable>
</netcdf>
`, out.String())
	var any struct{}
	require.NoError(t, xml.Unmarshal(out.Bytes(), &any))
	require.Equal(t, []string{`attribute "title" has characters that XML does not allow: U+FFFD replaces them`, `attribute "é" has characters that XML does not allow: U+FFFD replaces them`}, warnings)
}

// FuzzTimes checks that any units and values are written as a number or a date.
func FuzzTimes(f *testing.F) {
	s := seeds.Of(f)
	for name, c := range map[string][2]string{"days": {"days since 1850-01-01", "noleap"}, "iso": {"seconds since 1970-01-01T00:00:00Z", "julian"}, "months": {"mo since 2000-13-31 23:59:60", "standard"},
		"year": {"years since 99999999999999999999", "360_day"}, "negative": {"s since -1--1--1 -1:-1:-1", "j"}, "empty": {"", ""}} {
		s.Add(name, c[0], c[1], 12345.678)
	}
	f.Fuzz(func(t *testing.T, units, calendar string, x float64) {
		u := unitsOf(units, calendar, true)
		if u == nil {
			return
		}
		text := string(u.append(nil, x))
		require.NotEmpty(t, text)
		require.Equal(t, strings.HasPrefix(text, `"`), strings.HasSuffix(text, `"`))
	})
}
