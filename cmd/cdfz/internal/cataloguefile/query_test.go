package cataloguefile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBox(t *testing.T) {
	for _, c := range []struct {
		box      string
		row      [4]float64 // west, south, east, north
		circle   bool
		expected bool
	}{
		{"-10,35,30,60", [4]float64{0, -90, 357.5, 90}, true, true},
		{"-10,35,-5,60", [4]float64{0, -90, 340, 90}, false, false},
		{"-10,35,-5,60", [4]float64{0, -90, 350, 90}, false, true},
		{"-10,35,-5,60", [4]float64{-5, -90, 0, 90}, false, true},
		{"-10,35,-5,60", [4]float64{-4.9, -90, 0, 90}, false, false},
		{"350,35,355,60", [4]float64{-8, 0, -7, 90}, false, true},
		{"350,35,355,60", [4]float64{-8, 61, -7, 90}, false, false},
		{"350,35,355,60", [4]float64{-8, 0, -7, 34}, false, false},
		{"170,-10,-170,10", [4]float64{-175, 0, -174, 0}, false, true},
		{"170,-10,-170,10", [4]float64{185, 0, 186, 0}, false, true},
		{"170,-10,-170,10", [4]float64{175, 0, 190, 0}, false, true},
		{"170,-10,-170,10", [4]float64{0, 0, 20, 0}, false, false},
		{"170,-10,190,10", [4]float64{-171, 0, 20, 0}, false, true},
		{"-180,-90,180,90", [4]float64{300, 0, 301, 0}, false, true},
		{"0,-90,360,90", [4]float64{-20, 0, -10, 0}, false, true},
		{"10,0,20,10", [4]float64{370, 0, 371, 1}, false, true},
		{"10,0,20,10", [4]float64{-351, 0, -349.5, 1}, false, true},
		{"10,0,20,10", [4]float64{21, 0, 369, 1}, false, false},
		{"10,0,20,10", [4]float64{21, 0, 370, 1}, false, true},
		{"10,0,10,0", [4]float64{10, 0, 10, 0}, false, true},
	} {
		b, err := ParseBox(c.box)
		require.NoError(t, err)
		r := &Row{LonMin: &c.row[0], LatMin: &c.row[1], LonMax: &c.row[2], LatMax: &c.row[3], LonCircle: c.circle}
		require.Equal(t, c.expected, b.meets(r), "%s %v", c.box, c.row)
		require.False(t, b.meets(&Row{LonMin: &c.row[0], LonMax: &c.row[2]}))
		require.False(t, b.meets(&Row{LatMin: &c.row[1], LatMax: &c.row[3]}))
	}
	for bad, want := range map[string]string{
		"1,2,3": "expected W,S,E,N", "1,2,3,x": `found "x"`, "1,2,3,NaN": `found "NaN"`, "1,10,3,9": "S north of N", "400,0,1,1": "from -360 to 360, found 400", "0,-91,1,1": "from -90 to 90",
	} {
		_, err := ParseBox(bad)
		require.ErrorContains(t, err, want)
	}
}

func TestTimes(t *testing.T) {
	row := func(start, end string) *Row { return &Row{TimeStart: start, TimeEnd: end} }
	monthly := row("1987-02-01T00:00:00", "1988-02-30T12:00:00.500000")
	for s, want := range map[string]bool{
		"1987": true, "1986": false, "1989": false, "1988": true, "1988-02": true, "1988-03": false, "1987-01": false, "1988-02-30": true, "1988-02-30T12:00:00.5": true,
		"1988-02-30T12:00:01": false, "1988-02-30T13": false, "1988-02-30T12": true, "1987-01..1987-02": true, "1986..": true, "..1986": false, "..1987-02-01": true,
		"1987-03..1987-03": true, "1988-02-30..": true, "1989..": false, "..1987-01-31T23:59:59": false, "-0100..3000": true, "1900..1987-01": false,
	} {
		times, err := ParseTimes(s)
		require.NoError(t, err, s)
		require.Equal(t, want, times.meets(monthly), s)
		require.False(t, times.meets(new(Row)))
	}
	before, err := ParseTimes("-0005..-0004")
	require.NoError(t, err)
	require.True(t, before.meets(row("-0004-12-01T00:00:00", "0003-01-01T00:00:00")))
	require.False(t, before.meets(row("-0003-12-01T00:00:00", "0003-01-01T00:00:00")))
	for bad, want := range map[string]string{
		"": "expected a date", "..": "expected FROM..TO", "1988..1987": "found 1988 after 1987", "1987-13": "there is no date", "1987-02-32": "there is no date", "87": "expected a date",
		"1987-02-01T24": "there is no date", "1987..1988..1989": "expected a date",
	} {
		_, err := ParseTimes(bad)
		require.ErrorContains(t, err, want, bad)
	}
}

func TestQuery(t *testing.T) {
	r := &Row{
		Variable: "tas", StandardName: "air_temperature", Attributes: `{"units":"m s-1/K","missing_value":1e+20,"range":[1,2],"odd":["NaN",1],"nan":"NaN"}`,
		FileAttributes: `{"title":"a/b*c","units":"none","version":2}`,
	}
	attr := func(s string) Query {
		a, err := ParseAttribute(s)
		require.NoError(t, err, s)
		return Query{Attributes: []Attribute{a}}
	}
	for i, c := range []struct {
		q    Query
		want bool
	}{
		{Query{}, true},
		{Query{Variables: []string{"tas"}}, true},
		{Query{Variables: []string{"ta"}}, false},
		{Query{Variables: []string{"x", "t?s"}}, true},
		{Query{Variables: []string{"[a-s]*"}}, false},
		{Query{StandardNames: []string{"air_*"}}, true},
		{Query{StandardNames: []string{"sea_*"}}, false},
		{Query{Variables: []string{"tas"}, StandardNames: []string{"sea_*"}}, false},
		{attr("units=m s-1/K"), true},
		{attr("units=m*K"), true},
		{attr("units=none"), false},
		{attr("title=a/b*c"), true},
		{attr("title=*"), true},
		{attr("nothing=*"), false},
		{attr("missing_value=1e20"), true},
		{attr("missing_value=100000000000000000000"), true},
		{attr("missing_value=1e21"), false},
		{attr("missing_value=*"), false},
		{attr("range=1"), false},
		{attr("odd=1"), false},
		{attr("nan=NaN"), true},
		{attr("version=2.0"), true},
		{attr("version=two"), false},
	} {
		require.Equal(t, c.want, c.q.Matches(r), "%d: %+v", i, c.q)
	}
	for _, bad := range []string{"x", "=x"} {
		_, err := ParseAttribute(bad)
		require.ErrorContains(t, err, "expected NAME=VALUE")
	}
	require.Error(t, CheckPattern("[a"))
	require.NoError(t, CheckPattern("[a]"))
}
