package formats

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// memSource is a file with its variables in memory.
type memSource struct {
	h      *cdf3.Header
	values [][]byte
}

func (s memSource) Header() *cdf3.Header { return s.h }
func (s memSource) Array(v int) slab.Array {
	w := &s.h.Vars[v]
	return array(w, bytes.NewReader(s.values[v]))
}

// rampSource is a file with the values 0, 1, 2, …
type rampSource struct{ h *cdf3.Header }

func (s rampSource) Header() *cdf3.Header { return s.h }
func (s rampSource) Array(v int) slab.Array {
	w := &s.h.Vars[v]
	return array(w, ramp{})
}

func array(v *cdf3.Var, r io.ReaderAt) slab.Array {
	a, err := slab.New(v.Type, v.Shape, r)
	if err != nil {
		panic(err)
	}
	return a
}

type ramp struct{}

func (ramp) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		at := off + int64(i)
		p[i] = byte(at / 4 >> (8 * (3 - at%4)))
	}
	return len(p), nil
}

func textAttr(name, text string) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(text)), Values: []byte(text)}
}

// onAxis returns a file with a variable v of one dimension x with the given
// coordinates.
func onAxis(typ cdf3.Type, x []float64, attrs ...cdf3.Attr) memSource {
	n := int64(len(x))
	var b []byte
	for _, x := range x {
		switch typ {
		case cdf3.Float:
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(x)))
		case cdf3.Short:
			b = binary.BigEndian.AppendUint16(b, uint16(int16(x)))
		default:
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	return memSource{&cdf3.Header{
		Dims: []cdf3.Dim{{Name: "x", Len: n}, {Name: "none", Len: 2}, {Name: "text", Len: 2}},
		Vars: []cdf3.Var{
			{Name: "v", Type: cdf3.Byte, DimIDs: []int{0, 1, 2}, Shape: []int64{n, 2, 2}},
			{Name: "x", Type: typ, DimIDs: []int{0}, Shape: []int64{n}, Attrs: attrs},
			{Name: "text", Type: cdf3.Char, DimIDs: []int{2}, Shape: []int64{2}},
		},
	}, [][]byte{make([]byte, 4*n), b, {'a', 'b'}}}
}

var nan = math.NaN()

func TestByNumber(t *testing.T) {
	up := []float64{-10, 0, 10, 20, 30}
	down := []float64{90, 60, 30, 0, -30}
	one := func(i int64) axis { return axis{start: i, count: 1, delta: 1} }
	some := func(start, count, delta int64) axis {
		return axis{start: start, count: count, delta: delta, keep: true}
	}
	for _, c := range []struct {
		x    []float64
		text string
		want axis
	}{
		{up, "x=0", one(1)}, {up, "x=4", one(1)}, {up, "x=6", one(2)}, {up, "x=5", one(2)}, {up, "x=35", one(4)}, {up, "x=-11.5", one(0)}, {up, " x = .5 ", one(1)},
		{down, "x=45", one(1)}, {down, "x=44", one(2)}, {down, "x=100", one(0)},
		{up, "x=0:20", some(1, 3, 1)}, {up, "x=20:0", some(1, 3, 1)}, {up, "x=-1:21:2", some(1, 2, 2)}, {up, "x=:", some(0, 5, 1)}, {up, "x=5:", some(2, 3, 1)},
		{up, "x=:5", some(0, 2, 1)}, {up, "x=1:2", some(0, 0, 1)}, {up, "x=29:31", some(4, 1, 1)}, {down, "x=0:60", some(1, 3, 1)}, {down, "x=60:0", some(1, 3, 1)},
		{[]float64{nan, 1, 2, nan}, "x=1:9", some(1, 2, 1)}, {[]float64{nan, 1, 1, nan}, "x=1", one(1)}, {[]float64{3, 1, 2}, "x=1.9", one(2)},
	} {
		s, err := ParseSelection("v[" + c.text + "]")
		require.NoError(t, err, c.text)
		for _, typ := range []cdf3.Type{cdf3.Double, cdf3.Float} {
			f := onAxis(typ, c.x)
			a, err := s.resolve(t.Context(), f, &f.h.Vars[0], false)
			require.NoError(t, err, c.text)
			require.Equal(t, c.want, a.axes[0], "%v: %s", c.x, c.text)
		}
	}
	// A float coordinate is compared with the number rounded to float.
	f := onAxis(cdf3.Float, []float64{40.1, 40.2, 40.3})
	s, err := ParseSelection("v[x=40.1:40.2]")
	require.NoError(t, err)
	a, err := s.resolve(t.Context(), f, &f.h.Vars[0], false)
	require.NoError(t, err)
	require.Equal(t, some(0, 2, 1), a.axes[0])
	// Packed coordinates are unpacked.
	f = onAxis(cdf3.Short, []float64{100, 200, 300}, cdf3.Attr{Name: "scale_factor", Type: cdf3.Double, Len: 1, Values: binary.BigEndian.AppendUint64(nil, math.Float64bits(0.1))})
	s, err = ParseSelection("v[x=19]")
	require.NoError(t, err)
	a, err = s.resolve(t.Context(), f, &f.h.Vars[0], false)
	require.NoError(t, err)
	require.Equal(t, one(1), a.axes[0])
}

