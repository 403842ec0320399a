// Package choices describes how the blocks of an archive were encoded: the filters, the
// preset that has the same chain, and the mode that lorenz chose for each block.
package choices

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/lorenz"
)

// Modes counts blocks by their mode of lorenz.
type Modes map[string]int64

// String lists modes, the most frequent first: "groups 9, adaptive 3".
func (m Modes) String() string {
	names := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(names, func(a, b string) int { return int(m[b] - m[a]) })
	var s []string
	for _, n := range names {
		s = append(s, fmt.Sprintf("%s %d", n, m[n]))
	}
	return strings.Join(s, ", ")
}

// Mode returns the mode of lorenz of a block, or "" for blocks that lorenz did not encode.
// It reads the first stored byte of the block. r is the archive as it is stored, and c the
// chain of the block's variable or pool. Errors are those of r.
func Mode(r io.ReaderAt, block archive.BlockInfo, c filters.Chain) (string, error) {
	last := len(c) - 1
	if last < 0 || c[last].ID != filters.Lorenz || block.Mask>>last&1 != 0 || block.Len == 0 {
		return "", nil
	}
	var b [1]byte
	if n, err := r.ReadAt(b[:], block.Off); n < 1 {
		return "", err
	}
	return lorenz.ModeName(b[0]), nil
}

// Count counts the modes of the blocks of each variable, by its number, and of each pool,
// in the order of archive.Info. Those that lorenz did not encode have nil. It reads the
// first byte of each block from r, which is the archive as it is stored. Errors are those
// of r, of ctx and of a damaged index.
func Count(ctx context.Context, r io.ReaderAt, f *archive.File) (vars, pools []Modes, err error) {
	info, _ := f.Info()
	n := len(f.Header().Vars)
	vars, pools = make([]Modes, n), make([]Modes, len(info.Pools))
	chains := make([]filters.Chain, n)
	for i, v := range f.Vars() {
		chains[i] = v.Info().Chain
	}
	for block, err := range f.Blocks(ctx) {
		if err != nil {
			return nil, nil, err
		}
		var chain filters.Chain
		var to *Modes
		switch {
		case block.Var >= 0:
			chain, to = chains[block.Var], &vars[block.Var]
		case block.Pool >= 0:
			chain, to = info.Pools[block.Pool].Chain, &pools[block.Pool]
		}
		mode, err := Mode(r, block, chain)
		if err != nil {
			return nil, nil, err
		}
		if mode == "" {
			continue
		}
		if *to == nil {
			*to = Modes{}
		}
		(*to)[mode]++
	}
	return vars, pools, nil
}

// Preset names the presets whose chain for variables of type t is c, as in "fast or
// default". It returns "" for a chain that only a user asks for.
func Preset(c filters.Chain, t cdf3.Type) string {
	var names []string
	for _, p := range archive.Presets {
		if want, err := p.Chain(t); err == nil && want.Given().String() == c.Given().String() {
			names = append(names, string(p))
		}
	}
	return strings.Join(names, " or ")
}
