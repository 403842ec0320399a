package plan

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
)

func shapeOf(t *testing.T, s string) []int64 {
	out := []int64{}
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(f, 10, 64)
		require.NoError(t, err)
		out = append(out, n)
	}
	return out
}

// TestPlannerVectors checks the vectors of the specification.
func TestPlannerVectors(t *testing.T) {
	text, err := os.ReadFile(archivetest.Root(t, "docs/FORMAT.md"))
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| \(([\d, ]*)\) \| (\w+) \| (\d+) \| \(([\d, ]*)\) \| (\d+) \|$`).FindAllStringSubmatch(string(text), -1)
	require.GreaterOrEqual(t, len(rows), 6)
	for _, r := range rows {
		typ, ok := cdf3.TypeByName(r[2])
		require.True(t, ok)
		target, err := strconv.ParseInt(r[3], 10, 64)
		require.NoError(t, err)
		shape := shapeOf(t, r[1])
		got := BlockShape(shape, typ.Size(), target)
		require.Equal(t, shapeOf(t, r[4]), got, r[0])
		g, err := NewGeometry(shape, got, typ.Size())
		require.NoError(t, err)
		require.Equal(t, r[5], strconv.FormatInt(g.Blocks, 10), r[0])
	}
}

// plainPlanner is a straightforward planner in floating point.
func plainPlanner(n []int64, size, target int64) []int64 {
	type cand struct {
		j              int
		k              int64
		waste, off, sz float64
	}
	var all []cand
	for j := range n {
		inner := size
		for _, d := range n[j+1:] {
			inner *= d
		}
		for _, k0 := range []int64{target / inner, (target + inner - 1) / inner} {
			k0 = min(max(1, k0), n[j])
			k := CeilDiv(n[j], CeilDiv(n[j], k0))
			b := float64(k * inner)
			all = append(all, cand{j, k, float64(CeilDiv(n[j], k)*k) / float64(n[j]), math.Abs(math.Log(b / float64(target))), b})
		}
	}
	var in []cand
	for _, c := range all {
		if c.sz >= float64(target)/2 && c.sz <= 2*float64(target) {
			in = append(in, c)
		}
	}
	if len(in) == 0 {
		in = all
	}
	best := in[0]
	for _, c := range in[1:] {
		const e = 1e-12
		switch {
		case c.waste < best.waste-e, math.Abs(c.waste-best.waste) <= e && c.off < best.off-e:
			best = c
		case math.Abs(c.waste-best.waste) <= e && math.Abs(c.off-best.off) <= e && (c.j > best.j || c.j == best.j && c.k > best.k):
			best = c
		}
	}
	out := append([]int64{}, n...)
	for i := 0; i < best.j; i++ {
		out[i] = 1
	}
	out[best.j] = best.k
	return out
}

// TestPlannerPlain compares with the plain planner over many shapes.
func TestPlannerPlain(t *testing.T) {
	dims := []int64{1, 2, 3, 7, 12, 31, 90, 181, 365, 1000, 4099}
	for _, a := range dims {
		for _, b := range dims {
			for _, c := range dims {
				for _, target := range []int64{1 << 10, 16 << 10, 256 << 10} {
					n := []int64{a, b, c}
					require.Equal(t, plainPlanner(n, 4, target), BlockShape(n, 4, target), "%v %d", n, target)
				}
			}
		}
	}
}

// TestPlannerBounds checks that blocks of large enough variables are between half and
// twice the target, and never above the largest block.
func TestPlannerBounds(t *testing.T) {
	for _, n := range [][]int64{{1 << 40}, {1 << 31, 2}, {3, 1 << 33}, {1, 1, 100_000_007}, {46341, 46341}, {1 << 20, 1 << 20, 1 << 20}, {5, 300_000_000, 1}} {
		for _, target := range []int64{1 << 10, 256 << 10, 256 << 20} {
			b := BlockShape(n, 8, target)
			size := int64(8)
			for _, k := range b {
				size *= k
			}
			require.GreaterOrEqual(t, size, target/2, "%v", n)
			require.LessOrEqual(t, size, 2*target, "%v", n)
		}
	}
}

// TestGeometry checks that the blocks of a variable tile its raw bytes in order, that
// find is the inverse of at, and that keys and boxes follow the grid.
func TestGeometry(t *testing.T) {
	for _, c := range []struct{ shape, block []int64 }{
		{nil, nil}, {[]int64{1}, []int64{1}}, {[]int64{10}, []int64{3}}, {[]int64{5, 7}, []int64{1, 3}},
		{[]int64{5, 7}, []int64{2, 7}}, {[]int64{2, 3, 4}, []int64{1, 1, 1}}, {[]int64{1, 1, 9}, []int64{1, 1, 9}},
		{[]int64{3, 1, 1}, []int64{2, 1, 1}}, {[]int64{3, 1, 1}, []int64{1, 1, 1}}, {[]int64{12, 11, 2}, []int64{1, 4, 2}},
	} {
		g, err := NewGeometry(c.shape, c.block, 2)
		require.NoError(t, err)
		end := int64(0)
		keys, longest := int64(0), int64(0)
		for b := range g.Blocks {
			off, n := g.At(b)
			require.Equal(t, end, off, "%v", c)
			require.Positive(t, n)
			for k := range n {
				fb, in := g.Find(off + k)
				require.Equal(t, b, fb)
				require.Equal(t, k, in)
			}
			end += n
			key := g.AppendKey(nil, b)
			keys += int64(len(key))
			longest = max(longest, int64(len(key)))
			start, count := g.Box(b)
			size := int64(2)
			parts := strings.Split(string(key), ".")
			for i := range start {
				size *= count[i]
				require.Equal(t, fmt.Sprint(start[i]/g.Block[i]), parts[i])
			}
			require.Equal(t, n, size)
		}
		require.Equal(t, g.RawLen, end, "%v", c)
		sum, max := g.KeysLen()
		require.Equal(t, keys, sum, "%v", c)
		require.Equal(t, longest, max, "%v", c)
	}
	for _, c := range []struct{ shape, block []int64 }{
		{[]int64{4}, nil}, {[]int64{4}, []int64{0}}, {[]int64{4}, []int64{5}}, {[]int64{-1}, []int64{1}},
		{[]int64{4, 4}, []int64{2, 2}}, {[]int64{1 << 32, 1 << 32}, []int64{1, 1}}, {[]int64{1 << 31}, []int64{1 << 31}},
	} {
		_, err := NewGeometry(c.shape, c.block, 2)
		require.ErrorIs(t, err, fault.ErrCorrupt, "%v", c)
	}
}

// TestLongest checks blocks of variables without values whose other dimension is as long as a header may say.
func TestLongest(t *testing.T) {
	require.Equal(t, int64(1)<<60, CeilDiv(math.MaxInt64, 8))
	for _, n := range []int64{math.MaxInt64, math.MaxInt64 - 2} {
		for _, target := range []int64{1 << 10, 256 << 10, 256 << 20} {
			shape := []int64{0, n}
			block := BlockShape(shape, 1, target)
			require.GreaterOrEqual(t, block[1], target/2)
			require.LessOrEqual(t, block[1], 2*target)
			g, err := NewGeometry(shape, block, 1)
			require.NoError(t, err)
			require.Zero(t, g.Blocks)
			require.Zero(t, g.RawLen)
		}
	}
}

func TestDigitsBelow(t *testing.T) {
	sum := int64(0)
	for n := int64(0); n < 12000; n++ {
		require.Equal(t, sum, DigitsBelow(n), "%d", n)
		sum += Digits(n)
	}
}
