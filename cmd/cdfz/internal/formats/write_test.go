package formats

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// write writes selections of a file.
func write(t *testing.T, src slab.Source, f Format, o *Options, texts ...string) (string, error) {
	var values []*Values
	for _, text := range texts {
		s, err := ParseSelection(text)
		require.NoError(t, err)
		x, err := s.Apply(t.Context(), src, o)
		require.NoError(t, err)
		values = append(values, x)
	}
	w, err := NewWriter(f, values)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = w.Write(t.Context(), &out)
	return out.String(), err
}

// TestEscape checks that text and names with control characters are escaped in CSV on
// request, and always in JSON.
func TestEscape(t *testing.T) {
	f := memSource{&cdf3.Header{
		Dims: []cdf3.Dim{{Name: "\x1b[1m", Len: 4}},
		Vars: []cdf3.Var{{Name: "a\x1b]0;x\a", Type: cdf3.Char, DimIDs: []int{0}, Shape: []int64{4}}},
	}, [][]byte{{0x1b, '[', '2', 'J'}}}
	const text = `a\x1b]0;x\a[:]`
	got, err := write(t, f, CSV, &Options{}, text)
	require.NoError(t, err)
	require.Equal(t, "a\x1b]0;x\a\n\x1b[2J\n", got)
	got, err = write(t, f, CSV, &Options{Escape: true}, text)
	require.NoError(t, err)
	require.Equal(t, `a\x1b]0;x\a`+"\n"+`\x1b[2J`+"\n", got)
	got, err = write(t, f, JSON, &Options{}, text)
	require.NoError(t, err)
	require.NotContains(t, got, "\x1b")
	require.Contains(t, got, `"data":"\u001b[2J"`)
}

// TestFills checks that fill values are empty or null unless kept, and NaN when
// unpacked.
func TestFills(t *testing.T) {
	short := func(name string, x ...byte) cdf3.Attr {
		return cdf3.Attr{Name: name, Type: cdf3.Short, Len: int64(len(x) / 2), Values: x}
	}
	f := onAxis(cdf3.Short, []float64{-1, 2, 3, 4}, short("_FillValue", 0xff, 0xff), short("missing_value", 0, 3, 0, 9))
	for _, c := range []struct {
		f    Format
		o    Options
		want string
	}{
		{CSV, Options{}, "x\n\"\"\n2\n\"\"\n4\n"},
		{CSV, Options{KeepFill: true}, "x\n-1\n2\n3\n4\n"},
		{CSV, Options{Unpack: true}, "x\n\"\"\n2\n\"\"\n4\n"},
		{CSV, Options{Unpack: true, KeepFill: true}, "x\nNaN\n2\nNaN\n4\n"},
		{JSON, Options{}, "{\"vars\":[{\"name\":\"x\",\"selection\":\"x\",\"type\":\"short\",\"dims\":[\"x\"],\"shape\":[4],\n\"data\":[null,2,null,4]}]}\n"},
		{Raw, Options{}, "\xff\xff\x00\x02\x00\x03\x00\x04"},
		{Raw, Options{Unpack: true}, "\x7f\xc0\x00\x00@\x00\x00\x00\x7f\xc0\x00\x00@\x80\x00\x00"},
	} {
		got, err := write(t, f, c.f, &c.o, "x")
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%s %+v", c.f, c.o)
	}
}

// TestUnsignedFile checks that a netCDF file of values that _Unsigned makes unsigned has a version with their type.
func TestUnsignedFile(t *testing.T) {
	f := memSource{&cdf3.Header{
		Version: cdf3.Classic,
		Dims:    []cdf3.Dim{{Name: "x", Len: 2}},
		Vars:    []cdf3.Var{{Name: "v", Type: cdf3.Byte, DimIDs: []int{0}, Shape: []int64{2}, Attrs: []cdf3.Attr{textAttr("_Unsigned", "true")}}},
	}, [][]byte{{1, 0xff}}}
	for unpack, want := range map[bool]cdf3.Version{false: cdf3.Classic, true: cdf3.Data64} {
		got, err := write(t, f, NC, &Options{Unpack: unpack}, "v")
		require.NoError(t, err)
		h, err := cdf3.Read(strings.NewReader(got), int64(len(got)))
		require.NoError(t, err)
		require.Equal(t, want, h.Version)
		require.Equal(t, unpack, h.Vars[0].Type == cdf3.UByte)
		require.NoError(t, h.Layout())
	}
}

// TestTimes checks that times are written as text, and as numbers if their units cannot
// be parsed.
func TestTimes(t *testing.T) {
	for units, want := range map[string]string{
		"days since 2001-01-01":    "x\n2001-01-01T12:00:00\n\"\"\n",
		"days since the beginning": "x\n0.5\nNaN\n",
		"K":                        "x\n0.5\nNaN\n",
	} {
		got, err := write(t, onAxis(cdf3.Double, []float64{0.5, nan}, textAttr("units", units)), CSV, &Options{Time: true}, "x")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestHistory checks that a line is appended to a history that is text, and to no
// other.
func TestHistory(t *testing.T) {
	require.Nil(t, withHistory(nil, ""))
	require.Equal(t, []cdf3.Attr{textAttr("history", "new")}, withHistory(nil, "new"))
	require.Equal(t, []cdf3.Attr{textAttr("a", "b"), textAttr("history", "old\nnew")}, withHistory([]cdf3.Attr{textAttr("a", "b"), textAttr("history", "old\n\x00")}, "new"))
	number := []cdf3.Attr{{Name: "history", Type: cdf3.Byte, Len: 1, Values: []byte{1}}}
	require.Equal(t, number, withHistory(number, "new"))
}

func TestNewWriterErrors(t *testing.T) {
	f := onAxis(cdf3.Double, []float64{1, 2})
	for _, c := range []struct {
		f     Format
		o     Options
		texts []string
		want  string
	}{
		{Npy, Options{}, []string{"x", "v"}, "a file of format npy holds one variable, found 2"},
		{NC, Options{Time: true}, []string{"x"}, "export: times as text: expected format csv or json, found nc"},
		{"hdf", Options{}, []string{"x"}, `export: unknown format "hdf"`},
		{CSV, Options{}, nil, "export: no selection"},
		{CSV, Options{}, []string{"x", "x[:1]"}, "x and x[:1] differ in dimensions or ranges, which columns of a table must share"},
		{NC, Options{}, []string{"x", "x[:1]"}, "variable x is selected twice, and names in a netCDF file are unique"},
	} {
		_, err := write(t, f, c.f, &c.o, c.texts...)
		require.EqualError(t, err, c.want)
		require.Equal(t, len(c.texts) > 1, errors.Is(err, ErrCombine))
	}
	for name, want := range map[string]Format{"a.csv": CSV, "a.JSON": JSON, "a.b.nc": NC, "a": "", "csv": "", "a.nc4": ""} {
		require.Equal(t, want, FormatOf(name), name)
	}
}

// TestWriteFails checks that an error of the target is returned unchanged.
func TestWriteFails(t *testing.T) {
	f := onAxis(cdf3.Double, make([]float64, 1000))
	f.h.Version = cdf3.Classic
	full := errors.New("full")
	for _, format := range Formats {
		s, err := ParseSelection("x")
		require.NoError(t, err)
		x, err := s.Apply(t.Context(), f, nil)
		require.NoError(t, err)
		w, err := NewWriter(format, []*Values{x})
		require.NoError(t, err)
		require.ErrorIs(t, w.Write(t.Context(), failing{full}), full, "%s", format)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error)         { return 0, f.err }
func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

var _ io.Writer = failing{}
