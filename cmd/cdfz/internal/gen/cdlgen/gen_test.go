package cdlgen_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cdl"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/gen/cdlgen"
)

// generate returns the file made from text.
func generate(t testing.TB, text string, o *cdlgen.Options) []byte {
	t.Helper()
	f, err := cdlgen.Parse(context.Background(), strings.NewReader(text), o)
	require.NoError(t, err, "%s", text)
	defer f.Close()
	var b bytes.Buffer
	require.NoError(t, f.Write(context.Background(), &b))
	require.Equal(t, f.Size(), int64(b.Len()))
	return b.Bytes()
}

// dump returns the text of a file from its variables on, without line breaks.
func dump(t testing.TB, b []byte) string {
	t.Helper()
	f, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	var s strings.Builder
	require.NoError(t, cdl.Dump(context.Background(), &s, f, nil))
	return strings.Join(strings.Fields(s.String()), " ")
}

// dims are the dimensions of the cases.
const dims = "t = UNLIMITED ; m = 3 ; n = 4 ;"

// TestValues generates variables with values or attributes.
func TestValues(t *testing.T) {
	for _, c := range []struct{ declare, data, want string }{
		// text
		{"char c(m, n)", `c = "abcd", "x"`, `c = "abcd", "x", "" ;`},
		{"char c(t, n)", `c = "a", "b", ""`, `c = "a", "b", "" ;`}, // ncgen crashes
		{"char c(t, n)", `c = "abcdef"`, `c = "abcd", "ef" ;`},
		{"char c(n)", `c = "", "x"`, `c = "\000x" ;`},
		{"char c(m, n)", `c = 'a', 'b', "x", 'c', 'd', 'e', 'f'`, `c = "ab", "x", "cdef" ;`},
		{"char c(m, n)", `c = {'a', 'b'}, {'c'}`, `c = "a", "b", "c" ;`},
		{"char c(m, n)", `c = {"ab"}, {"c"}`, `c = "ab", "c", "" ;`},
		{"char c(m, n) ; c:_FillValue = '#'", `c = "x", _`, `c = "x###", "####", "####" ;`},
		{"char c(n)", `c = "\x41\101\?\q"`, `c = "AA\177q" ;`},
		{"char c(n)", `c = 65b, 66ub`, `c = "AB" ;`},
		{"char c", `c = ""`, `c = "" ;`},
		{"char c", `c = '\0'`, `c = "" ;`},
		// numbers
		{"int i(m, n)", `i = {1, 2}, {3}, {4}`, `i = 1, 2, 3, 4, _,`},
		{"int i(t, m)", `i = {1, 2, 3}, {4}`, `i = 1, 2, 3, 4, _, _ ;`},
		{"int i(t, n) ; int j(t)", `j = 1, 2, 3 ; i = 1`, `i = 1, _, _, _, _, _, _, _, _, _, _, _ ; j = 1, 2, 3 ;`},
		{"int i(m)", `i = 0x10, 0X1Fs, 010`, `i = 16, 31, 8 ;`},
		{"int i(m)", `i = 3000000000, 4294967295U, 5LL`, `i = -1294967296, -1, 5 ;`},
		{"int i(m)", `i = 1., 2e3, -3.0f`, `i = 1, 2000, -3 ;`},
		{"byte b(m)", `b = 200, -128, 'a'`, `b = -56, -128, 97 ;`},
		{"short s(m)", `s = 65535, -32768, 5b`, `s = -1, -32768, 5 ;`},
		{"float f(m)", `f = 1e40, -0, 1e-50`, `f = Infinityf, -0, 0 ;`},
		{"float f(m)", `f = nan, FloatInf, -Inff`, `f = NaNf, Infinityf, -Infinityf ;`},
		{"double d(m)", `d = 18446744073709551615, 0x7fffffffffffffff, 5000000000L`, `d = 1.84467440737096e+19, 9.22337203685478e+18, 5000000000 ;`},
		{"double d(m) ; d:_FillValue = -1", `d = _, 2`, `d = _, 2, _ ;`},
		{"int nan ; int NaN ; int x", `nan = 1 ; NaN = 2`, `nan = 1 ; NaN = 2 ; x = _ ;`},
		{"int x(m)", `x =`, `x = _, _, _ ;`},
		{"int x(/m)", `/x = 1`, `x = 1, _, _ ;`},
		// attributes
		{":a = 4294967295, 1", "", ":a = 4294967295U, 1U ;"}, // ncgen: -1, 1
		{":a = 5000000000, -1", "", ":a = 5000000000LL, -1LL ;"},
		{":a = 1ub, -1b", "", ":a = 1b, -1b ;"},
		{":a = 200ub, -1b", "", ":a = 200s, -1s ;"},
		{":a = 65535us, -1s", "", ":a = 65535, -1 ;"},
		{":a = 1b, 2b, 3s", "", ":a = 1s, 2s, 3s ;"},
		{":a = 1, 2.5f", "", ":a = 1.f, 2.5f ;"},
		{"int x ; x:_FillValue = 1.e+20f", "", "x:_FillValue = 1.e+20f ;"},
		{"int x ; float x:_FillValue = 5.", "", "x:_FillValue = 5 ;"},
		{"char x ; x:_FillValue = 300", "", "x:_FillValue = 300 ;"},
		{":a = 0x10, 010", "", ":a = 16, 8 ;"},
		{":a = 1su", "", ":a = 1US ;"},
		{"int float ; float:a = 1", "", "int float ; float:a = 1 ;"},
		{":_IsNetcdf4 = 1 ; :_SuperblockVersion = 2 ; :_NCProperties = \"x\" ; :_Format = \"netCDF-4\"", "", "int v ; data:"},
	} {
		text := "netcdf x {\ndimensions: " + dims + "\nvariables: int v ; " + c.declare + " ;\ndata: " + c.data + strings.Repeat(" ;", min(1, len(c.data))) + "\n}\n"
		require.Contains(t, dump(t, generate(t, text, nil)), c.want, "%s", text)
	}
}

