package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/spec"
	"github.com/cdfz-format/cdfz/slab"
)

// TestChainsThroughText archives variables with random chains of all filters, and makes archives of
// the text of these archives, and of the chains that info prints. They have the same chains (order,
// parameters and optional filters), the same blocks and the same file.
func TestChainsThroughText(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewPCG(1, 26))
	do := func(args ...string) string {
		t.Helper()
		var out, msg bytes.Buffer
		require.Zero(t, run(t.Context(), args, nil, &out, &msg), "%.2000v: %s", args, &msg)
		return out.String()
	}
	const vars = 25
	writeFile(t, "x.cdl", chainsFile(r, vars))
	do("gen", "-q", "-o", "x.nc", "x.cdl")
	write := func(out, size string, chains []string) {
		args := []string{"archive", "-q", "-f", "--zarr", "always", "--block", size, "-o", out}
		for i, c := range chains {
			args = append(args, "-F", fmt.Sprintf("v%d,%s", i, c))
		}
		do(append(args, "x.nc")...)
	}
	kinds := []chainsKind{{size: "256K"}, {size: "1K"}}
	for i := range kinds {
		write("a.cdfz", kinds[i].size, slices.Repeat([]string{"1,6"}, vars))
		kinds[i].vars = readBlocks(t, "a.cdfz")
	}
	chains, drawn, used := 0, 0, map[string]int{}
	n := 400 / vars
	if os.Getenv("CDFZ_SOAK") != "" {
		n = 1000 / vars
	}
	for round := range n {
		kind := kinds[round%len(kinds)]
		var given, again []string
		for _, b := range kind.vars {
			var chain string
			for ; !b.suits(chain); drawn++ {
				chain = randomChain(r)
			}
			chains++
			for _, f := range strings.Split(chain, "|") {
				id, _, _ := strings.Cut(strings.TrimSuffix(f, "?"), ",")
				used[id]++
			}
			used["?"] += strings.Count(chain, "?")
			given = append(given, chain)
		}
		write("a.cdfz", kind.size, given)
		writeFile(t, "a.cdl", do("dump", "-s", "-p", "9,17", "a.cdfz"))
		do("gen", "-q", "-f", "-a", "-o", "b.cdfz", "a.cdl")
		a := readChains(t, do("info", "--json", "a.cdfz"))
		for _, v := range a.Vars {
			again = append(again, v.Filters)
		}
		write("c.cdfz", kind.size, again)
		require.Equal(t, a, readChains(t, do("info", "--json", "b.cdfz")), "round %d: %q", round, given)
		require.Equal(t, a, readChains(t, do("info", "--json", "c.cdfz")), "round %d: %q", round, given)
		do("verify", "-q", "--against", "x.nc", "a.cdfz")
	}
	t.Logf("%d chains of %d drawn; uses of filters: %v", chains, drawn, used)
	for id := range randomParams {
		require.NotZero(t, used[fmt.Sprint(id)], "filter %d", id)
	}
}

// chainsFile returns the text of a file with variables of all types: constant, of zeros and ones,
// rising, of few values, and random.
func chainsFile(r *rand.Rand, vars int) string {
	const rows, columns = 21, 50
	types := []string{"byte", "short", "int", "float", "double", "ubyte", "uint64"}
	head, data := "", ""
	for i := range vars {
		typ := types[i%len(types)]
		head += fmt.Sprintf("  %s v%d(t, n) ;\n", typ, i)
		data += fmt.Sprintf(" v%d = ", i)
		for k := range rows * columns {
			x := []float64{0, float64(r.IntN(2)), float64(k / 9), 7 * float64(r.IntN(5)), float64(r.IntN(127))}[i%5]
			if i%5 == 4 && (typ == "float" || typ == "double") {
				x = math.Ldexp(r.Float64(), r.IntN(40)-20)
			}
			data += fmt.Sprintf("%v, ", x)
		}
		data = strings.TrimSuffix(data, ", ") + " ;\n"
	}
	return fmt.Sprintf("netcdf x {\ndimensions: t = %d ; n = %d ;\nvariables:\n%s :_Format = \"cdf5\" ;\ndata:\n%s}\n", rows, columns, head, data)
}