func TestByTime(t *testing.T) {
	days := textAttr("units", "days since 2001-01-01")
	x := []float64{0, 31, 59, 90, 120, 150.5, 181, 365, 366}
	one := func(i int64) axis { return axis{start: i, count: 1, delta: 1} }
	some := func(start, count, delta int64) axis {
		return axis{start: start, count: count, delta: delta, keep: true}
	}
	for text, want := range map[string]axis{
		"x=2001": some(0, 7, 1), "x=2002": some(7, 2, 1), "x=2001-05": some(4, 2, 1), "x=2001-05-01": some(4, 1, 1), "x=2001-05-31": some(5, 1, 1),
		"x=2001-05-31T06": one(5), "x=2001-05-20T00:00Z": one(5), "x=2000-12-20T00:00:00": one(0), "x=31.2": one(1), "x=2001-11": some(0, 0, 1),
		"x=2001-02:2001-04": some(1, 3, 1), "x=2001-04:2001-02": some(1, 3, 1), "x=2001-05-31T12:00:2001-07": some(5, 2, 1), "x=2001-12:": some(7, 2, 1),
		"x=:2001-02-01": some(0, 2, 1), "x=2001:2002:3": some(0, 3, 3), "x=30:60": some(1, 2, 1), "x=2001-09:2001-11": some(0, 0, 1),
	} {
		s, err := ParseSelection("v[" + text + "]")
		require.NoError(t, err, text)
		f := onAxis(cdf3.Double, x, days)
		a, err := s.resolve(t.Context(), f, &f.h.Vars[0], false)
		if text == "x=2001-11" {
			require.EqualError(t, err, "v[x=2001-11]: x has no time in 2001-11; add a time of day for the nearest one, as in 2001-11-01T00")
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, a.axes[0], text)
	}
}

func TestByValueErrors(t *testing.T) {
	for text, want := range map[string]string{
		"y=1":          `expected a dimension of v before =, found y; it has 3 dimensions, x, none, text`,
		"x=1, x=2":     `expected dimension x once, found it twice`,
		"0, x=1":       `dimension x has an index and a value`,
		"none=1":       `dimension none has no coordinate variable; select it by index`,
		"text=1":       `coordinate variable text holds text; select dimension text by index`,
		"x=2001-05":    `expected a number for x, found 2001-05`,
		"x=1:2":        `the values of x in this range are not consecutive: indices 0 and 2; select it by index`,
		"x=3, 0,0,0,0": `found 4 indices, and v has 3 dimensions, x, none, text`,
	} {
		s, err := ParseSelection("v[" + text + "]")
		require.NoError(t, err, text)
		f := onAxis(cdf3.Double, []float64{1, 5, 2})
		_, err = s.resolve(t.Context(), f, &f.h.Vars[0], false)
		require.EqualError(t, err, "v["+text+"]: "+want)
	}
	f := onAxis(cdf3.Double, []float64{nan})
	s, err := ParseSelection("v[x=1]")
	require.NoError(t, err)
	_, err = s.resolve(t.Context(), f, &f.h.Vars[0], false)
	require.EqualError(t, err, "v[x=1]: coordinate variable x has no value near 1")
	for text, want := range map[string]string{
		"x=":             `expected a number, a date such as 2001-05, or a range FROM:TO of them, found "", at character 5`,
		"x=a":            `expected a number, a date such as 2001-05, or a range FROM:TO of them, found "a", at character 5`,
		"x=1:2:0":        `expected a step of at least 1, found 0, at character 5`,
		"x=1:2:3:4":      `expected a number, a date such as 2001-05, or a range FROM:TO of them, found "1:2:3:4", at character 5`,
		"x=nan":          `expected a number, a date such as 2001-05, or a range FROM:TO of them, found "nan", at character 5`,
		"x=2001-5-1T1:2": `expected a number, a date such as 2001-05, or a range FROM:TO of them, found "2001-5-1T1:2", at character 5`,
	} {
		_, err := ParseSelection("v[" + text + "]")
		if text == "x=2001-5-1T1:2" {
			require.NoError(t, err) // a range up to the number 2
			continue
		}
		require.EqualError(t, err, "v["+text+"]: "+want)
	}
}

