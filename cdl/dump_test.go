package cdl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

func dump(t testing.TB, src slab.Source, o *Options) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, Dump(context.Background(), &b, src, o))
	return b.String()
}

// TestGolden compares with output of ncdump.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		golden, file string
		o            Options
	}{
		{"attrs_all_types", "cdf5_attrs_all_types", Options{}},
		{"all_types_full", "cdf5_all_types", Options{Full: true}},
		{"scalars_fortran", "cdf2_scalars", Options{Full: true, Fortran: true}},
		{"names_duplicate", "cdf1_names_duplicate", Options{}},
		{"bits_precision", "cdf5_bits", Options{FloatDigits: 3, DoubleDigits: 5}},
		{"rank_brief", "cdf1_rank", Options{Brief: true, Fortran: true, LineLen: 40}},
		{"fill_holes", "cdf1_fill_holes", Options{}},
		{"climate_coords", "cdf1_climate_small", Options{Coords: true}},
		{"attrs_special", "cdf1_attrs", Options{Header: true, Special: true, Name: "2 x"}},
		{"bits_chars", "cdf5_bits", Options{Vars: []string{"c"}}},
	} {
		t.Run(c.golden, func(t *testing.T) {
			want, err := os.ReadFile("testdata/" + c.golden + ".cdl")
			require.NoError(t, err)
			f, err := archive.Open(context.Background(), "../testdata/classic/"+c.file+".nc", nil)
			require.NoError(t, err)
			defer f.Close()
			if c.o.Name == "" {
				c.o.Name = c.file
			}
			require.Equal(t, string(want), dump(t, f, &c.o))
		})
	}
}

// memory is a file in memory.
type memory struct {
	h    cdf3.Header
	data []io.ReaderAt // big-endian values of each variable
}

func (m *memory) Header() *cdf3.Header { return &m.h }

func (m *memory) Array(v int) slab.Array {
	w := &m.h.Vars[v]
	a, err := slab.New(w.Type, w.Shape, m.data[v])
	if err != nil {
		panic(err)
	}
	return a
}

// oneVar returns a file with one variable, whose dimensions are x0, x1 and so on.
func oneVar(t testing.TB, typ cdf3.Type, data io.ReaderAt, attrs []cdf3.Attr, shape ...int64) *memory {
	t.Helper()
	m := &memory{data: []io.ReaderAt{data}}
	v := cdf3.Var{Name: "v", Type: typ, Attrs: attrs}
	for i, n := range shape {
		m.h.Dims = append(m.h.Dims, cdf3.Dim{Name: "x" + string(rune('0'+i)), Len: n})
		v.DimIDs = append(v.DimIDs, i)
	}
	m.h.Version, m.h.Vars = cdf3.Data64, []cdf3.Var{v}
	require.NoError(t, m.h.Layout())
	return m
}

func textAttr(name, value string) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(value)), Values: []byte(value)}
}

// TestLongText puts NULs around the boundaries of reads.
func TestLongText(t *testing.T) {
	b := bytes.Repeat([]byte("x"), 2*readLen+3)
	clear(b[readLen-2 : readLen+1])
	clear(b[2*readLen-1:])
	got := dump(t, oneVar(t, cdf3.Char, bytes.NewReader(b), nil, int64(len(b))), &Options{Name: "t"})
	want := `"` + strings.Repeat("x", readLen-2) + `\000\000\000` + strings.Repeat("x", readLen-2) + `" ;`
	require.True(t, strings.Contains(got, " v = "+want+"\n}\n"))

	clear(b)
	got = dump(t, oneVar(t, cdf3.Char, bytes.NewReader(b), nil, int64(len(b))), nil)
	require.Contains(t, got, "\n v = \"\" ;\n}\n")
}