// TestErrors checks that each error is in the right place.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `line 1, column 1: expected "netcdf", found the end of the text`},
		{"hdf x {}", `line 1, column 1: expected "netcdf", found "hdf"`},
		{"netcdf x", "expected {"},
		{"netcdf x {", "line 1, column 11: expected }, found the end of the text"},
		{"netcdf x {} x", `line 1, column 13: expected the end of the text after }, found "x"`},
		{"netcdf x {\n/* é", "line 2, column 1: comment without end"},
		{"netcdf x { types: }", ""},
		{"netcdf x { types: int enum e {a = 1}; }", "line 1, column 19: user-defined types need netCDF-4"},
		{"netcdf x { group: g {} }", "groups need netCDF-4"},
		{"netcdf x { variables: int v; dimensions: x = 1; }", `section "dimensions:": expected types, dimensions`},
		{"netcdf x { dimensions: x = 1 variables: }", `line 1, column 30: expected ;, found "variables:"`},
		{"netcdf x { dimensions: x ; }", "expected =, found ';'"},
		{"netcdf x { dimensions: x = 0 ; }", "expected a length from 1 to 2^63-1"},
		{"netcdf x { dimensions: x = -1 ; }", "expected a length from 1 to 2^63-1"},
		{"netcdf x { dimensions: x = 1.5 ; }", "expected a length or UNLIMITED, found a number"},
		{"netcdf x { dimensions: x = 9223372036854775808 ; }", "expected a length from 1"},
		{"netcdf x { dimensions: x = 99999999999999999999 ; }", "integer beyond 64 bits"},
		{"netcdf x { dimensions: x = 1 ; x = 2 ; }", `line 1, column 32: a second dimension "x"`},
		{"netcdf x { dimensions: x = unlimited ; y = UNLIMITED ; }", `a second unlimited dimension; "x" is the first`},
		{"netcdf x { dimensions: v:a = 1 ; }", `attribute of "v", which is not a variable declared before`},
		{"netcdf x { variables: int v(y) ; }", `line 1, column 29: dimension "y" is not declared`},
		{"netcdf x { dimensions: t = unlimited; n = 1; variables: int v(n, t) ; }", `the unlimited dimension "t" must be the first`},
		{"netcdf x { variables: int v ; int v ; }", `a second variable "v"; the first is in line 1`},
		{"netcdf x { variables: string v ; }", "type string needs netCDF-4"},
		{"netcdf x { variables: foo v ; }", `expected a type or an attribute, found "foo"`},
		{"netcdf x { variables: v:a = 1 ; }", `attribute of "v", which is not a variable`},
		{"netcdf x { variables: int v:a = 1 ; }", `attribute of "v", which is not a variable`},
		{"netcdf x { variables: int v ; v:_FillValue = 1, 2 ; }", "_FillValue: expected one value, found 2"},
		{"netcdf x { :a = \"x\", 1 ; }", "line 1, column 22: text and numbers in one attribute"},
		{"netcdf x { :a = {1} ; }", "braces in an attribute"},
		{"netcdf x { :a = _ ; }", "_ in an attribute"},
		{"netcdf x { :a = \"x ; }", "line 1, column 17: text without closing quote"},
		{"netcdf x { :a = \"\\18\" ; }", "three octal digits"},
		{"netcdf x { :a = \"\\777\" ; }", `at most \377`},
		{"netcdf x { :a = 'ab' ; }", "expected one character in quotes"},
		{"netcdf x { :a = 'é' ; }", "expected one character in quotes"},
		{"netcdf x { :a = 09 ; }", "digit 9 in an octal number"},
		{"netcdf x { :a = 5x ; }", `malformed number "5x"`},
		{"netcdf x { :a = 1.2.3 ; }", `malformed number "1.2.3"`},
		{"netcdf x { :a = . ; }", `malformed number "."`},
		{"netcdf x { :a = 1_0.5 ; }", `malformed number "1_0.5"`},
		{"netcdf x { :a = - ; }", "expected a number"},
		{"netcdf x { :a = -1ub ; }", "negative number with an unsigned suffix"},
		{"netcdf x { :a = 256b ; }", "out of the range of its suffix, a byte"},
		{"netcdf x { :a = 18446744073709551615, -1 ; }", "no type holds all of these integers"},
		{"netcdf x { :a = foo ; }", `expected a value, found "foo"`},
		{"netcdf x { :_Format = \"foo\" ; }", `_Format: expected a kind of file, such as classic; found "foo"`},
		{"netcdf x { byte :a = 300 ; }", "number out of the range of type byte: 300"},
		{"netcdf x { :a = 1 ; $ }", "unexpected character '$'"},
		{"netcdf x { variables: int a\\x ; }", "backslash before a letter in a name"},
		{"netcdf x { variables: int " + strings.Repeat("a", 257) + " ; }", "is longer than 256 bytes"},
		{"netcdf x { variables: byte v ; v:_DeflateLevel = 10 ; }", "_DeflateLevel: expected an integer from 0 to 9"},
		{"netcdf x { variables: byte v ; v:_Shuffle = \"yes\" ; }", `_Shuffle: expected true, false, 1, 0; found "yes"`},
		{"netcdf x { variables: byte v ; v:_ChunkSizes = 0 ; }", "_ChunkSizes: expected positive integers"},
		{"netcdf x { variables: int64 v ; :_Format = \"classic\" ; }", `line 1, column 29: a CDF-1 file cannot have variable "v" of type int64`},
		{"netcdf x { :_Format = \"64-bit offset\" ; :a = 1ULL ; }", `a CDF-2 file cannot have attribute "a" of type uint64`},
		{"netcdf x { dimensions: n = 2147483646 ; variables: :_Format = \"classic\" ; }", `a CDF-1 file cannot have dimension "n" of length 2147483646`},
		{"netcdf x { dimensions: n = 1000000000 ; variables: double a(n), b ; :_Format = \"classic\" ; }", "no room for 8 bytes"},
		{"netcdf x { dimensions: n = 1000000000 ; variables: double a(n), b ; :_Format = \"nc6\" ; }", `variable "a": it is too large, unless it is the last one`},
		{"netcdf x { dimensions: n = 4611686018427387904 ; variables: double a(n) ; }", "cannot lay out variable 0"},
		{"netcdf x { dimensions: n = 1099511627776 ; variables: byte a(n) ; }", `beyond the largest file allowed, 1099511627776 bytes`},
		// values
		{"netcdf x { variables: int v ; data: w = 1 ; }", `variable "w" is not declared`},
		{"netcdf x { variables: int v ; data: v = 1 ; v = 2 ; }", `variable "v" has values already, in line 1`},
		{"netcdf x { variables: int v ; data: v = 1, 2 ; }", `line 1, column 44: too many values: variable "v" holds at most 1`},
		{"netcdf x { dimensions: n = 2 ; variables: char v(n) ; data: v = \"abc\" ; }", "too many values"},
		{"netcdf x { variables: int v ; data: v = {1} ; }", "more braces than dimensions"},
		{"netcdf x { dimensions: n = 2 ; variables: int v(n) ; data: v = {1, 2 ; }", "expected , or }, found ';'"},
		{"netcdf x { dimensions: n = 2 ; variables: int v(n) ; data: v = 1 2 ; }", "expected , or ;, found a number"},
		{"netcdf x { dimensions: n = 2 ; variables: int v(n) ; data: v = 1, ; }", "expected a value, found ';'"},
		{"netcdf x { dimensions: n = 2 ; variables: int v(n) ; data: v = 1", "found the end of the text"},
		{"netcdf x { variables: int v ; data: v = \"12\" ; }", "expected a number of type int, found text"},
		{"netcdf x { variables: int v ; data: v = 1.5 ; }", "expected an integer of type int, found 1.5"},
		{"netcdf x { variables: int v ; data: v = NaN ; }", "expected an integer of type int, found NaN"},
		{"netcdf x { variables: short v ; data: v = 65536 ; }", "number out of the range of type short: 65536"},
		{"netcdf x { variables: char v ; data: v = \"ab\" ; }", "expected one character"},
		{"netcdf x { variables: char v ; data: v = 65 ; }", "expected a character, found a number"},
		{"netcdf x { dimensions: n = 2 ; variables: char v(n) ; data: v = 65 ; }", "expected text, found a number"},
	} {
		f, err := cdlgen.Parse(context.Background(), strings.NewReader(c.text), nil)
		if c.want == "" {
			require.NoError(t, err, "%s", c.text)
			f.Close()
			continue
		}
		var s *cdlgen.SyntaxError
		require.ErrorAs(t, err, &s, "%s", c.text)
		require.Contains(t, err.Error(), c.want, "%s", c.text)
	}
}