// randomParams returns random parameters of filters, as a user sets them.
var randomParams = map[uint32]func(*rand.Rand) []any{
	filters.Deflate:    func(r *rand.Rand) []any { return []any{r.IntN(10)} },
	filters.Shuffle:    func(r *rand.Rand) []any { return some(r, 1+r.IntN(9)) },
	filters.Fletcher32: func(*rand.Rand) []any { return nil },
	filters.Szip:       func(r *rand.Rand) []any { return []any{oneOf(r, 4, 32), 2 * (1 + r.IntN(16))} },
	filters.NBit:       func(*rand.Rand) []any { return nil },
	filters.ScaleOffset: func(r *rand.Rand) []any {
		if r.IntN(2) == 0 {
			return []any{2, r.IntN(65)}
		}
		return []any{0, r.IntN(20) - 10}
	},
	filters.Bzip2: func(r *rand.Rand) []any { return []any{1 + r.IntN(9)} },
	filters.LZF:   func(*rand.Rand) []any { return nil },
	filters.Blosc: func(r *rand.Rand) []any {
		return append([]any{0, 0, 0, oneOf(r, 0, 0, 16, 256, 1<<20)}, some(r, r.IntN(10), r.IntN(3), r.IntN(6))...)
	},
	filters.LZ4:        func(r *rand.Rand) []any { return some(r, 1+r.IntN(1<<r.IntN(30))) },
	filters.Bitshuffle: func(r *rand.Rand) []any { return some(r, 8*r.IntN(20), oneOf(r, 0, 2, 3), r.IntN(23)) },
	filters.Zstd:       func(r *rand.Rand) []any { return []any{r.IntN(23)} },
	filters.Lorenz:     func(*rand.Rand) []any { return nil },
	filters.Delta:      func(*rand.Rand) []any { return nil },
	filters.FixedScaleOffset: func(r *rand.Rand) []any {
		return []any{1 + r.IntN(2), oneOf(r, 1, 2, 4, 8), fmt.Sprintf("%gd", math.Ldexp(1, r.IntN(9)-4)), fmt.Sprintf("%dd", r.IntN(9))}
	},
	filters.Quantize:     func(r *rand.Rand) []any { return []any{r.IntN(20)} },
	filters.BitRound:     func(r *rand.Rand) []any { return []any{r.IntN(53)} },
	filters.PackBits:     func(*rand.Rand) []any { return nil },
	filters.CRC32:        func(r *rand.Rand) []any { return some(r, r.IntN(2)) },
	filters.Adler32:      func(r *rand.Rand) []any { return some(r, r.IntN(2)) },
	filters.LZMA:         randomLZMA,
	filters.NumcodecsLZ4: func(r *rand.Rand) []any { return some(r, r.IntN(1000)-500) },
}

func randomLZMA(r *rand.Rand) []any {
	format := 1 + r.IntN(3)
	check := -1
	if format == 1 {
		check = oneOf(r, 0, 1, 4, 10, -1)
	}
	p := []any{format, check, oneOf(r, 0, 1, 5, 10, 1<<16)}
	if format != 2 {
		p = append(p, some(r, 1+r.IntN(256), 1+r.IntN(256), 1+r.IntN(256))...)
	}
	return p
}

func oneOf(r *rand.Rand, from ...int) int { return from[r.IntN(len(from))] }

// some returns the first few of the parameters.
func some(r *rand.Rand, p ...any) []any { return p[:r.IntN(len(p)+1)] }

// randomChain returns a chain, which need not be valid.
func randomChain(r *rand.Rand) string {
	var all []string
	for range 1 + r.IntN(5) {
		id := randomIDs[r.IntN(len(randomIDs))]
		f := fmt.Sprint(id)
		for _, p := range randomParams[id](r) {
			f += fmt.Sprintf(",%v", p)
		}
		if r.IntN(4) == 0 {
			f += "?"
		}
		all = append(all, f)
	}
	return strings.Join(all, "|")
}

// randomIDs are the filters of randomParams.
var randomIDs = slices.Sorted(maps.Keys(randomParams))

// chainsKind is a size of blocks, and the variables of the file with such blocks.
type chainsKind struct {
	size string
	vars []chainsVar
}

// chainsVar is a variable with its blocks.
type chainsVar struct {
	block filters.Block
	data  []byte
}

func readBlocks(t *testing.T, name string) (out []chainsVar) {
	t.Helper()
	f, err := archive.Open(t.Context(), name, nil)
	require.NoError(t, err)
	defer f.Close()
	for _, v := range f.Vars() {
		n, err := slab.Len(v)
		require.NoError(t, err)
		b := chainsVar{filters.Block{Kind: filters.Int, Size: int(v.Type().Size())}, make([]byte, n)}
		switch v.Type() {
		case cdf3.Float, cdf3.Double:
			b.block.Kind = filters.Float
		case cdf3.UByte, cdf3.UInt64:
			b.block.Kind = filters.Uint
		}
		b.block.Len = b.block.Size
		for _, d := range v.BlockShape() {
			b.block.Shape = append(b.block.Shape, int(d))
			b.block.Len *= int(d)
		}
		_, err = v.Values().ReadAt(b.data, 0)
		require.NoError(t, err)
		for last := b.data[len(b.data)-b.block.Size:]; len(b.data)%b.block.Len != 0; {
			b.data = append(b.data, last...) // as archives pad the last block
		}
		out = append(out, b)
	}
	return out
}

// suits reports whether a chain can encode the blocks.
func (v *chainsVar) suits(text string) bool {
	c, err := spec.ParseChain(text, nil)
	if err != nil {
		return false
	}
	if c, err = c.Complete(v.block); err != nil {
		return false
	}
	k, err := filters.NewCoder(c)
	if err != nil {
		return false
	}
	for data := range slices.Chunk(v.data, v.block.Len) {
		if _, _, err := k.Encode(nil, slices.Clone(data)); err != nil {
			return false
		}
	}
	return true
}

// chainsInfo is what info --json prints about a file and the chains of its variables.
type chainsInfo struct {
	SHA256 string
	Vars   []struct {
		Chain, Filters string
		Block          []int
		Stored         int64
	}
}

func readChains(t *testing.T, text string) (out chainsInfo) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	require.NotEmpty(t, out.SHA256)
	require.NotEmpty(t, out.Vars)
	return out
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
}
