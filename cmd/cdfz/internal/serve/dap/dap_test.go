package dap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// memory is a netCDF file made by a test.
type memory struct {
	h      *cdf3.Header
	values map[int]slab.Array
}

func (m *memory) Header() *cdf3.Header   { return m.h }
func (m *memory) Array(v int) slab.Array { return m.values[v] }

// header makes a file whose values follow a pattern of bytes, or are letters.
func header(t testing.TB, dims []cdf3.Dim, records int64, vars ...cdf3.Var) *memory {
	t.Helper()
	m := &memory{h: &cdf3.Header{Version: cdf3.Data64, NumRecsField: uint64(records), Dims: dims, Vars: vars}, values: map[int]slab.Array{}}
	require.NoError(t, m.h.LayoutRead())
	for i := range m.h.Vars {
		v := &m.h.Vars[i]
		b := make([]byte, v.Len)
		for k := range b {
			b[k] = byte(k*7 + i)
		}
		if v.Type == cdf3.Char {
			for k := range b {
				b[k] = 'a' + byte(k%26)
			}
		}
		a, err := slab.New(v.Type, v.Shape, bytes.NewReader(b))
		require.NoError(t, err)
		m.values[i] = a
	}
	return m
}

func sample(t testing.TB) *memory {
	m := header(t, []cdf3.Dim{{Name: "time"}, {Name: "y", Len: 3}, {Name: "x.1", Len: 5}, {Name: "none", Len: 0}}, 4,
		cdf3.Var{Name: "time", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{
			{Name: "units", Type: cdf3.Char, Len: 9, Values: []byte("a \"b\" \\n\n")},
			{Name: "f", Type: cdf3.Float, Len: 3, Values: []byte{0x80, 0, 0, 0, 0x7f, 0xc0, 0, 0, 0x3f, 0xc0, 0, 0}},
			{Name: "b c", Type: cdf3.Byte, Len: 2, Values: []byte{1, 255}},
			{Name: "l", Type: cdf3.Int64, Len: 1, Values: []byte{0, 0, 1, 0, 0, 0, 0, 0}},
			{Name: "empty", Type: cdf3.Short},
		}},
		cdf3.Var{Name: "t", Type: cdf3.Short, DimIDs: []int{0, 1, 2}},
		cdf3.Var{Name: "name", Type: cdf3.Char, DimIDs: []int{1, 2}},
		cdf3.Var{Name: "s", Type: cdf3.Byte},
		cdf3.Var{Name: "c", Type: cdf3.Char},
		cdf3.Var{Name: "u b", Type: cdf3.UByte, DimIDs: []int{2}},
		cdf3.Var{Name: "t", Type: cdf3.Int},
	)
	return m
}

func text(t *testing.T, f func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, f(&b))
	return b.String()
}

func TestDescribe(t *testing.T) {
	d := New(sample(t), "a b.nc")
	r, err := d.Parse("")
	require.NoError(t, err)
	require.Equal(t, `Dataset {
    Float64 time[time = 4];
    Int16 t[time = 4][y = 3][x.1 = 5];
    String name[y = 3];
    Byte s;
    String c;
    Byte u%20b[x.1 = 5];
} a%20b.nc;
`, text(t, r.DDS))
	require.Equal(t, `Attributes {
    NC_GLOBAL {
    }
    time {
        String units "a \"b\" \\n
";
        Float32 f -0., NaN, 1.5;
        Int16 b%20c 1, -1;
        String l "1099511627776";
        String empty "";
    }
    t {
    }
    name {
        Int32 DODS.strlen 5;
        String DODS.dimName "x.1";
    }
    s {
        String _Unsigned "false";
    }
    c {
        Int32 DODS.strlen 1;
    }
    u%20b {
        String _Unsigned "true";
    }
    DODS_EXTRA {
        String Unlimited_Dimension "time";
    }
}
`, text(t, func(w io.Writer) error { return d.DAS(w, false) }))
	require.Equal(t, "Error {\n    code = 400;\n    message = \"a \\\"b\\\"\";\n};\n", text(t, errorf(`a "b"`).Encode))
}