// TestVersions checks the choice of the version.
func TestVersions(t *testing.T) {
	for text, want := range map[string]cdf3.Version{
		"variables: int v ;":                                    cdf3.Classic,
		"variables: ubyte v ;":                                  cdf3.Data64,
		":a = 1LL ;":                                            cdf3.Data64,
		":_Format = \"cdf5\" ;":                                 cdf3.Data64,
		":_Format = \"64-bit offset\" ;":                        cdf3.Offset64,
		"dimensions: n = 2147483646 ;":                          cdf3.Offset64,
		"dimensions: n = 4294967293 ;":                          cdf3.Data64,
		"dimensions: n = 1000000000 ; variables: int a(n), b ;": cdf3.Offset64,
		"dimensions: n = 2000000000 ; variables: int a(n), b ;": cdf3.Data64,
		"dimensions: n = 2000000000 ; variables: int a, b(n) ;": cdf3.Classic,
	} {
		f, err := cdlgen.Parse(context.Background(), strings.NewReader("netcdf x {"+text+"}"), nil)
		require.NoError(t, err)
		require.Equal(t, want, f.Header.Version, "%s", text)
		f.Close()
	}
	_, err := cdlgen.Parse(context.Background(), strings.NewReader("netcdf x { variables: ubyte v ; }"), &cdlgen.Options{Version: cdf3.Offset64})
	require.ErrorContains(t, err, "a CDF-2 file cannot have")
	_, err = cdlgen.Parse(context.Background(), strings.NewReader("netcdf x { dimensions: t = unlimited ; variables: byte v(t) ; data: v = 1, 2, 3 ; }"), &cdlgen.Options{MaxSize: 100})
	require.NoError(t, err)
	_, err = cdlgen.Parse(context.Background(), strings.NewReader("netcdf x { dimensions: t = unlimited ; variables: byte v(t) ; data: v = 1, 2, 3 ; }"), &cdlgen.Options{MaxSize: 2})
	require.ErrorContains(t, err, "largest file allowed")
}

