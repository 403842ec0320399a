package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// TestEachBox: boxes follow each other, cover all and are as large as allowed.
func TestEachBox(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for range 500 {
		shape := make([]int64, rng.Intn(5))
		total := int64(1)
		for i := range shape {
			shape[i] = 1 + rng.Int63n(6)
			total *= shape[i]
		}
		most := 1 + rng.Int63n(total+3)
		next, boxes := int64(0), 0
		require.NoError(t, eachBox(shape, most, func(b *box) error {
			// The box is contiguous: its first position is where the last one ended.
			off, n := int64(0), int64(1)
			for i := range shape {
				off = off*shape[i] + b.start[i]
				n *= b.count[i]
			}
			require.Equal(t, next, off, "%v", shape)
			require.Equal(t, n, b.n)
			require.LessOrEqual(t, n, most)
			next += n
			boxes++
			return nil
		}))
		require.Equal(t, total, next)
		if most >= total {
			require.Equal(t, 1, boxes)
		}
	}
	require.NoError(t, eachBox([]int64{3, 0}, 10, func(*box) error { return fmt.Errorf("a box of nothing") }))
}

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"tas": "tas", "a.b": "a.b", ".x": "%2Ex", "..": "%2E.", "-v": "%2Dv", "a/b": "a%2Fb", "a b": "a%20b", "": "%", "é": "é",
		"\xff\x00": "%FF%00", "a%20": "a%2520", `a\b:c`: "a%5Cb%3Ac", "nul": "%6Eul", strings.Repeat("x", 300): strings.Repeat("x", 200),
	} {
		require.Equal(t, want, fileName(name))
	}
	var sel []*selected
	for _, n := range []string{"T", "t", "T", "t-2"} {
		sel = append(sel, &selected{v: &cdf3.Var{Name: n}})
	}
	require.Equal(t, []string{"T.npy", "t-2.npy", "T-3.npy", "t-2-2.npy"}, targetNames(sel, "npy"))
}

// TestGetNames: every variable of files with odd names can be had, by its name as
// it is printed and with backslashes, and all of them go into files of their own.
func TestGetNames(t *testing.T) {
	for _, file := range []string{"cdf1_names.nc", "cdf1_names_nul.nc"} {
		src := filepath.Join("../../testdata/classic", file)
		f, err := archive.Open(t.Context(), src, nil)
		require.NoError(t, err)
		defer f.Close()
		h := f.Header()
		dir := t.TempDir()
		args := []string{"get", "-q", "--format", "raw", "-o", dir, src, "--"}
		for i := range h.Vars {
			name := h.Vars[i].Name
			escaped := ""
			for _, c := range []byte(name) {
				escaped += fmt.Sprintf(`\x%02x`, c)
			}
			for _, arg := range []string{quoted(name), strconv.Quote(name), strconv.QuoteToASCII(name), escaped} {
				p, err := parsePicked(arg + "[0]")
				require.NoError(t, err, arg)
				require.Equal(t, name, p.name)
			}
			args = append(args, escaped)
		}
		var stderr bytes.Buffer
		require.Zero(t, run(t.Context(), args, nil, &bytes.Buffer{}, &stderr), "%s", &stderr)
		require.Len(t, names(t, dir), len(h.Vars))
	}
}

// TestNpyHeader: lengths are a multiple of 64, and version 2.0 is for long ones.
func TestNpyHeader(t *testing.T) {
	require.Equal(t, "\x93NUMPY\x01\x00\x76\x00{'descr': '>f4', 'fortran_order': False, 'shape': (3, 4), }"+strings.Repeat(" ", 58)+"\n",
		string(npyHeader(cdf3.Float, []int64{3, 4}, false)))
	require.Contains(t, string(npyHeader(cdf3.Short, nil, true)), "'<i2', 'fortran_order': False, 'shape': (), }")
	require.Contains(t, string(npyHeader(cdf3.Char, []int64{7}, true)), "'|S1', 'fortran_order': False, 'shape': (7,), }")
	for rank := range 200 {
		h := npyHeader(cdf3.Double, make([]int64, rank), false)
		require.Zero(t, len(h)%64)
		require.Equal(t, byte('\n'), h[len(h)-1])
		require.Equal(t, len(h)-10, int(binary.LittleEndian.Uint16(h[8:])))
	}
	h := npyHeader(cdf3.Double, make([]int64, 30000), false)
	require.Equal(t, "\x93NUMPY\x02\x00", string(h[:8]))
	require.Equal(t, len(h)-12, int(binary.LittleEndian.Uint32(h[8:])))
	require.Zero(t, len(h)%64)
}