func TestData(t *testing.T) {
	d := New(sample(t), "x")
	r, err := d.Parse("t[1:2:3][0][3:4],name[2],s,c,u%20b[0:2]")
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, r.Data(context.Background(), &b))
	n, err := r.Size()
	require.NoError(t, err)
	require.Equal(t, int64(b.Len()), n)
	head, data, ok := strings.Cut(b.String(), "\nData:\n")
	require.True(t, ok)
	require.Equal(t, `Dataset {
    Int16 t[time = 2][y = 1][x.1 = 2];
    String name[y = 1];
    Byte s;
    String c;
    Byte u%20b[x.1 = 3];
} x;`, head)
	var want []byte
	put := func(x uint32) { want = binary.BigEndian.AppendUint32(want, x) }
	put(4)
	put(4)
	for _, i := range []int{15 + 3, 15 + 4, 45 + 3, 45 + 4} {
		put(uint32(int32(int16(uint16(byte(2*i*7+1))<<8 | uint16(byte((2*i+1)*7+1))))))
	}
	put(1)
	put(5)
	want = append(want, "klmno\x00\x00\x00"...)
	want = append(want, 3, 0, 0, 3)
	put(1)
	want = append(want, "a\x00\x00\x00"...)
	put(3)
	put(3)
	want = append(want, 5, 12, 19, 0)
	require.Equal(t, want, []byte(data))

	require.Equal(t, `Dataset {
    Int16 t[time = 1][y = 2][x.1 = 3];
    String name[y = 3];
    Byte s;
} x;
---------------------------------------------
t[1][2][3]
[0][0], 264, 3862, 7460
[0][1], 18254, 21852, 25450

name[3]
"abcde", "fghij", "klmno"

s
3

`, text(t, func(w io.Writer) error {
		r, err := d.Parse("t[0][0:1][0:2],name,s")
		require.NoError(t, err)
		return r.ASCII(context.Background(), w)
	}))
}

// TestCarry asks for variables that DAP2 cannot carry.
func TestCarry(t *testing.T) {
	m := header(t, []cdf3.Dim{{Name: "x", Len: 2}}, 0, cdf3.Var{Name: "v", Type: cdf3.Int, DimIDs: []int{0}}, cdf3.Var{Name: "l", Type: cdf3.Int64, DimIDs: []int{0}})
	m.h.Dims = append(m.h.Dims, cdf3.Dim{Name: "long", Len: 1 << 31})
	m.h.Vars = append(m.h.Vars, cdf3.Var{Name: "w", Type: cdf3.Byte, DimIDs: []int{1}, Shape: []int64{1 << 31}},
		cdf3.Var{Name: "p", Type: cdf3.Double, DimIDs: []int{0, 0}, Shape: []int64{1 << 30, 1 << 30}},
		cdf3.Var{Name: "q", Type: cdf3.Char, DimIDs: []int{0, 0}, Shape: []int64{1 << 30, 1 << 30}})
	d := New(m, "x")
	for ce, want := range map[string]string{
		"":    "variable l cannot be sent: it has type int64, which DAP2 lacks. Ask for other variables, or use /files/",
		"v,w": "variable w cannot be sent: dimension long has 2147483648 elements, and DAP2 has lengths up to 2147483647. Ask for other variables, or use /files/",
	} {
		_, err := d.Parse(ce)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, want, e.Message)
	}
	_, err := d.Parse("v")
	require.NoError(t, err)
	r, err := d.Parse("p,q")
	require.NoError(t, err)
	_, err = r.Size()
	require.ErrorContains(t, err, "variable p is too long for one answer: ask for a part")
}

