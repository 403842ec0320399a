package cdl

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

var generic = regexp.MustCompile(`^%(#?)\.(\d+)g$`)

// TestPrintf compares with the output of C's printf in testdata/printf.txt.
func TestPrintf(t *testing.T) {
	b, err := os.ReadFile("testdata/printf.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	require.Greater(t, len(lines), 1000)
	for _, line := range lines {
		w := strings.SplitN(line, "\t", 4)
		f, ok := parseFormat(w[1])
		require.True(t, ok, line)
		if w[0] == "int" {
			n, err := strconv.Atoi(w[2])
			require.NoError(t, err)
			got := f.appender(cdf3.Int)(nil, []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
			require.Equal(t, w[3], string(got), line)
			continue
		}
		x, err := strconv.ParseFloat(w[2], 64)
		require.NoError(t, err)
		got := append(append([]byte(f.before), f.appendFloat(nil, x)...), f.after...)
		require.Equal(t, w[3], string(got), line)
		m := generic.FindStringSubmatch(w[1])
		if m == nil {
			continue
		}
		digits, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		if m[1] == "#" {
			require.Equal(t, trimZeros(w[3]), string(appendAttrFloat(nil, x, digits)), line)
			continue
		}
		require.Equal(t, w[3], string(appendFloat64(nil, x, digits)), line)
		if float64(float32(x)) == x {
			require.Equal(t, w[3], string(appendFloat32(nil, float32(x), digits)), line)
		}
	}
}

// trimZeros strips trailing zeros from a mantissa.
func trimZeros(s string) string {
	mantissa, exp, ok := strings.Cut(s, "e")
	mantissa = strings.TrimRight(mantissa, "0")
	if ok {
		return mantissa + "e" + exp
	}
	return mantissa
}

func TestFormatRefused(t *testing.T) {
	for _, s := range []string{"%", "%s", "%5", "%d %d", "%n", "%*d", "%.999f", "%ws", "%a", "% "} {
		_, ok := parseFormat(s)
		require.False(t, ok, s)
	}
	for s, typ := range map[string]cdf3.Type{"%d": cdf3.Float, "%f": cdf3.Int, "%Lf": cdf3.Double, "%hf": cdf3.Float, "%c": cdf3.Double} {
		f, ok := parseFormat(s)
		require.False(t, ok && f.appender(typ) != nil, s)
	}
}

// TestFormatTypes checks formats whose result depends on the type.
func TestFormatTypes(t *testing.T) {
	for _, c := range []struct {
		format string
		typ    cdf3.Type
		b      []byte
		want   string
	}{
		{"%d", cdf3.Byte, []byte{0xff}, "-1"},
		{"%d", cdf3.UByte, []byte{0xff}, "255"},
		{"%x", cdf3.Short, []byte{0xff, 0xff}, "ffffffff"},
		{"%ld", cdf3.Short, []byte{0xff, 0xff}, "4294967295"},
		{"%lld", cdf3.Int64, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "-1"},
		{"%llu", cdf3.UInt64, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "18446744073709551615"},
		{"%d", cdf3.Char, []byte("A"), "65"},
		{"[%c]", cdf3.Char, []byte("A"), "[A]"},
		{"[%c]", cdf3.Char, []byte{0}, "["},
		{"%.1f", cdf3.Float, []byte{0x7f, 0xc0, 0, 0}, "NaNf"},
		{"%.1f", cdf3.Double, []byte{0xff, 0xf0, 0, 0, 0, 0, 0, 0}, "-Infinity"},
		{"%.2f", cdf3.Double, []byte{0x7f, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, fmt.Sprintf("%.2f", math.MaxFloat64)[:maxOutput]},
		{"only text", cdf3.Double, make([]byte, 8), "only text"},
	} {
		f, ok := parseFormat(c.format)
		require.True(t, ok)
		require.Equal(t, c.want, string(f.appender(c.typ)(nil, c.b)), "%s of %v", c.format, c.typ)
	}
}

func TestSameAsFill(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	next := func(x float32, n int) float32 {
		for range n {
			x = math.Nextafter32(x, 2*x)
		}
		return x
	}
	for _, c := range []struct {
		fill, x float32
		want    bool
	}{
		{1, 1, true}, {1, next(1, 1), true}, {1, next(1, 2), false}, {0, float32(math.Copysign(0, -1)), true},
		{-1, 1, false}, {float32(nan), float32(nan), true}, {float32(inf), float32(inf), true}, {float32(inf), 1, false},
		{float32(inf), float32(-inf), false}, {-1, 0, false}, {0, -1, false}, {float32(nan), -1, false},
	} {
		require.Equal(t, c.want, sameFloat32(c.fill, c.x), "%v %v", c.fill, c.x)
	}
	require.True(t, sameFloat64(1e20, 1e20*(1+epsilon64)))
	require.False(t, sameFloat64(1e20, 1e20*(1+4*epsilon64)))
	require.True(t, sameFloat64(nan, nan))
	require.False(t, sameFloat64(-inf, inf))
}

func BenchmarkFloat(b *testing.B) {
	for _, x := range []float32{12, 101325.25, 0.1, 1.2345678e-9} {
		b.Run(fmt.Sprint(x), func(b *testing.B) {
			buf := make([]byte, 0, 64)
			for b.Loop() {
				buf = appendFloat32(buf[:0], x, floatDigits)
			}
		})
	}
}
