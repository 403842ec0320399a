package joined

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// TestDifferences checks that each difference between members is named.
func TestDifferences(t *testing.T) {
	first := spec{n: 2}
	other := func(f func(*cdf3.Builder)) spec { return spec{from: 2, n: 2, change: f} }
	for text, s := range map[string]spec{
		`b.nc: variable "more": expected no variable of this name, as in a.nc, found one`: other(func(b *cdf3.Builder) { b.Var("more", cdf3.Int) }),
		`b.nc: expected no dimension "more", as in a.nc, found one`:                       other(func(b *cdf3.Builder) { b.Dim("more", 2) }),
		`b.nc: variable "time": attribute "units": expected "days since 1850-01-01", found "days since then"`: {
			from: 2, n: 2, units: "days since then"},
		`b.nc: variable "time": 2 hours since 1850-01-01 is no exact number of type double in the units of the first file, days since 1850-01-01`: {
			from: 2, n: 2, units: "hours since 1850-01-01"},
		`b.nc: variable "lat": has no dimension "time": expected the values that it has in a.nc, found others`: {from: 2, n: 2, lat: []float32{-30, 0, 31}},
		`b.nc: variable "time": expected this variable, as in a.nc, found none`:                                {from: 2, n: 2, single: true},
		`b.nc: variable "time": expected numbers as coordinates, found NaN at index 1`:                         {from: 2, times: []float64{2, math.NaN()}},
		`b.nc: variable "time": overlap: 1850-01-02T00:00:00 comes twice, after 1850-01-02T00:00:00 in a.nc`:   {from: 1, n: 2},
		`b.nc: variable "time": out of order or overlapping: 1850-01-01T00:00:00 comes after 1850-01-02T00:00:00 in a.nc`: {
			from: 1, times: []float64{0, 1, 2, 3}},
	} {
		d := &folder{}
		d.put(t, "a.nc", first.build(t))
		d.put(t, "b.nc", s.build(t))
		_, _, err := Build(context.Background(), []string{"a.nc", "b.nc"}, d.opener, nil)
		require.ErrorIs(t, err, ErrDiffers)
		require.ErrorContains(t, err, "joined: "+text)
	}
	d := &folder{}
	d.put(t, "a.nc", first.build(t))
	d.put(t, "b.nc", spec{from: 2, n: 2, version: cdf3.Data64}.build(t))
	_, _, err := Build(context.Background(), []string{"a.nc", "b.nc", "c.nc"}, d.opener, nil)
	require.ErrorContains(t, err, "joined: member c.nc: ")
	require.NotErrorIs(t, err, ErrDiffers)
	_, _, err = Build(context.Background(), []string{"a.nc", "b.nc"}, d.opener, nil)
	require.NoError(t, err) // versions may differ
}

// TestTemplate checks that a first member that cannot be joined is refused.
func TestTemplate(t *testing.T) {
	d := &folder{}
	d.put(t, "a.nc", spec{n: 2}.build(t))
	d.put(t, "fixed.nc", spec{n: 2, fixed: true}.build(t))
	for text, c := range map[string]struct {
		name string
		o    BuildOptions
	}{
		`a.nc: expected a dimension "x", found none`:                                               {"a.nc", BuildOptions{Dim: "x"}},
		`a.nc: variable "q": expected "lat" as the first dimension, found it as another one`:       {"a.nc", BuildOptions{Dim: "lat"}},
		`fixed.nc: expected an unlimited dimension, found none`:                                    {"fixed.nc", BuildOptions{}},
		`a.nc: expected no dimension "time", since it is to be new, found one`:                     {"a.nc", BuildOptions{Dim: "time", New: true}},
		`a.nc: variable "x": expected this variable, which gets dimension "run", found none`:       {"a.nc", BuildOptions{Dim: "run", New: true, Vars: []string{"x"}}},
		`fixed.nc: variable "tas": expected "lon" as the first dimension, found it as another one`: {"fixed.nc", BuildOptions{Dim: "lon"}},
	} {
		_, _, err := Build(context.Background(), []string{c.name}, d.opener, &c.o)
		require.ErrorIs(t, err, ErrDiffers)
		require.ErrorContains(t, err, "joined: "+text)
	}
}

// TestFirst checks what the option First takes from the first file.
func TestFirst(t *testing.T) {
	d := &folder{}
	d.put(t, "a.nc", spec{n: 2}.build(t))
	d.put(t, "b.nc", spec{from: 2, n: 2, lat: []float32{1, 2, 3}}.build(t))
	d.put(t, "c.nc", spec{from: 4, n: 2, units: "hours since then"}.build(t))
	ds := d.join(t, &BuildOptions{First: true}, "a.nc", "b.nc")
	defer ds.Close()
	require.True(t, ds.Description().First)
	_, _, err := Build(context.Background(), []string{"a.nc", "c.nc"}, d.opener, &BuildOptions{First: true})
	require.ErrorContains(t, err, `attribute "units"`)
}