func TestRefused(t *testing.T) {
	d := New(sample(t), "x")
	for ce, want := range map[string]string{
		"none":                       `no variable "none"`,
		"t,":                         `no variable ""`,
		"time,time":                  "time is projected twice",
		"t[0]":                       "t has 3 dimensions, found 1 subscripts",
		"s[0]":                       "s has 0 dimensions, found 1 subscripts",
		"time[4]":                    "subscript [4:1:4] of time: dimension time has length 4",
		"time[0:4]":                  "subscript [0:1:4] of time: dimension time has length 4",
		"time[2:1]":                  `malformed subscript "[2:1]" of time`,
		"time[0:0:1]":                `malformed subscript "[0:0:1]" of time`,
		"time[-1]":                   `malformed subscript "[-1]" of time`,
		"time[]":                     `malformed subscript "[]" of time`,
		"time[0:1:2:3]":              `malformed subscript "[0:1:2:3]" of time`,
		"time[99999999999999999999]": `malformed subscript "[99999999999999999999]" of time`,
		"time[0":                     `malformed subscripts "time[0"`,
		"time[0]x":                   `malformed subscripts "time[0]x"`,
		"geogrid(t,1,2)":             `functions are not supported, found "geogrid(t"`,
		"t&time>1":                   `selections are not supported, found "time>1"`,
		"&bounds(0,1)":               `selections are not supported, found "bounds(0,1)"`,
		"%zz":                        "malformed escape in the constraint expression",
		strings.Repeat("s,", 20000):  "expected at most 16384 projections",
		`x"y`:                        `no variable "x\"y"`,
	} {
		_, err := d.Parse(ce)
		var e *Error
		require.ErrorAs(t, err, &e, ce)
		require.Contains(t, e.Message, want, ce)
		require.Equal(t, 400, e.Code)
	}
	for _, ce := range []string{"time%5B0%3A1%5D", "u b", "u%20b", "u%2520b", "time[ 0 : 2 : 3 ]", "time&", "t[0:0][1:1:1][0:2:4]"} {
		_, err := d.Parse(ce)
		require.NoError(t, err, ce)
	}
}

// TestRandom compares random constraint expressions with slices of the values.
func TestRandom(t *testing.T) {
	n := 200
	if os.Getenv("CDFZ_SOAK") != "" {
		n = 10000
	}
	names, err := filepath.Glob("../../../../../testdata/classic/cdf[12]_climate*.nc")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		f := openClassic(t, names[i%len(names)])
		d := New(f, "x")
		v := rnd.IntN(len(d.vars))
		w := &d.vars[v]
		sel := slab.Sel{}
		ce := w.v.Name
		for _, n := range w.shape {
			first := rnd.Int64N(n)
			stride := 1 + rnd.Int64N(n)
			last := first + rnd.Int64N(n-first)
			sel.Start, sel.Stride, sel.Count = append(sel.Start, first), append(sel.Stride, stride), append(sel.Count, (last-first)/stride+1)
			switch {
			case stride == 1 && last == first:
				ce += fmt.Sprintf("[%d]", first)
			case stride == 1:
				ce += fmt.Sprintf("[%d:%d]", first, last)
			default:
				ce += fmt.Sprintf("[%d:%d:%d]", first, stride, last)
			}
		}
		if i%2 == 0 {
			ce = url.QueryEscape(ce)
		}
		r, err := d.Parse(ce)
		require.NoError(t, err, ce)
		var b bytes.Buffer
		require.NoError(t, r.Data(context.Background(), &b), ce)
		_, data, _ := bytes.Cut(b.Bytes(), []byte("\nData:\n"))
		require.Equal(t, reference(f, w, sel), data, ce)
	}
}

// openClassic reads a classic file.
func openClassic(t *testing.T, name string) *memory {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	m := &memory{values: map[int]slab.Array{}}
	m.h, err = cdf3.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	for i := range m.h.Vars {
		v := &m.h.Vars[i]
		var values []byte
		records := int64(1)
		if v.Record {
			records = m.h.NumRecs
		}
		for r := range records {
			values = append(values, b[v.Begin+r*m.h.RecSize:][:v.RecLen]...)
		}
		m.values[i], err = slab.New(v.Type, v.Shape, bytes.NewReader(values))
		require.NoError(t, err)
	}
	return m
}

