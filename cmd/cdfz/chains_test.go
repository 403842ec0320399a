package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/spec"
)

// TestChainsThroughText archives variables with random chains, and makes archives of their text.
// These have the same chains: order, parameters and optional filters.
func TestChainsThroughText(t *testing.T) {
	t.Chdir(t.TempDir())
	const vars = 25
	var text strings.Builder
	text.WriteString("netcdf x { dimensions: n = 100 ; variables: ")
	types := []string{"short", "int", "float", "double"}
	for i := range vars {
		fmt.Fprintf(&text, "%s v%d(n) ; ", types[i%len(types)], i)
	}
	require.NoError(t, os.WriteFile("x.cdl", []byte(text.String()+"}"), 0o666))
	do := func(args ...string) string {
		t.Helper()
		var out, msg bytes.Buffer
		require.Zero(t, run(t.Context(), args, nil, &out, &msg), "%v: %s", args, &msg)
		return out.String()
	}
	do("gen", "-q", "-x", "-o", "x.nc", "x.cdl")
	kinds := []string{
		"1,6", "1,0", "2", "2,3", "3", "307,9", "32000", "32001,0,0,0,0,5,1,1", "32001,0,0,0,256,9,2,5", "32004", "32004,64", "32008", "32008,0,3,5", "32015,3",
		"52729", "52730,1", "52732", "52732,1,4294967295,7", "52732,3,4,0,2", "52734,5", "4,4,8", "4,32,16", "6,2,0", "5", "52724",
	}
	r := rand.New(rand.NewPCG(1, 26))
	n := 40
	if testing.Short() {
		n = 2
	}
	for round := range n {
		args := []string{"archive", "-q", "-f", "--zarr", "always", "--preset", "portable", "-o", "a.cdfz"}
		for i := range vars {
			chain := ""
			for !suits(chain, types[i%len(types)]) {
				var fs []string
				for range 1 + r.IntN(4) {
					fs = append(fs, kinds[r.IntN(len(kinds))]+[]string{"", "", "", "?"}[r.IntN(4)])
				}
				chain = strings.Join(fs, "|")
			}
			args = append(args, "-F", fmt.Sprintf("v%d,%s", i, chain))
		}
		do(append(args, "x.nc")...)
		require.NoError(t, os.WriteFile("a.cdl", []byte(do("dump", "-s", "a.cdfz")), 0o666))
		do("gen", "-q", "-f", "-o", "b.cdfz", "a.cdl")
		a, b := chainsOf(t, "a.cdfz"), chainsOf(t, "b.cdfz")
		require.Equal(t, a, b, "round %d", round)
	}
}

// suits reports whether a chain can encode a variable of a type whose values are all 0.
func suits(text, typ string) bool {
	c, err := spec.ParseChain(text, nil)
	if err != nil {
		return false
	}
	size := map[string]int{"short": 2, "int": 4, "float": 4, "double": 8}[typ]
	kind := filters.Int
	if typ == "float" || typ == "double" {
		kind = filters.Float
	}
	if c, err = c.Complete(filters.Block{Len: 100 * size, Kind: kind, Size: size, Shape: []int{100}}); err != nil {
		return false
	}
	k, err := filters.NewCoder(c)
	if err == nil {
		_, _, err = k.Encode(nil, make([]byte, 100*size))
	}
	return err == nil
}

func chainsOf(t *testing.T, name string) []string {
	t.Helper()
	f, err := archive.Open(t.Context(), name, nil)
	require.NoError(t, err)
	defer f.Close()
	var out []string
	for _, v := range f.Vars() {
		out = append(out, v.Name()+" "+v.Info().Chain.String())
	}
	return out
}
