package formats

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestEachBox checks that boxes are consecutive, cover everything and are as large as
// allowed.
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
			// The box is contiguous: its first position is the end of the previous box.
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

// TestNpyHeader checks that lengths are a multiple of 64 and long headers have version
// 2.0.
func TestNpyHeader(t *testing.T) {
	require.Equal(t, "\x93NUMPY\x01\x00\x76\x00{'descr': '>f4', 'fortran_order': False, 'shape': (3, 4), }"+strings.Repeat(" ", 58)+"\n",
		string(npyHeader(cdf3.Float, []int64{3, 4})))
	require.Contains(t, string(npyHeader(cdf3.Short, nil)), "'>i2', 'fortran_order': False, 'shape': (), }")
	require.Contains(t, string(npyHeader(cdf3.Char, []int64{7})), "'|S1', 'fortran_order': False, 'shape': (7,), }")
	for rank := range 200 {
		h := npyHeader(cdf3.Double, make([]int64, rank))
		require.Zero(t, len(h)%64)
		require.Equal(t, byte('\n'), h[len(h)-1])
		require.Equal(t, len(h)-10, int(binary.LittleEndian.Uint16(h[8:])))
	}
	h := npyHeader(cdf3.Double, make([]int64, 30000))
	require.Equal(t, "\x93NUMPY\x02\x00", string(h[:8]))
	require.Equal(t, len(h)-12, int(binary.LittleEndian.Uint32(h[8:])))
	require.Zero(t, len(h)%64)
}

// TestAppendFloat checks that printed numbers read back as the same number.
func TestAppendFloat(t *testing.T) {
	csv := csvStyle(&Options{})
	for x, want := range map[float64]string{
		0: "0", 1: "1", 1e6: "1000000", 0.1: "0.1", 1e-6: "0.000001", 1e-7: "1e-07", 1e20: "100000000000000000000", 1e21: "1e+21", -2.5: "-2.5",
		math.Inf(1): "Inf", math.Inf(-1): "-Inf",
	} {
		require.Equal(t, want, string(appendFloat(nil, x, 64, csv)))
	}
	require.Equal(t, "-0", string(appendFloat(nil, math.Copysign(0, -1), 64, csv)))
	require.Equal(t, "NaN", string(appendFloat(nil, math.NaN(), 64, csv)))
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.Equal(t, "null", string(appendFloat(nil, x, 64, jsonStyle)))
	}
	require.Equal(t, "288.15", string(appendFloat(nil, float64(float32(288.15)), 32, jsonStyle)))
}

func TestStrings(t *testing.T) {
	for s, want := range map[string]string{"": "", "a": "a", "é": "é", "\x1b[2J": `\x1b[2J`, "a\xff\n": `a\xff\n`, "\u009b": `\u009b`} {
		require.Equal(t, want, string(appendEscaped(nil, []byte(s))))
	}
	for s, want := range map[string]string{"": `""`, "a": `"a"`, `a"\`: `"a\"\\"`, "a\n\x01\x7f": `"a\n\u0001\u007f"`, "é": `"é"`, "\xe9": `"é"`, "é\xff": `"Ã©ÿ"`, "\u009b": `"\u009b"`, "\U000e0001": `"\udb40\udc01"`} {
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