func TestCFormat(t *testing.T) {
	for _, c := range []struct {
		typ    cdf3.Type
		b      []byte
		format string
		o      Options
		want   string
	}{
		{cdf3.Float, []byte{0x3f, 0xc0, 0, 0}, "%6.2f m", Options{}, "v =   1.50 m ;"},
		{cdf3.Float, []byte{0x3f, 0xc0, 0, 0}, "%6.2f m", Options{FloatDigits: 7}, "v = 1.5 ;"},
		{cdf3.Float, []byte{0x3f, 0xc0, 0, 0}, "%d", Options{}, "v = 1.5 ;"},
		{cdf3.Float, []byte{0x7c, 0xf0, 0, 0}, "%6.2f m", Options{}, "v = _ ;"},
		{cdf3.Short, []byte{0xff, 0xfe}, "%4d", Options{}, "v =   -2 ;"},
		{cdf3.Char, []byte("A"), "%s", Options{}, `v = "A" ;`},
		{cdf3.Char, []byte("A"), "%d", Options{}, `v = 65 ;`},
		{cdf3.Char, []byte{0}, "%d", Options{}, `v = _ ;`},
		{cdf3.Char, []byte("A"), "\x00%d", Options{}, `v = "A" ;`},
		{cdf3.Byte, []byte{1}, strings.Repeat(" ", 100) + "%d", Options{}, "v = 1 ;"},
	} {
		got := dump(t, oneVar(t, c.typ, bytes.NewReader(c.b), []cdf3.Attr{textAttr("C_format", c.format)}), &c.o)
		require.Contains(t, got, "\n "+c.want+"\n", "%q", c.format)
	}
}

// TestSpecials has the rows Q2 and Q3 of CONTRIBUTING.md: special attributes are printed
// with -s only, and in the forms of ncdump.
func TestSpecials(t *testing.T) {
	m := oneVar(t, cdf3.Int, bytes.NewReader(make([]byte, 24)), nil, 2, 3)
	m.h.Attrs = []cdf3.Attr{
		textAttr("_NCProperties", "version=2,\"x\"\x00y"),
		{Name: "_SuperblockVersion", Type: cdf3.Int, Len: 1, Values: []byte{0, 0, 0, 2}},
		{Name: "_IsNetcdf4", Type: cdf3.Short, Len: 1, Values: []byte{0, 9}},
	}
	o := &Options{Header: true, Special: true, Storage: func(v int) *Storage {
		return &Storage{Block: []int64{1, 3}, Filters: []Filter{{ID: 3}, {ID: 2, Params: []uint32{4}}, {ID: 1, Params: []uint32{6}}, {ID: 32015, Params: []uint32{3, 9}}, {ID: 307}}}
	}}
	require.Equal(t, `netcdf  {
dimensions:
	x0 = 2 ;
	x1 = 3 ;
variables:
	int v(x0, x1) ;
		v:_Storage = "chunked" ;
		v:_ChunkSizes = 1, 3 ;
		v:_Fletcher32 = "true" ;
		v:_Shuffle = "true" ;
		v:_DeflateLevel = 6 ;
		v:_Filter = "32015,3,9|307" ;
		v:_Endianness = "big" ;

// global attributes:
		:_SuperblockVersion = 2 ;
		:_IsNetcdf4 = 9s ;
		:_NCProperties = "version=2,"x"" ;
		:_SuperblockVersion = 2 ;
		:_IsNetcdf4 = 1 ;
		:_Format = "cdf5" ;
}
`, dump(t, m, o))
	o.Special = false
	require.NotContains(t, dump(t, m, o), "_Storage")
	o.Special, o.Storage = true, nil
	require.Contains(t, dump(t, m, o), "\t\tv:_Storage = \"contiguous\" ;\n\t\tv:_Endianness = \"big\" ;\n")
	scalar := oneVar(t, cdf3.Int, bytes.NewReader(nil), nil)
	scalar.h.Version = cdf3.Classic
	o.Storage = func(int) *Storage { return &Storage{Filters: []Filter{{ID: 1, Params: []uint32{6}}}} }
	require.NotContains(t, dump(t, scalar, o), "v:")

	// Attributes of their own have no order and no optional filters. _Filter has the chain then.
	level := []uint32{6}
	for want, chain := range map[string][]Filter{
		"1,6|2,4":    {{ID: 1, Params: level}, {ID: 2, Params: []uint32{4}}},
		"2,4|3":      {{ID: 2, Params: []uint32{4}}, {ID: 3}},
		"307|3":      {{ID: 307}, {ID: 3}},
		"2,8|307":    {{ID: 2, Params: []uint32{8}}, {ID: 307}}, // elements have 4 bytes
		"2,4|1,6?":   {{ID: 2, Params: []uint32{4}}, {ID: 1, Params: level, Optional: true}},
		"1,6|1,6":    {{ID: 1, Params: level}, {ID: 1, Params: level}},
		"1,6|307|2":  {{ID: 1, Params: level}, {ID: 307}, {ID: 2}},
		"2,4|1,6,6":  {{ID: 2, Params: []uint32{4}}, {ID: 1, Params: []uint32{6, 6}}},
		"32015,3?|3": {{ID: 32015, Params: []uint32{3}, Optional: true}, {ID: 3}},
	} {
		o.Storage = func(int) *Storage { return &Storage{Block: []int64{1, 3}, Filters: chain} }
		text := dump(t, m, o)
		require.Contains(t, text, "\t\tv:_Filter = \""+want+"\" ;\n")
		for _, other := range []string{"_Shuffle", "_DeflateLevel", "_Fletcher32"} {
			require.NotContains(t, text, other, want)
		}
	}
}

