//go:build judge && linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// The causes for which ncdump prints another text for a URL than for the file, as
// docs/serve.md lists them. DAP2 cannot carry the first two; the others are libnetcdf's.
const (
	causeType   = "types"
	causeScalar = "char without dimensions"
	causeEmpty  = "no elements"
	causeName   = "names"
	causeFill   = "_FillValue of another type"
	causeNUL    = "NUL in text"
	causeTwice  = "the same name twice"
	causeStream = "records of a stream"
)

// dapTypes are the causes that DAP2 has no types for.
var dapTypes = []string{causeType, causeScalar}

// dapCauses returns the causes that a file has, in their order.
func dapCauses(t *testing.T, b []byte) []string {
	t.Helper()
	h, err := cdf3.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	has := map[string]bool{causeStream: h.Streaming}
	name := func(seen map[string]bool, s string) {
		has[causeTwice] = has[causeTwice] || seen[s]
		seen[s] = true
		has[causeName] = has[causeName] || s == "" || strings.ContainsFunc(s, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+", r)
		})
	}
	attrs := func(list []cdf3.Attr, k cdf3.Type) {
		seen := map[string]bool{}
		for _, a := range list {
			name(seen, a.Name)
			has[causeType] = has[causeType] || a.Type >= cdf3.UByte
			has[causeFill] = has[causeFill] || k != 0 && a.Name == "_FillValue" && a.Type != k
			has[causeNUL] = has[causeNUL] || a.Type == cdf3.Char && bytes.IndexByte(a.Values, 0) >= 0
		}
	}
	attrs(h.Attrs, 0)
	vars := map[string]bool{}
	for i := range h.Vars {
		v := &h.Vars[i]
		name(vars, v.Name)
		attrs(v.Attrs, v.Type)
		for _, id := range v.DimIDs {
			name(map[string]bool{}, h.Dims[id].Name)
		}
		has[causeType] = has[causeType] || v.Type >= cdf3.UByte
		has[causeScalar] = has[causeScalar] || v.Type == cdf3.Char && len(v.DimIDs) == 0
		has[causeEmpty] = has[causeEmpty] || v.Len == 0
		if v.Type == cdf3.Char && v.Len > 0 && len(v.Shape) > 0 {
			text := charsOf(h, v, b)
			for row := v.Shape[len(v.Shape)-1]; int64(len(text)) >= row; text = text[row:] {
				has[causeNUL] = has[causeNUL] || bytes.IndexByte(bytes.TrimRight(text[:row], "\x00"), 0) >= 0
			}
		}
	}
	var list []string
	for _, c := range []string{causeType, causeScalar, causeEmpty, causeName, causeFill, causeNUL, causeTwice, causeStream} {
		if has[c] {
			list = append(list, c)
		}
	}
	return list
}

// charsOf returns the values of a variable of type char, of all records.
func charsOf(h *cdf3.Header, v *cdf3.Var, b []byte) []byte {
	var text []byte
	for n := range v.Len / v.RecLen {
		begin := v.Begin + n*h.RecSize
		text = append(text, b[min(int64(len(b)), begin):min(int64(len(b)), begin+v.RecLen)]...)
	}
	return text
}

