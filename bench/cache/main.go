// Cache shows whether a cache of decoded blocks helps and how large it should be, for
// several access patterns, cache sizes and block sizes.
//
//	go run ./bench/cache [flags] [FILE]      # by default a file of bench/tile
//
// Every figure is the median of the rounds, each over a newly opened archive and at different
// places.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/inputs"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

var (
	rounds   = run.Rounds(3)
	variable = flag.String("var", "", "a variable of type float to read (default: the largest that has records)")
	picture  = flag.String("svg", "", "draw the figures into this file")
)

// The measured sizes, in bytes.
var (
	blockSizes = []int64{16 << 10, 64 << 10, 256 << 10, 1 << 20}
	cacheSizes = []int64{-1, 1 << 20, 4 << 20, 16 << 20, 32 << 20, 64 << 20, 256 << 20}
)

func sizeName(n int64) string {
	switch {
	case n < 0:
		return "none"
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func main() {
	run.Keep()
	run.Dir()
	run.Out()
	run.Main("[FILE]", 0, 1, func(ctx context.Context, args []string) error {
		file, err := inputs.Large(flag.Arg(0), 1<<30, false)
		if err != nil {
			return err
		}
		v, err := chooseVar(ctx, file)
		if err != nil {
			return err
		}
		archives := map[int64]string{}
		for _, b := range blockSizes {
			if archives[b], err = inputs.Archive(ctx, file, int(b)); err != nil {
				return err
			}
		}
		results := make([]result, len(patterns))
		for i, p := range patterns {
			run.Say("%s", p.name)
			if results[i], err = measurePattern(archives, p, v); err != nil {
				return err
			}
		}
		if err := report(v, results).Save(); err != nil || *picture == "" {
			return err
		}
		return draw(*picture, results)
	})
}

func chooseVar(ctx context.Context, file string) (*cdf3.Var, error) {
	f, err := archive.Open(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := f.Header()
	var best *cdf3.Var
	for i := range h.Vars {
		v := &h.Vars[i]
		switch {
		case v.Type != cdf3.Float || len(v.Shape) < 3:
		case *variable != "" && v.Name == *variable, *variable == "" && v.Record && (best == nil || v.Len > best.Len):
			best = v
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no variable to read")
	}
	return best, nil
}

// result holds the figures of a pattern by block size and cache size.
type result map[[2]int64]figure

// measurePattern measures all sizes in turns.
func measurePattern(archives map[int64]string, p pattern, v *cdf3.Var) (result, error) {
	all := map[[2]int64][]figure{}
	for i := range *rounds {
		work := p.reads(rand.New(rand.NewPCG(uint64(i), 9)), v)
		for _, b := range blockSizes {
			for _, c := range cacheSizes {
				f, err := measure(archives[b], c, v, work)
				if err != nil {
					return nil, err
				}
				all[[2]int64{b, c}] = append(all[[2]int64{b, c}], f)
			}
		}
	}
	medians := result{}
	for k, f := range all {
		medians[k] = figure{
			read:   run.Median(f, func(f figure) float64 { return f.read }),
			blocks: run.Median(f, func(f figure) float64 { return f.blocks }),
		}
	}
	return medians, nil
}

func report(v *cdf3.Var, results []result) *run.Report {
	r := run.NewReport()
	r.Printf("variable %s%v\n\n", v.Name, v.Shape)
	for _, p := range patterns {
		r.Printf("%s: %s\n", p.name, p.what)
	}
	r.Printf("\nµs of CPU time per read, and in parentheses the blocks decoded for it, by size of the cache\n\n")
	columns := []string{"read %s", "blocks %s"}
	for _, c := range cacheSizes {
		columns = append(columns, sizeName(c)+" %s")
	}
	t := r.Table(columns...)
	for i, p := range patterns {
		for _, b := range blockSizes {
			row := []any{p.name, sizeName(b)}
			for _, c := range cacheSizes {
				f := results[i][[2]int64{b, c}]
				row = append(row, digits(f.read)+" ("+digits(f.blocks)+")")
			}
			t.Row(row...)
		}
	}
	return r
}

// digits formats a number with three digits, or with all digits before the point.
func digits(x float64) string {
	switch {
	case x >= 100 || x == 0:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