// reference encodes a selection value by value.
func reference(f *memory, w *variable, sel slab.Sel) []byte {
	size := w.v.Type.Size()
	if w.v.Type == cdf3.Char {
		size = w.text
	}
	var values [][]byte
	index := make([]int64, len(w.shape))
	for {
		off := int64(0)
		for k := range index {
			off = off*w.shape[k] + sel.Start[k] + index[k]*sel.Stride[k]
		}
		b := make([]byte, size)
		_, _ = f.values[w.num].Values().ReadAt(b, off*size)
		values = append(values, b)
		k := len(index) - 1
		for ; k >= 0; k-- {
			if index[k]++; index[k] < sel.Count[k] {
				break
			}
			index[k] = 0
		}
		if k < 0 {
			break
		}
	}
	var out []byte
	n := uint32(len(values))
	if len(index) > 0 {
		out = binary.BigEndian.AppendUint32(out, n)
		if w.v.Type != cdf3.Char {
			out = binary.BigEndian.AppendUint32(out, n)
		}
	}
	pad := func() {
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	for _, b := range values {
		switch {
		case w.v.Type == cdf3.Char:
			out = append(binary.BigEndian.AppendUint32(out, uint32(size)), b...)
			pad()
		case size == 1 && len(index) > 0:
			out = append(out, b...)
		case size == 1:
			out = append(out, b[0], 0, 0, b[0])
		case size == 2:
			out = binary.BigEndian.AppendUint32(out, uint32(int32(int16(binary.BigEndian.Uint16(b)))))
		default:
			out = append(out, b...)
		}
	}
	pad()
	return out
}

// TestPieces has an array and strings that are longer than a piece.
func TestPieces(t *testing.T) {
	m := header(t, []cdf3.Dim{{Name: "a", Len: 3}, {Name: "b", Len: piece + 5}}, 0,
		cdf3.Var{Name: "v", Type: cdf3.Short, DimIDs: []int{0, 1}}, cdf3.Var{Name: "c", Type: cdf3.Char, DimIDs: []int{0, 1}})
	d := New(m, "x")
	for ce, sel := range map[string]slab.Sel{
		"v[0:2][0:2:32772]": {Start: []int64{0, 0}, Count: []int64{3, 16387}, Stride: []int64{1, 2}},
		"v":                 {Start: []int64{0, 0}, Count: []int64{3, piece + 5}, Stride: []int64{1, 1}},
		"c[0:2:2]":          {Start: []int64{0}, Count: []int64{2}, Stride: []int64{2}},
	} {
		r, err := d.Parse(ce)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, r.Data(context.Background(), &b))
		n, err := r.Size()
		require.NoError(t, err)
		require.Equal(t, int64(b.Len()), n)
		_, data, _ := bytes.Cut(b.Bytes(), []byte("\nData:\n"))
		require.True(t, bytes.Equal(reference(m, &d.vars[r.arrays[0].v], sel), data), ce)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := d.Parse("v")
	require.NoError(t, err)
	require.ErrorIs(t, r.Data(ctx, io.Discard), context.Canceled)
	broken := errors.New("broken")
	require.ErrorIs(t, r.Data(context.Background(), failing{broken}), broken)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestForClients has what libnetcdf would take for something else, or not open.
func TestForClients(t *testing.T) {
	m := header(t, []cdf3.Dim{{Name: "none"}, {Name: "ä", Len: 2}}, 0,
		cdf3.Var{Name: "r", Type: cdf3.Int, DimIDs: []int{0}},
		cdf3.Var{Name: "θ", Type: cdf3.Int, DimIDs: []int{1}, Attrs: []cdf3.Attr{{Name: "DODS.strlen", Type: cdf3.Int, Len: 1, Values: make([]byte, 4)}}})
	m.h.Attrs = []cdf3.Attr{{Name: "DODS_EXTRA.Unlimited_Dimension", Type: cdf3.Char, Len: 1, Values: []byte("x")}}
	d := New(m, "x")
	r, err := d.Parse("")
	require.NoError(t, err)
	require.Equal(t, "Dataset {\n    Int32 _%CE%B8[_%C3%A4 = 2];\n    Int32 r[none = 0];\n} x;\n", text(t, r.DDS))
	require.NotContains(t, text(t, func(w io.Writer) error { return d.DAS(w, false) }), "strlen")
	require.NotContains(t, text(t, func(w io.Writer) error { return d.DAS(w, false) }), `"x"`)
	for _, ce := range []string{"_%CE%B8[0]", "_%25CE%25B8[0]", "θ", "%CE%B8"} {
		r, err := d.Parse(ce)
		require.NoError(t, err, ce)
		require.Contains(t, text(t, r.DDS), "_%CE%B8")
	}
}

// TestSign tells the sign of integers and of infinity in words that clients know.
func TestSign(t *testing.T) {
	number := func(name string, k cdf3.Type, b ...byte) cdf3.Attr {
		return cdf3.Attr{Name: name, Type: k, Len: int64(len(b) / int(k.Size())), Values: b}
	}
	word := func(s string) cdf3.Attr {
		return cdf3.Attr{Name: unsignedAttr, Type: cdf3.Char, Len: int64(len(s)), Values: []byte(s)}
	}
	m := header(t, []cdf3.Dim{{Name: "x", Len: 3}}, 0,
		cdf3.Var{Name: "b", Type: cdf3.Byte, DimIDs: []int{0}, Attrs: []cdf3.Attr{number("_FillValue", cdf3.Byte, 0x80), number("flag_values", cdf3.Byte, 1, 2)}},
		cdf3.Var{Name: "own", Type: cdf3.Byte, Attrs: []cdf3.Attr{number("_FillValue", cdf3.Byte, 0xff), word("true")}},
		cdf3.Var{Name: "zero", Type: cdf3.Byte, Attrs: []cdf3.Attr{word("False\x00"), number("missing_value", cdf3.Byte, 0xff)}},
		cdf3.Var{Name: "ub", Type: cdf3.UByte, Attrs: []cdf3.Attr{number("_FillValue", cdf3.UByte, 0xff)}},
		cdf3.Var{Name: "us", Type: cdf3.UShort}, cdf3.Var{Name: "ui", Type: cdf3.UInt}, cdf3.Var{Name: "s", Type: cdf3.Short},
		cdf3.Var{Name: "f", Type: cdf3.Float, DimIDs: []int{0}},
	)
	m.h.Attrs = []cdf3.Attr{number("b", cdf3.Byte, 0x80, 0x7f), number("f", cdf3.Float, 0x7f, 0x80, 0, 0, 0xff, 0x80, 0, 0, 0x7f, 0xc0, 0, 0),
		number("d", cdf3.Double, 0xff, 0xf0, 0, 0, 0, 0, 0, 0)}
	var err error
	m.values[0], err = slab.New(cdf3.Byte, []int64{3}, bytes.NewReader([]byte{0xff, 0x80, 1}))
	require.NoError(t, err)
	m.values[7], err = slab.New(cdf3.Float, []int64{3}, bytes.NewReader(m.h.Attrs[1].Values))
	require.NoError(t, err)
	d := New(m, "x.nc")
	das := text(t, func(w io.Writer) error { return d.DAS(w, false) })
	for _, want := range []string{
		"NC_GLOBAL {\n        Int16 b -128, 127;\n        Float32 f inf, -inf, NaN;\n        Float64 d -inf;\n    }\n",
		"    b {\n        Int16 _FillValue -128;\n        Byte flag_values 1, 2;\n        String _Unsigned \"false\";\n    }\n",
		"    own {\n        Byte _FillValue 255;\n        String _Unsigned \"true\";\n    }\n",
		"    zero {\n        String _Unsigned \"False\\000\";\n        Int16 missing_value -1;\n    }\n",
		"    ub {\n        Byte _FillValue 255;\n        String _Unsigned \"true\";\n    }\n",
		"    us {\n        String _Unsigned \"true\";\n    }\n", "    ui {\n        String _Unsigned \"true\";\n    }\n", "    s {\n    }\n",
	} {
		require.Contains(t, das, want)
	}
	// What libnetcdf gets. Unsigned types are signed for it otherwise.
	das = text(t, func(w io.Writer) error { return d.DAS(w, TakesSigned("oc4.9.0")) })
	for _, want := range []string{
		"        Byte b 128, 127;\n", "    b {\n        Byte _FillValue 128;\n        Byte flag_values 1, 2;\n    }\n",
		"    own {\n        Byte _FillValue 255;\n        String _Unsigned \"true\";\n    }\n",
		"    zero {\n        String _Unsigned \"False\\000\";\n        Byte missing_value 255;\n    }\n",
		"    ub {\n        Byte _FillValue 255;\n        String _Unsigned \"true\";\n    }\n", "    ui {\n        String _Unsigned \"true\";\n    }\n",
	} {
		require.Contains(t, das, want)
	}
	for _, agent := range []string{"", "oc", "ocean/1", "python-requests/2.31", "/NetcdfJava/HttpClient4.4"} {
		require.False(t, TakesSigned(agent), agent)
	}
	r, err := d.Parse("b,f")
	require.NoError(t, err)
	require.Contains(t, text(t, func(w io.Writer) error { return r.ASCII(context.Background(), w) }), "b[3]\n-1, -128, 1\n\nf[3]\ninf, -inf, NaN\n")
}