// TestGaps checks the steps of coordinates.
func TestGaps(t *testing.T) {
	months := []float64{15.5, 45, 74.5, 105, 135.5, 166, 196.5, 227.5, 258, 288.5, 319, 349.5}
	for name, c := range map[string]struct {
		times [][]float64
		gaps  []string
	}{
		"days":    {[][]float64{{0, 1, 2}, {3}, {4, 5}}, nil},
		"months":  {[][]float64{months[:5], months[5:]}, nil},
		"years":   {[][]float64{{0, 365}, {730, 1096}}, nil},
		"hours":   {[][]float64{{0, 1. / 24, 2. / 24}, {3. / 24, 4. / 24}}, nil},
		"falling": {[][]float64{{9, 8, 7}, {6, 5}}, nil},
		"one":     {[][]float64{{1}}, nil},
		"a day":   {[][]float64{{0, 1, 2}, {4, 5}}, []string{"b.nc: variable \"time\": gap: 1850-01-05T00:00:00 comes after 1850-01-03T00:00:00 in a.nc, expected a step of 1 day, found 2 days"}},
		"a month of days": {[][]float64{{0, 1, 2}, {32, 33}}, []string{
			"b.nc: variable \"time\": gap: 1850-02-02T00:00:00 comes after 1850-01-03T00:00:00 in a.nc, expected a step of 1 day, found 1 month"}},
		"a month": {[][]float64{append(append([]float64{}, months[:3]...), months[4:6]...), months[6:]}, []string{
			"a.nc: variable \"time\": gap: 1850-05-16T12:00:00 comes after 1850-03-16T12:00:00, expected a step of 1 month, found 2 months"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &folder{}
			var names []string
			for i, times := range c.times {
				location := string(rune('a'+i)) + ".nc"
				d.put(t, location, spec{times: times}.build(t))
				names = append(names, location)
			}
			_, gaps, err := Build(context.Background(), names, d.opener, nil)
			require.NoError(t, err)
			var found []string
			for _, g := range gaps {
				found = append(found, g.Error()[len("joined: "):])
			}
			require.Equal(t, c.gaps, found)
		})
	}
}