// TestStorage checks the special attributes and the chains that follow from them.
func TestStorage(t *testing.T) {
	f, err := cdlgen.Parse(context.Background(), strings.NewReader(`netcdf "a b" {
:_BlockSize = 65536 ;
variables:
	int a, b, c, d, e, f, g ;
	a:_Storage = "chunked" ; a:_ChunkSizes = 3, 4 ; a:_Shuffle = "true" ; a:_DeflateLevel = 5 ; a:_Fletcher32 = 1 ; a:_Endianness = "little" ;
	a:_Filter = "307,9|32015,3" ;
	b:_Codecs = "[{\"id\":\"zlib\",\"level\":1},{\"id\":\"crc\"}]" ;
	c:_Codecs = "[]" ; c:_NoFill = "true" ;
	d:_Filter = "nope" ;
	e:_Codecs = "{" ;
	f:_Filter = "1,6?|2,4|32001,2,2,4,64,5,1,1" ; f:_Codecs = "[{\"id\":\"zlib\"},{\"id\":\"shuffle\"},{\"id\":\"blosc\"}]" ;
	g:_Shuffle = "true" ; g:_Filter = "32015,3" ; g:_Codecs = "[{\"id\":\"zstd\",\"level\":5},{\"id\":\"shuffle\"}]" ;
}`), nil)
	require.NoError(t, err)
	defer f.Close()
	require.EqualValues(t, 65536, f.BlockSize)
	require.Empty(t, f.Header.Attrs)
	require.Empty(t, f.Header.Vars[0].Attrs)
	s := &f.Storage[0]
	require.Equal(t, []int64{3, 4}, s.ChunkSizes)
	require.Equal(t, "chunked", s.Layout)
	c, ok, err := s.Chain()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "3|2|1,5|307,9|32015,3", c.String())
	_, _, err = f.Storage[1].Chain()
	require.ErrorContains(t, err, "crc")
	c, ok, err = f.Storage[2].Chain()
	require.NoError(t, err)
	require.True(t, ok && len(c) == 0 && f.Storage[2].NoFill)
	c, _, err = f.Storage[5].Chain()
	require.NoError(t, err)
	require.Equal(t, "1,6?|2,4|32001,2,2,4,64,5,1,1", c.String(), "_Filter is exact")
	c, _, err = f.Storage[6].Chain()
	require.NoError(t, err)
	require.Equal(t, "32015,5|2,4", c.String(), "only _Codecs has the order")
	for _, i := range []int{3, 4} {
		_, _, err = f.Storage[i].Chain()
		require.Error(t, err)
	}
}