// selected resolves a selection of the axis x.
func selected(t *testing.T, f memSource, text string, nearest bool) (resolved, error) {
	t.Helper()
	s, err := ParseSelection("v[" + text + "]")
	require.NoError(t, err, text)
	return s.resolve(t.Context(), f, &f.h.Vars[0], nearest)
}

// TestOutside selects beyond the ends of axes. Half a cell beyond them belongs to the axis.
func TestOutside(t *testing.T) {
	up := []float64{-10, 0, 10, 30}
	down := []float64{90, 30, 0, -10, -30}
	mixed := []float64{3, 1, 2, 2, 1}
	days := textAttr("units", "days since 2001-01-01")
	for _, c := range []struct {
		x     []float64
		attrs []cdf3.Attr
		text  string
		index int64 // of the nearest
		want  string
	}{
		{up, nil, "x=-15", 0, ""}, {up, nil, "x=-15.1", 0, "from -10 to 30"}, {up, nil, "x=40", 3, ""}, {up, nil, "x=40.1", 3, "from -10 to 30"}, {up, nil, "x=-1e9", 0, "from -10 to 30"},
		{up, nil, "x=19", 2, ""}, {down, nil, "x=120", 0, ""}, {down, nil, "x=121", 0, "from -30 to 90"}, {down, nil, "x=-40", 4, ""}, {down, nil, "x=-41", 4, "from -30 to 90"},
		{mixed, nil, "x=3.5", 0, ""}, {mixed, nil, "x=3.6", 0, "from 1 to 3"}, {mixed, nil, "x=0.5", 1, ""}, {mixed, nil, "x=0.4", 1, "from 1 to 3"},
		{[]float64{2}, nil, "x=2", 0, ""}, {[]float64{2}, nil, "x=2.1", 0, "has only 2"}, {[]float64{nan, 2, 2, nan}, nil, "x=1.9", 1, "has only 2"},
		{[]float64{0, 31, 59}, []cdf3.Attr{days}, "x=2001-03-14T00", 2, ""}, {[]float64{0, 31, 59}, []cdf3.Attr{days}, "x=2001-03-16T00", 2, "from 2001-01-01T00:00:00 to 2001-03-01T00:00:00"},
		{[]float64{0, 31, 59}, []cdf3.Attr{days}, "x=1900-01-01T00", 0, "from 2001-01-01T00:00:00 to 2001-03-01T00:00:00"}, {[]float64{0, 31, 59}, []cdf3.Attr{days}, "x=-15", 0, ""},
		{[]float64{0, 31, 59}, []cdf3.Attr{days}, "x=-16", 0, "from 2001-01-01"},
	} {
		f := onAxis(cdf3.Double, c.x, c.attrs...)
		r, err := selected(t, f, c.text, true)
		require.NoError(t, err, c.text)
		require.Equal(t, axis{start: c.index, count: 1, delta: 1}, r.axes[0], "%v %s", c.x, c.text)
		r, err = selected(t, f, c.text, false)
		if c.want != "" {
			require.ErrorContains(t, err, "lies outside of the axis, which ", c.text)
			require.ErrorContains(t, err, c.want, c.text)
			continue
		}
		require.NoError(t, err, "%v %s", c.x, c.text)
		require.Equal(t, c.index, r.axes[0].start, "%v %s", c.x, c.text)
	}
	for _, c := range []struct{ text, err, cut string }{
		{"x=50:60", "v[x=50:60]: x=50:60 lies outside of the axis, which goes from -10 to 30", ""},
		{"x=:-16", "v[x=:-16]: x=:-16 lies outside of the axis, which goes from -10 to 30", ""},
		{"x=41:", "v[x=41:]: x=41: lies outside of the axis, which goes from -10 to 30", ""},
		{"x=31:39", "", ""}, {"x=11:12", "", ""}, {"x=-15:40", "", ""}, {"x=:", "", ""}, {"x=0:", "", ""}, {"x=:9", "", ""},
		{"x=-16:0", "", "is cut to the axis: x goes from -10 to 30"}, {"x=0:41", "", "is cut to the axis: x goes from -10 to 30"},
		{"x=41:0", "", "is cut to the axis: x goes from -10 to 30"},
	} {
		f := onAxis(cdf3.Double, up)
		r, err := selected(t, f, c.text, true)
		require.NoError(t, err)
		if c.err != "" {
			require.Zero(t, r.axes[0].count)
			_, err = selected(t, f, c.text, false)
			require.EqualError(t, err, c.err)
			continue
		}
		r, err = selected(t, f, c.text, false)
		require.NoError(t, err, c.text)
		if c.cut == "" {
			require.Empty(t, r.cuts, c.text)
		} else {
			require.Equal(t, []string{c.cut}, r.cuts)
		}
	}
	_, err := selected(t, onAxis(cdf3.Double, []float64{0, 31, 59}, days), "x=2020", false)
	require.EqualError(t, err, "v[x=2020]: x=2020 lies outside of the axis, which goes from 2001-01-01T00:00:00 to 2001-03-01T00:00:00")
}

