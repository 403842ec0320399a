package export

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
		{up, "x=0", one(1)}, {up, "x=4", one(1)}, {up, "x=6", one(2)}, {up, "x=5", one(2)}, {up, "x=1e9", one(4)}, {up, "x=-11.5", one(0)}, {up, " x = .5 ", one(1)},
		{down, "x=45", one(1)}, {down, "x=44", one(2)}, {down, "x=100", one(0)},
		{up, "x=0:20", some(1, 3, 1)}, {up, "x=20:0", some(1, 3, 1)}, {up, "x=-1:21:2", some(1, 2, 2)}, {up, "x=:", some(0, 5, 1)}, {up, "x=5:", some(2, 3, 1)},
		{up, "x=:5", some(0, 2, 1)}, {up, "x=1:2", some(0, 0, 1)}, {up, "x=29:31", some(4, 1, 1)}, {down, "x=0:60", some(1, 3, 1)}, {down, "x=60:0", some(1, 3, 1)},
		{[]float64{nan, 1, 2, nan}, "x=1:9", some(1, 2, 1)}, {[]float64{nan, 1, 1, nan}, "x=3", one(1)}, {[]float64{3, 1, 2}, "x=1.9", one(2)},
	} {
		s, err := ParseSelection("v[" + c.text + "]")
		require.NoError(t, err, c.text)
		for _, typ := range []cdf3.Type{cdf3.Double, cdf3.Float} {
			f := onAxis(typ, c.x)
			a, err := s.resolve(t.Context(), f, &f.h.Vars[0])
			require.NoError(t, err, c.text)
			require.Equal(t, c.want, a[0], "%v: %s", c.x, c.text)
		}
	}
	// A float coordinate is compared with the number rounded to float.
	f := onAxis(cdf3.Float, []float64{40.1, 40.2, 40.3})
	s, err := ParseSelection("v[x=40.1:40.2]")
	require.NoError(t, err)
	a, err := s.resolve(t.Context(), f, &f.h.Vars[0])
	require.NoError(t, err)
	require.Equal(t, some(0, 2, 1), a[0])
	// Packed coordinates are unpacked.
	f = onAxis(cdf3.Short, []float64{100, 200, 300}, cdf3.Attr{Name: "scale_factor", Type: cdf3.Double, Len: 1, Values: binary.BigEndian.AppendUint64(nil, math.Float64bits(0.1))})
	s, err = ParseSelection("v[x=19]")
	require.NoError(t, err)
	a, err = s.resolve(t.Context(), f, &f.h.Vars[0])
	require.NoError(t, err)
	require.Equal(t, one(1), a[0])
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
		"x=2001-05-31T06": one(5), "x=2001-05-20T00:00Z": one(5), "x=1900-01-01T00:00:00": one(0), "x=31.2": one(1), "x=0031": some(0, 0, 1),
		"x=2001-02:2001-04": some(1, 3, 1), "x=2001-04:2001-02": some(1, 3, 1), "x=2001-05-31T12:00:2001-07": some(5, 2, 1), "x=2001-12:": some(7, 2, 1),
		"x=:2001-02-01": some(0, 2, 1), "x=2001:2002:3": some(0, 3, 3), "x=30:60": some(1, 2, 1), "x=2003:2004": some(0, 0, 1),
	} {
		s, err := ParseSelection("v[" + text + "]")
		require.NoError(t, err, text)
		f := onAxis(cdf3.Double, x, days)
		a, err := s.resolve(t.Context(), f, &f.h.Vars[0])
		if text == "x=0031" {
			require.EqualError(t, err, "v[x=0031]: x has no time in 0031; add a time of day for the nearest one, as in 0031-01-01T00")
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, a[0], text)
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
		_, err = s.resolve(t.Context(), f, &f.h.Vars[0])
		require.EqualError(t, err, "v["+text+"]: "+want)
	}
	f := onAxis(cdf3.Double, []float64{nan})
	s, err := ParseSelection("v[x=1]")
	require.NoError(t, err)
	_, err = s.resolve(t.Context(), f, &f.h.Vars[0])
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