// TestIrregular joins axes with more kinds of steps than are told apart. Times out of order and times that
// come twice are errors there, too.
func TestIrregular(t *testing.T) {
	const n = 5000
	times := make([]float64, 2*n) // all steps differ, by 86.4 s
	for i := range times[1:] {
		times[i+1] = times[i] + 1 + float64(i)/1000
	}
	falling := slices.Clone(times)
	slices.Reverse(falling)
	twice := slices.Clone(times[n:])
	twice[n-1] = twice[n-2]
	back := slices.Clone(times[n:])
	back[n-1] = times[n]
	for name, c := range map[string]struct {
		a, b []float64
		want string // "": none
	}{
		"in order":          {times[:n], times[n:], ""},
		"falling":           {falling[:n], falling[n:], ""},
		"files swapped":     {times[n:], times[:n], "b.nc: variable \"time\": out of order or overlapping: 1850-01-01T00:00:00 comes after "},
		"falling, swapped":  {falling[n:], falling[:n], "b.nc: variable \"time\": out of order or overlapping: "},
		"overlapping files": {times[:n], times[n-1:], "b.nc: variable \"time\": overlap: "},
		"twice in a file":   {times[:n], twice, "b.nc: variable \"time\": overlap: "},
		"back in a file":    {times[:n], back, "b.nc: variable \"time\": out of order or overlapping: "},
	} {
		t.Run(name, func(t *testing.T) {
			d := &folder{}
			d.put(t, "a.nc", spec{times: c.a}.build(t))
			d.put(t, "b.nc", spec{times: c.b}.build(t))
			_, gaps, err := Build(context.Background(), []string{"a.nc", "b.nc"}, d.opener, nil)
			if c.want != "" {
				require.ErrorIs(t, err, ErrDiffers)
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Regexp(t, `^joined: variable "time": \d{4} more steps of different lengths$|^joined: and \d+ more gaps$`, gaps[len(gaps)-1].Error())
		})
	}
}

// TestNames checks which locations a description has.
func TestNames(t *testing.T) {
	d := &folder{}
	d.put(t, "a.nc.cdfz", spec{n: 1}.build(t))
	d.put(t, "b.nc.cdfz", spec{from: 1, n: 1}.build(t))
	d.put(t, "b.nc", spec{from: 7, n: 1}.build(t)) // another file
	d.put(t, "c.nc", spec{from: 2, n: 1}.build(t))
	desc, _, err := Build(context.Background(), []string{"a.nc.cdfz", "b.nc.cdfz", "c.nc"}, d.opener, nil)
	require.NoError(t, err)
	var found []string
	for _, m := range desc.Members {
		found = append(found, m.Location)
		require.Equal(t, m.Location == "c.nc", m.SHA256 == "")
	}
	require.Equal(t, []string{"a.nc", "b.nc.cdfz", "c.nc"}, found)
}

// TestFolder checks what locations stand for.
func TestFolder(t *testing.T) {
	for _, c := range [][3]string{
		{"x/tas.ncml", "a.nc", "x/a.nc"}, {"tas.ncml", "../a.nc", "../a.nc"}, {"x/tas.ncml", "/y/a.nc", "/y/a.nc"},
		{"https://example.org/x/tas.ncml", "../y/a.nc", "https://example.org/y/a.nc"},
		{"https://example.org/x/tas.ncml?key=1", "a.nc", "https://example.org/x/a.nc?key=1"},
		{"https://example.org/tas.ncml", "../../a.nc", "https://example.org/a.nc"},
		{"https://example.org/tas.ncml", "https://EXAMPLE.org/b.nc", "https://EXAMPLE.org/b.nc"},
		{"https://example.org/tas.ncml", "https://example.org/b.nc", "https://example.org/b.nc"},
		{"https://example.org/tas.ncml", "/etc/a.nc", ""}, {"https://example.org/tas.ncml", "http://example.org/a.nc", ""},
		{"s3://bucket/x/tas.ncml", "a.nc", "s3://bucket/x/a.nc"}, {"s3://bucket/x/tas.ncml", "s3://other/a.nc", ""},
		{"tas.ncml", "https://example.org/b.nc", "https://example.org/b.nc"},
	} {
		got, err := Resolve(c[0], c[1])
		if c[2] == "" {
			require.Error(t, err, c)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c[2], got)
	}
	require.Equal(t, "https://example.org/a.nc.cdfz?k=1", withSuffix("https://example.org/a.nc?k=1"))
	require.Equal(t, "s3://bucket/a?b.nc.cdfz", withSuffix("s3://bucket/a?b.nc"))
}

// TestSecrets checks that errors name URLs without passwords and queries.
func TestSecrets(t *testing.T) {
	const secret = "https://me:word@example.org/b.nc?token=key"
	d := &folder{}
	d.put(t, "a.nc", spec{n: 2}.build(t))
	d.put(t, secret, spec{n: 2}.build(t))
	for _, names := range [][]string{{"a.nc", secret}, {secret, "a.nc"}, {"a.nc", secret + "2"}} {
		_, _, err := Build(context.Background(), names, d.opener, nil)
		require.ErrorContains(t, err, "https://example.org/b.nc")
		require.NotContains(t, err.Error(), "word")
	}
}

// TestConvert checks times in other units: parts of values, other types, and values that stay.
func TestConvert(t *testing.T) {
	days, err := cf.ParseUnits("days since 2000-01-02", "")
	require.NoError(t, err)
	hours, err := cf.ParseUnits("hours since 2000-01-01 12:00", "")
	require.NoError(t, err)
	for _, c := range []struct {
		typ  cdf3.Type
		x, y float64 // y is NaN for an error
	}{
		{cdf3.Double, 12, 0}, {cdf3.Double, 6, -0.25}, {cdf3.Float, 36, 1}, {cdf3.Int, 36, 1}, {cdf3.Short, 12, 0}, {cdf3.Int64, -12, -1}, {cdf3.Byte, -12, -1}, {cdf3.UInt, 60, 2},
		{cdf3.Double, 13, math.NaN()}, {cdf3.Int, 18, math.NaN()}, {cdf3.UInt, 0, math.NaN()}, {cdf3.Float, 0.1, math.NaN()},
		{cdf3.Double, -999, -999},
	} {
		b := make([]byte, c.typ.Size())
		put(c.typ, b, c.x)
		conv := &conversion{from: hours, to: days, missing: []float64{-999}}
		if err := conv.convert(c.typ, b); math.IsNaN(c.y) {
			require.ErrorIs(t, err, ErrDiffers, "%v", c)
			continue
		} else {
			require.NoError(t, err, "%v", c)
		}
		require.Equal(t, c.y, number(c.typ, b), "%v", c)
	}
	d := &folder{}
	d.put(t, "a.nc", spec{n: 2}.build(t))
	d.put(t, "b.nc", spec{times: []float64{48, 72}, units: "hours since 1850-01-01"}.build(t))
	ds := d.join(t, nil, "a.nc", "b.nc")
	defer ds.Close()
	require.True(t, ds.Description().Convert)
	v := ds.File().Array(0)
	for i := range ds.File().Header().Vars {
		if ds.File().Header().Vars[i].Name == "time" {
			v = ds.File().Array(i)
		}
	}
	all := make([]byte, 32)
	_, err = v.Values().ReadAt(all, 0)
	require.NoError(t, err)
	for off := range int64(32) {
		part := make([]byte, min(5, 32-off))
		_, err := v.Values().ReadAt(part, off)
		require.NoError(t, err)
		require.Equal(t, all[off:off+int64(len(part))], part)
	}
	x, err := slab.Read[float64](t.Context(), v, slab.Sel{Start: []int64{3}, Count: []int64{4}, Stride: []int64{-1}})
	require.NoError(t, err)
	require.Equal(t, []float64{3, 2, 1, 0}, x)
	// A description that does not allow other units
	desc := *ds.Description()
	desc.Convert = false
	_, _, err = desc.Verify(t.Context(), d.opener, nil, nil)
	require.ErrorContains(t, err, "lacks timeUnitsChange")
	again, err := readText(ncmlText(t, ds.Description()))
	require.NoError(t, err)
	require.True(t, again.Convert)
}

// TestSkipMissing leaves out records without a coordinate, in files with and without blocks, and compares all
// ways of reading.
func TestSkipMissing(t *testing.T) {
	nan := math.NaN()
	d := &folder{}
	d.put(t, "a.nc", spec{times: []float64{nan, 0, 1, 1e20, 2}}.build(t))
	d.put(t, "b.nc", spec{times: []float64{3, nan, nan, 4, 5}}.build(t))
	d.put(t, "c.nc", spec{times: []float64{nan, nan}}.build(t))
	d.put(t, "d.nc", spec{times: []float64{6, 7}}.build(t))
	names := []string{"a.nc", "b.nc", "c.nc", "d.nc"}
	_, _, err := Build(t.Context(), names, d.opener, nil)
	require.ErrorContains(t, err, "found NaN at index 0")
	desc, notes, err := Build(t.Context(), names, d.opener, &BuildOptions{SkipMissing: true})
	require.NoError(t, err)
	require.Len(t, notes, 3)
	require.EqualError(t, notes[0], `joined: a.nc: variable "time": leaves out 2 of 5 indices, whose coordinate is missing`)
	var got [][2]int64
	for _, m := range desc.Members {
		got = append(got, [2]int64{m.Start, m.Len})
	}
	require.Equal(t, [][2]int64{{1, 2}, {4, 1}, {0, 1}, {3, 2}, {0, 0}, {0, 2}}, got)
	require.False(t, desc.Members[5].Part)
	desc, err = readText(ncmlText(t, desc))
	require.NoError(t, err)
	sampled, _, err := desc.Verify(t.Context(), d.opener, nil, nil)
	require.NoError(t, err)
	require.Positive(t, sampled)

	ds, err := Open(t.Context(), desc, d.opener, nil)
	require.NoError(t, err)
	defer ds.Close()
	place := []struct {
		name string
		at   int64
	}{{"a.nc", 1}, {"a.nc", 2}, {"a.nc", 4}, {"b.nc", 0}, {"b.nc", 3}, {"b.nc", 4}, {"d.nc", 0}, {"d.nc", 1}}
	rng := rand.New(rand.NewPCG(3, 0))
	for v := range ds.File().Header().Vars {
		if !ds.Joins(v) {
			continue
		}
		a := ds.File().Array(v)
		require.EqualValues(t, 8, a.Shape()[0])
		var want []byte
		for _, p := range place {
			f, _, err := d.opener(t.Context(), p.name, nil)
			require.NoError(t, err)
			row := f.Header().Vars[v].Len / f.Header().Vars[v].Shape[0]
			b := make([]byte, row)
			_, err = f.Array(v).Values().ReadAt(b, row*p.at)
			require.NoError(t, err)
			want = append(want, b...)
		}
		all := make([]byte, len(want))
		_, err := a.Values().ReadAt(all, 0)
		require.NoError(t, err)
		require.Equal(t, want, all)
		whole, err := slab.New(a.Type(), a.Shape(), bytes.NewReader(want))
		require.NoError(t, err)
		for range 200 {
			s := randomSel(rng, a.Shape())
			require.Equal(t, doubles(t, whole, s), doubles(t, a, s))
		}
	}
	// A file that has become shorter, and a part where none can be
	d.put(t, "b.nc", spec{times: []float64{3, nan, nan, 4}}.build(t))
	_, _, err = desc.Verify(t.Context(), d.opener, nil, nil)
	require.ErrorIs(t, err, ErrDiffers)
	_, err = readText(strings.Replace(ncmlText(t, desc), ` ncoords="2" cdfz:start="1"`, ` cdfz:start="1"`, 1))
	require.ErrorContains(t, err, "expected a first index and a number of indices for a part of a file")
}