// TestCells checks which cell is named, and when a note is needed.
func TestCells(t *testing.T) {
	days := textAttr("units", "days since 2001-01-01")
	for _, c := range []struct {
		typ   cdf3.Type
		x     []float64
		attrs []cdf3.Attr
		text  string
		want  Cell
		note  string
	}{
		{cdf3.Double, []float64{0, 2.5}, nil, "x=2", Cell{Dim: "x", Asked: "2", Index: 1, Value: "2.5"}, "x=2.5 (index 1)"},
		{cdf3.Double, []float64{0, 2.5}, nil, "x=2.50", Cell{Dim: "x", Asked: "2.50", Index: 1, Value: "2.5", Same: true}, ""},
		{cdf3.Float, []float64{0, 0.1}, nil, "x=.1", Cell{Dim: "x", Asked: ".1", Index: 1, Value: "0.1", Same: true}, ""},
		{cdf3.Double, []float64{0, math.Nextafter(0.3, 1)}, nil, "x=.3", Cell{Dim: "x", Asked: ".3", Index: 1, Value: "0.30000000000000004", Same: true}, ""},
		{cdf3.Double, []float64{0, 1e-12}, nil, "x=2e-12", Cell{Dim: "x", Asked: "2e-12", Index: 1, Value: "1e-12"}, ""},
		{cdf3.Double, []float64{0, 31}, []cdf3.Attr{days}, "x=2001-02-01T06", Cell{Dim: "x", Asked: "2001-02-01T06", Index: 1, Value: "31", Time: "2001-02-01T00:00:00"},
			"x=2001-02-01T00:00:00 (index 1)"},
		{cdf3.Double, []float64{0, 31.5}, []cdf3.Attr{days}, "x=2001-02-01T12:00", Cell{Dim: "x", Asked: "2001-02-01T12:00", Index: 1, Value: "31.5", Time: "2001-02-01T12:00:00", Same: true}, ""},
		{cdf3.Double, []float64{5, 355}, []cdf3.Attr{textAttr("units", "degrees_east")}, "x=-5", Cell{Dim: "x", Asked: "-5", Index: 1, Value: "355"}, "x=355 (index 1)"},
	} {
		r, err := selected(t, onAxis(c.typ, c.x, c.attrs...), c.text, true)
		require.NoError(t, err)
		require.Equal(t, []Cell{c.want}, r.cells, c.text)
		if c.note != "" {
			require.Equal(t, c.note, r.cells[0].String())
		}
	}
	r, err := selected(t, onAxis(cdf3.Double, []float64{0, 1}), "x=0:1", false)
	require.NoError(t, err)
	require.Empty(t, r.cells)
}