// TestAppendFloat: what is printed reads as the same number.
func TestAppendFloat(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", 1e6: "1000000", 0.1: "0.1", 1e-6: "0.000001", 1e-7: "1e-07", 1e20: "100000000000000000000", 1e21: "1e+21", -2.5: "-2.5",
		math.Inf(1): "Inf", math.Inf(-1): "-Inf",
	} {
		require.Equal(t, want, string(appendCSVFloat(nil, x, 64)))
	}
	require.Equal(t, "-0", string(appendCSVFloat(nil, math.Copysign(0, -1), 64)))
	require.Equal(t, "NaN", string(appendCSVFloat(nil, math.NaN(), 64)))
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.Equal(t, "null", string(appendJSONFloat(nil, x, 64)))
	}
	require.Equal(t, "288.15", string(appendJSONFloat(nil, float64(float32(288.15)), 32)))
}

func TestStrings(t *testing.T) {
	for s, want := range map[string]string{"": "", "a": "a", "a,b": `"a,b"`, `a"b`: `"a""b"`, "a\nb": "\"a\nb\"", " a": " a", "\xff": "\xff"} {
		require.Equal(t, want, string(appendCSVString(nil, []byte(s))))
	}
	for s, want := range map[string]string{"": `""`, "a": `"a"`, `a"\`: `"a\"\\"`, "a\n\x01\x7f": `"a\n\u0001\u007f"`, "é": `"é"`, "\xe9": `"é"`, "é\xff": `"Ã©ÿ"`} {
		require.Equal(t, want, string(appendJSONString(nil, []byte(s))))
	}
}

func TestAppendEmpty(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		want  string
	}{{[]int64{0}, "[]"}, {[]int64{0, 3}, "[]"}, {[]int64{2, 0}, "[[],[]]"}, {[]int64{2, 0, 5}, "[[],[]]"}, {[]int64{1, 2, 0}, "[[[],[]]]"}, {[]int64{1 << 20, 1 << 20, 0}, "[]"}, {nil, ""}, {[]int64{2}, ""}} {
		require.Equal(t, c.want, string(appendEmpty(nil, c.shape)), "%v", c.shape)
	}
}

func attr(name string, t cdf3.Type, b ...byte) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: t, Len: int64(len(b)) / t.Size(), Values: b}
}

func double(x float64) []byte { return binary.BigEndian.AppendUint64(nil, math.Float64bits(x)) }

func TestUnpack(t *testing.T) {
	nan := math.Float64frombits(quietNaN)
	for _, c := range []struct {
		typ   cdf3.Type
		in    []byte
		want  []float64
		attrs []cdf3.Attr
	}{
		{cdf3.Short, []byte{0, 2, 0xff, 0xff}, []float64{2, 0.5}, []cdf3.Attr{attr("scale_factor", cdf3.Double, double(.5)...), attr("add_offset", cdf3.Byte, 1)}},
		{cdf3.Short, []byte{0, 2, 0xff, 0xff}, []float64{2, nan}, []cdf3.Attr{attr("_FillValue", cdf3.Short, 0xff, 0xff)}},
		{cdf3.Short, []byte{0, 2, 0xff, 0xff, 0, 3}, []float64{nan, -1, nan}, []cdf3.Attr{attr("missing_value", cdf3.Short, 0, 2, 0, 3)}},
		{cdf3.Byte, []byte{1, 0xff, 0xfe}, []float64{1, nan, 254}, []cdf3.Attr{attr("_Unsigned", cdf3.Char, []byte("true")...), attr("_FillValue", cdf3.Byte, 0xff)}},
		{cdf3.UByte, []byte{1, 0xff}, []float64{1, -1}, []cdf3.Attr{attr("_Unsigned", cdf3.Char, []byte("false")...)}},
		{cdf3.Byte, []byte{1, 0xff}, []float64{1, nan}, []cdf3.Attr{attr("_FillValue", cdf3.Double, double(-1)...)}},
		{cdf3.Float, []byte{0x60, 0xad, 0x78, 0xec}, []float64{nan}, []cdf3.Attr{attr("missing_value", cdf3.Double, double(1e20)...)}},
		{cdf3.Int64, []byte{0x7f, 255, 255, 255, 255, 255, 255, 254, 0x7f, 255, 255, 255, 255, 255, 255, 255}, []float64{1 << 63, nan},
			[]cdf3.Attr{attr("_FillValue", cdf3.Int64, 0x7f, 255, 255, 255, 255, 255, 255, 255)}},
		{cdf3.Int64, []byte{255, 255, 255, 255, 255, 255, 255, 255}, []float64{1 << 64}, []cdf3.Attr{attr("_Unsigned", cdf3.Char, []byte("TRUE\x00")...)}},
		{cdf3.UInt, []byte{0, 0, 0, 5}, []float64{nan}, []cdf3.Attr{attr("missing_value", cdf3.UInt, 0, 0, 0, 5), attr("add_offset", cdf3.Byte, 1)}},
	} {
		u, err := newUnpacker(&cdf3.Var{Type: c.typ, Attrs: c.attrs})
		require.NoError(t, err)
		out := make([]byte, 8*len(c.want))
		u.unpack(out, c.in)
		for i, w := range c.want {
			require.Equal(t, math.Float64bits(w), binary.BigEndian.Uint64(out[8*i:]), "%v: %v", c, i)
		}
	}
	for _, attrs := range [][]cdf3.Attr{nil, {attr("_Unsigned", cdf3.Char, 'n')}, {attr("missing_value", cdf3.Char, '5')}, {attr("units", cdf3.Char, 'm')}} {
		u, err := newUnpacker(&cdf3.Var{Type: cdf3.Int, Attrs: attrs})
		require.NoError(t, err)
		require.Nil(t, u)
	}
	for _, a := range []cdf3.Attr{attr("scale_factor", cdf3.Char, '2'), attr("add_offset", cdf3.Byte, 1, 2), attr("scale_factor", cdf3.Byte)} {
		_, err := newUnpacker(&cdf3.Var{Name: "v", Type: cdf3.Int, Attrs: []cdf3.Attr{a}})
		require.EqualError(t, err, "cannot unpack v: "+a.Name+" is not one number")
	}
	u, err := newUnpacker(&cdf3.Var{Type: cdf3.Char, Attrs: []cdf3.Attr{attr("_FillValue", cdf3.Char, 0)}})
	require.NoError(t, err)
	require.Nil(t, u)
}

// TestGetURL: a file at a URL, whose user and query are not shown.
func TestGetURL(t *testing.T) {
	src := "../../testdata/classic/cdf2_climate.nc"
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	get := func(args ...string) int {
		stdout.Reset()
		stderr.Reset()
		return run(t.Context(), args, nil, &stdout, &stderr)
	}
	require.Zero(t, get("archive", "-q", "-o", filepath.Join(dir, "a.nc.cdfz"), src))
	b, err := os.ReadFile(src)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.nc"), b, 0o600))
	require.Zero(t, get("get", src, "tas[3, :, ::2]"))
	want := stdout.String()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	secret := strings.Replace(server.URL, "http://", "http://me:secret@", 1)
	for _, name := range []string{"/a.nc", "/a.nc.cdfz"} {
		require.Zero(t, get("get", "--json", "--explain", secret+name+"?sig=secret", "tas[3, :, ::2]"), "%s", &stderr)
		require.Equal(t, want, stdout.String())
		require.Contains(t, stderr.String(), `{"file":"`+server.URL+name+`","target":"-"`)
		require.NotContains(t, stderr.String(), "secret")
		require.Equal(t, exitFailed, get("get", secret+name+"?sig=secret", "tsa"))
		require.Equal(t, "cdfz: "+server.URL+name+": there is no variable tsa\ncdfz: hint: near it: tas, ta\n", stderr.String())
	}
	require.Equal(t, exitFailed, get("get", secret+"/none?sig=secret", "v"))
	require.Equal(t, 1, strings.Count(stderr.String(), server.URL), "%s", &stderr)
	require.NotContains(t, stderr.String(), "secret")
}
