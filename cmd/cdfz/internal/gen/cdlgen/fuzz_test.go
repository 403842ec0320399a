package cdlgen_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cdl"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/gen/cdlgen"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzParse checks that text of any kind is parsed or refused, and that the text of the
// resulting file makes the same file again.
func FuzzParse(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{
		"grammar": grammar(f),
		"text":    `netcdf x { dimensions: t = unlimited ; n = 3 ; variables: char c(t, n) ; data: c = "a", 'b', "\000\n" ; }`,
		"numbers": `netcdf x { dimensions: n = 9 ; variables: double d(n) ; data: d = 0x1F, 017, -1LL, 1e5f, NaN, -Infinity, _, .5, 1ULL ; }`,
		"special": `netcdf x { dimensions: n = 9 ; variables: int d(n) ; d:_Filter = "1,5" ; d:_ChunkSizes = 3 ; :_Format = "cdf5" ; }`,
		"braces":  `netcdf x { dimensions: m = 2 ; n = 2 ; variables: int d(m, n) ; data: d = {{1, 2}, {3, _}} ; }`,
		"types":   `netcdf x { variables: uint64 a, b ; a:x = 1ub, 2us, 3u, 4ull ; int64 c ; c:_FillValue = -1LL ; }`,
	} {
		s.AddDamaged(name, []byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := cdlgen.Parse(context.Background(), bytes.NewReader(text), &cdlgen.Options{MaxSize: 1 << 16})
		if err != nil {
			return
		}
		defer g.Close()
		var b bytes.Buffer
		require.NoError(t, g.Write(context.Background(), &b))
		require.Equal(t, g.Size(), int64(b.Len()))
		h, err := cdf3.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		require.NoError(t, err)
		require.Equal(t, g.Header.NumRecs, h.NumRecs)
		for i := range g.Storage {
			_, _, _ = g.Storage[i].Chain()
		}
		if odd(h) {
			return
		}
		file, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, cdl.Dump(context.Background(), &out, file, &cdl.Options{FloatDigits: 9, DoubleDigits: 17}))
		again, err := cdlgen.Parse(context.Background(), strings.NewReader(out.String()), &cdlgen.Options{Version: h.Version, MaxSize: 1 << 20})
		require.NoError(t, err, "%s", &out)
		defer again.Close()
		require.Equal(t, len(h.Vars), len(again.Header.Vars))
		require.Equal(t, len(h.Attrs), len(again.Header.Attrs))
	})
}

// odd reports whether the text of a file cannot be read again: names that escapes do not
// keep, or attributes that change the text.
func odd(h *cdf3.Header) bool {
	attrs := h.Attrs
	for i := range h.Vars {
		attrs = append(attrs, h.Vars[i].Attrs...)
		if oddName(h.Vars[i].Name) {
			return true
		}
	}
	for i := range h.Dims {
		if oddName(h.Dims[i].Name) {
			return true
		}
	}
	for i := range attrs {
		// C_format changes values, and a special attribute of a variable may stand at the
		// file, and the reverse.
		if n := attrs[i].Name; oddName(n) || n == "C_format" || strings.HasPrefix(n, "_") {
			return true
		}
	}
	return false
}

func oddName(s string) bool {
	if strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c == 0x7f || c == '/' }) {
		return true
	}
	switch s {
	case "_", "types", "dimensions", "variables", "data", "group":
		return true
	}
	return strings.ContainsAny(s[:1], ".@+-")
}