// TestLongitude selects on axes of longitudes, whose values are the same places 360 apart.
func TestLongitude(t *testing.T) {
	steps := func(from, step float64, n int) (x []float64) {
		for i := range n {
			x = append(x, from+float64(i)*step)
		}
		return x
	}
	axes := map[string][]float64{
		"half": steps(0.5, 1, 360), "whole": steps(0, 2, 180), "west": steps(-180, 10, 36), "both": steps(0, 10, 37), "region": steps(10, 1, 31), "beyond": steps(340, 5, 9), "down": steps(350, -10, 36), "one": {355},
	}
	for _, c := range []struct {
		axis, text   string
		start, count int64 // count 0: a single value
		err          string
	}{
		{"half", "x=-5", 355, 0, ""}, {"half", "x=355", 355, 0, ""}, {"half", "x=365", 5, 0, ""}, {"half", "x=0", 0, 0, ""}, {"half", "x=360", 0, 0, ""}, {"half", "x=-0.1", 359, 0, ""}, {"half", "x=725.2", 5, 0, ""}, {"half", "x=-725.2", 354, 0, ""},
		{"whole", "x=-5", 178, 0, ""}, {"whole", "x=359", 0, 0, ""}, {"whole", "x=358.9", 179, 0, ""}, {"whole", "x=-2", 179, 0, ""},
		{"west", "x=355", 18, 0, ""}, {"west", "x=180", 0, 0, ""}, {"west", "x=174", 35, 0, ""}, {"both", "x=-5", 0, 0, ""}, {"both", "x=720", 0, 0, ""},
		{"region", "x=370", 0, 0, ""}, {"region", "x=-350", 0, 0, ""}, {"region", "x=40.5", 30, 0, ""}, {"region", "x=41", 0, 0, "x=41 lies outside of the axis, which goes from 10 to 40"}, {"region", "x=9.5", 0, 0, ""}, {"region", "x=-5", 0, 0, "lies outside"},
		{"beyond", "x=5", 5, 0, ""}, {"beyond", "x=-20", 0, 0, ""}, {"beyond", "x=100", 0, 0, "lies outside of the axis, which goes from 340 to 380"}, {"down", "x=-10", 0, 0, ""}, {"one", "x=-5", 0, 0, ""}, {"one", "x=5", 0, 0, "has only 355"},
		{"half", "x=-10:-5", 350, 5, ""}, {"half", "x=350:355", 350, 5, ""}, {"half", "x=-10:10", 0, 0, "x=-10:10 crosses the end of the axis, which goes from 0.5 to 359.5; select x=350.5:359.5 and x=0.5:9.5 separately"},
		{"half", "x=350:370", 0, 0, "select x=350.5:359.5 and x=0.5:9.5 separately"}, {"half", "x=-180:180", 0, 360, ""}, {"half", "x=0:360", 0, 360, ""}, {"half", "x=-1000:1000", 0, 360, ""}, {"half", "x=10:20", 10, 10, ""}, {"half", "x=370:380", 10, 10, ""},
		{"half", "x=350:10", 0, 0, "x=350:10: expected the western end first: x=350:370 eastwards, or x=10:350"}, {"half", "x=350:", 350, 10, ""}, {"half", "x=:10", 0, 10, ""}, {"half", "x=-10:", 0, 360, ""},
		{"west", "x=190:200", 1, 2, ""}, {"west", "x=-10:10", 17, 3, ""}, {"west", "x=170:190", 0, 0, "select x=170:170 and x=-180:-170 separately"}, {"both", "x=-20:-10", 34, 2, ""},
		{"region", "x=360:375", 0, 6, ""}, {"region", "x=50:60", 0, 0, "lies outside"}, {"region", "x=-60:-50", 0, 0, "lies outside"}, {"region", "x=-180:180", 0, 31, ""}, {"beyond", "x=-5:10", 3, 4, ""}, {"down", "x=-30:-10", 0, 3, ""},
	} {
		for name, attrs := range map[string][]cdf3.Attr{
			"units": {textAttr("units", "degree_E")}, "name": {textAttr("standard_name", "longitude")}, "degrees": {textAttr("units", "degrees"), textAttr("standard_name", "longitude")},
		} {
			for _, typ := range []cdf3.Type{cdf3.Double, cdf3.Float} {
				r, err := selected(t, onAxis(typ, axes[c.axis], attrs...), c.text, false)
				if c.err != "" {
					require.ErrorContains(t, err, c.err, "%s %s %s", name, c.axis, c.text)
					continue
				}
				require.NoError(t, err, "%s %s %s", name, c.axis, c.text)
				want := axis{start: c.start, count: c.count, delta: 1, keep: true}
				if c.count == 0 {
					want = axis{start: c.start, count: 1, delta: 1}
				}
				require.Equal(t, want, r.axes[0], "%s %s %s", name, c.axis, c.text)
			}
		}
	}
	// Other axes do not wrap.
	for _, attrs := range [][]cdf3.Attr{nil, {textAttr("units", "degrees")}, {textAttr("units", "degrees_north")}, {textAttr("units", "radians"), textAttr("standard_name", "longitude")}} {
		_, err := selected(t, onAxis(cdf3.Double, axes["half"], attrs...), "x=-5", false)
		require.ErrorContains(t, err, "lies outside of the axis, which goes from 0.5 to 359.5")
		r, err := selected(t, onAxis(cdf3.Double, axes["half"], attrs...), "x=-5", true)
		require.NoError(t, err)
		require.Zero(t, r.axes[0].start)
	}
}