// grammar returns a text with every form of the classic model.
func grammar(t testing.TB) string {
	b, err := os.ReadFile("testdata/grammar.cdl")
	require.NoError(t, err)
	return string(b)
}

// TestReaders reads from readers that return little or fail, and writes to writers that
// fail.
func TestReaders(t *testing.T) {
	text := grammar(t)
	want := generate(t, text, nil)
	for _, r := range []io.Reader{iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader("\xef\xbb\xbf" + text))} {
		f, err := cdlgen.Parse(context.Background(), r, nil)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, f.Write(context.Background(), &b))
		require.Equal(t, want, b.Bytes())
	}
	boom := errors.New("failed on purpose")
	for n := 0; n < len(text); n += 7 {
		_, err := cdlgen.Parse(context.Background(), io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(boom)), nil)
		require.ErrorIs(t, err, boom)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := cdlgen.Parse(ctx, strings.NewReader(text), nil)
	require.ErrorIs(t, err, context.Canceled)
	f, err := cdlgen.Parse(context.Background(), strings.NewReader(text), nil)
	require.NoError(t, err)
	require.ErrorIs(t, f.Write(ctx, io.Discard), context.Canceled)
}

// TestNoFill checks values that the text does not give.
func TestNoFill(t *testing.T) {
	const text = "netcdf x { dimensions: t = unlimited ; variables: short a, b, c(t), d(t) ; b:_NoFill = 1 ; d:_NoFill = 1 ; data: c = 1, 2 ; }"
	want := "a = _ ; b = 0 ; c = 1, 2 ; d = 0, 0 ;"
	require.Contains(t, dump(t, generate(t, text, nil)), want)
	want = "a = 0 ; b = 0 ; c = 1, 2 ; d = 0, 0 ;"
	require.Contains(t, dump(t, generate(t, text, &cdlgen.Options{NoFill: true})), want)
}

func ExampleParse() {
	f, err := cdlgen.Parse(context.Background(), strings.NewReader(`netcdf example {
dimensions:
	time = UNLIMITED ;
variables:
	float tas(time) ;
		tas:units = "K" ;
data:
	tas = 281.5, 279, _ ;
}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	var b bytes.Buffer
	if err := f.Write(context.Background(), &b); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Header.Version, f.Header.NumRecs, "records,", b.Len(), "bytes")
	// Output: CDF-1 3 records, 116 bytes
}