func TestErrors(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	m := oneVar(t, cdf3.Int, bytes.NewReader(make([]byte, 24)), nil, 2, 3)
	var b strings.Builder
	err := Dump(ctx, &b, m, &Options{Vars: []string{"v", "w"}})
	require.EqualError(t, err, "w: no such variable")
	for _, o := range []Options{{LineLen: 9}, {FloatDigits: 21}, {DoubleDigits: -1}} {
		require.Error(t, Dump(ctx, &b, m, &o))
	}
	require.Empty(t, b.String())

	m.data[0] = bytes.NewReader(make([]byte, 23))
	err = Dump(ctx, &b, m, nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, `variable "v"`)
	require.Contains(t, b.String(), "data:\n")

	bad := errors.New("bad")
	m.data[0] = failing{bad}
	require.ErrorIs(t, Dump(ctx, io.Discard, m, nil), bad)

	m.data[0] = bytes.NewReader(make([]byte, 24))
	require.Equal(t, bad, Dump(ctx, failing{bad}, m, nil))
	stop()
	require.ErrorIs(t, Dump(ctx, io.Discard, m, nil), context.Canceled)
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }
func (f failing) Write([]byte) (int, error)         { return 0, f.err }

// TestBounded dumps a large variable to a writer that checks that the text arrives in
// pieces.
func TestBounded(t *testing.T) {
	n := int64(30 << 20)
	if testing.Short() {
		n = 3 << 20
	}
	m := oneVar(t, cdf3.Byte, zeroes{}, nil, n)
	w := &pieces{}
	require.NoError(t, Dump(context.Background(), w, m, nil))
	require.Greater(t, w.n, 3*n)
	require.Less(t, w.largest, 2*flushLen)
}

type zeroes struct{}

func (zeroes) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

type pieces struct {
	n       int64
	largest int
}

func (w *pieces) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	w.largest = max(w.largest, len(p))
	return len(p), nil
}

// TestManyAttrs has so many attributes that comparing every pair would take minutes.
func TestManyAttrs(t *testing.T) {
	m := oneVar(t, cdf3.Int, zeroes{}, nil, 1)
	n := 200_000
	if testing.Short() {
		n = 20_000
	}
	for i := range n * 3 / 2 {
		m.h.Attrs = append(m.h.Attrs, textAttr("a"+strconv.Itoa(i%n), strconv.Itoa(i)))
	}
	start := time.Now()
	got := dump(t, m, nil)
	require.Less(t, time.Since(start), 20*time.Second)
	require.Equal(t, 2, strings.Count(got, "\t\t:a77 = \"77\" ;\n"))
}

// FuzzDump dumps any file with a valid header. Dump must not panic, and its text must
// be finite.
func FuzzDump(f *testing.F) {
	s := seeds.Of(f)
	for _, name := range []string{"cdf1_names", "cdf5_attrs_all_types", "cdf2_two_unlimited", "cdf1_rank", "cdf5_bits"} {
		b, err := os.ReadFile("../testdata/classic/" + name + ".nc")
		require.NoError(f, err)
		if f.Add(b, uint8(0)); len(b) < 1500 {
			s.AddDamaged(name, b, uint8(31))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, flags uint8) {
		h, err := cdf3.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		total := int64(0)
		for i := range h.Vars {
			if total += h.Vars[i].Len; h.Vars[i].Len > 1<<12 || total > 1<<12 {
				return // too large for a fuzz test
			}
		}
		src, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		o := &Options{Full: flags&1 != 0, Brief: flags&2 != 0, Fortran: flags&4 != 0, Special: flags&8 != 0, Coords: flags&16 != 0}
		require.NoError(t, Dump(context.Background(), io.Discard, src, o))
	})
}