// TestJudgeDAPCauses has a file for each cause. It fixes the lines that ncdump prints for the
// file only, and those that it prints for the URL only.
func TestJudgeDAPCauses(t *testing.T) {
	for name, test := range map[string]struct {
		causes       []string
		kind, cdl    string
		gone, appear string
	}{
		"unsigned": {[]string{causeType}, "5", `dimensions: x = 2 ; variables: ushort v(x) ; v:a = 7U ; data: v = 1, 2 ;`,
			"\tushort v(x) ;\n\t\tv:a = 7U ;\n", "\tshort v(x) ;\n\t\tv:a = 7 ;\n"},
		"attribute": {[]string{causeType}, "5", `dimensions: x = 2 ; variables: int v(x) ; v:a = 7LL ; data: v = 1, 2 ;`,
			"\t\tv:a = 7LL ;\n", "\t\tv:a = \"7\" ;\n"},
		"scalar": {[]string{causeScalar}, "1", `variables: char c ; data: c = "a" ;`,
			"\tchar c ;\n", "\tmaxStrlen1 = 1 ;\n\tchar c(maxStrlen1) ;\n"},
		"empty": {[]string{causeEmpty}, "1", `dimensions: t = UNLIMITED ; x = 2 ; variables: float a(t) ; a:k = 1.f ; int v(x) ; data: v = 1, 2 ;`,
			"\tt = UNLIMITED ; // (0 currently)\n\tfloat a(t) ;\n\t\ta:k = 1.f ;\n", ""},
		"space": {[]string{causeName}, "1", `dimensions: x = 2 ; variables: int a\ b(x) ; data: a\ b = 1, 2 ;`,
			"\tint a\\ b(x) ;\n a\\ b = 1, 2 ;\n", "\tint a%20b(x) ;\n a%20b = 1, 2 ;\n"},
		"unicode": {[]string{causeName}, "1", `dimensions: x = 2 ; variables: int θ(x) ; data: θ = 1, 2 ;`,
			"\tint θ(x) ;\n θ = 1, 2 ;\n", "\tint _%CE%B8(x) ;\n _%CE%B8 = 1, 2 ;\n"},
		"fill": {[]string{causeFill}, "1", `dimensions: x = 2 ; variables: float v(x) ; v:_FillValuE = 9. ; data: v = 1, 2 ;`,
			"\t\tv:_FillValue = 9. ;\n", "\t\tv:_FillValue = 9.f ;\n"},
		"nul": {[]string{causeNUL}, "1", `dimensions: x = 3 ; variables: char v(x) ; data: v = "a\000b" ;`,
			" v = \"a\\000b\" ;\n", " v = \"a\" ;\n"},
		// Nothing is lost of these.
		"signed": {nil, "1", `dimensions: x = 4 ; variables: byte v(x) ; v:_FillValue = -1b ; v:flags = 1b, 127b ; v:valid_range = -128b, 127b ; byte u(x) ; u:_Unsigned = "true" ; u:_FillValue = -1b ; u:a = -2b ;
			byte s ; float f(x) ; f:_FillValue = NaNf ; f:a = NaNf, Infinityf, -Infinityf ; double d(x) ; d:missing_value = -Infinity ; :a = NaN, Infinity, -Infinity ; :g = -1b ; data:
			v = -1, -128, 127, 0 ; u = -1, -128, 127, 0 ; s = -7 ; f = 1, NaNf, Infinityf, -Infinityf ; d = 1, NaN, Infinity, -Infinity ;`, "", ""},
		// Attributes that files from other servers have, and that libnetcdf takes for this server's.
		"copied": {nil, "1", `dimensions: t = 2 ; s = 3 ; variables: float v(t) ; char c(t, s) ; c:DODS.strlen = 9 ; c:DODS.dimName = "z" ; :DODS_EXTRA.Unlimited_Dimension = "t" ; data: v = 1, 2 ; c = "abc", "def" ;`,
			"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "x.cdl"), []byte("netcdf x { "+test.cdl+" }"), 0o644))
			out, err := self(t, "gen", "-k", test.kind, "-o", filepath.Join(dir, "x.nc"), filepath.Join(dir, "x.cdl")).CombinedOutput()
			require.NoError(t, err, string(out))
			b, err := os.ReadFile(filepath.Join(dir, "x.nc"))
			require.NoError(t, err)
			// cdfz gen converts _FillValue to the type of the variable.
			b = bytes.ReplaceAll(b, []byte("_FillValuE"), []byte("_FillValue"))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "x.nc"), b, 0o644))
			require.Equal(t, test.causes, dapCauses(t, b))
			s := serveOn(t, dir)
			want := strings.SplitAfter(comparable(output(dir, "ncdump", "-n", "x", "x.nc")), "\n")
			got := strings.SplitAfter(comparable(output(dir, "ncdump", "-n", "x", s.at+"/dap/x.nc")), "\n")
			require.Equal(t, test.gone, linesWithout(want, got))
			require.Equal(t, test.appear, linesWithout(got, want))
		})
	}
}

// linesWithout returns the lines that other does not have, but for empty ones.
func linesWithout(list, other []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(list), func(l string) bool { return l == "\n" || slices.Contains(other, l) }), "")
}
