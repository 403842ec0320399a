package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz"
)

// printAblation prints a table of the mean ratio with all parts of the codec, and without each of
// them.
func printAblation(results []*result) error {
	fmt.Printf("| variant | %d variables | by file |\n|---|---|---|\n", len(results))
	var err error
	row := func(name string, without lorenz.Part, level lorenz.Level) {
		if err == nil {
			err = encodeAll(results, without, level)
		}
		if err == nil {
			all, files := means(results)
			fmt.Printf("| %s | %.3f | %.3f |\n", name, all, files)
		}
	}
	row("all parts", 0, level)
	for _, p := range append(lorenz.Parts(), lorenz.BytesMode|lorenz.AdaptiveMode) {
		row("no "+p.String(), p, level)
	}
	row("level `Fast`", 0, lorenz.Fast)
	row("level `Max`", 0, lorenz.Max)
	return err
}

// encodeAll sets the stored bytes of each variable.
func encodeAll(results []*result, without lorenz.Part, level lorenz.Level) error {
	var enc []byte
	for _, r := range results {
		r.stored = 0
		for _, b := range r.blocks {
			e, err := lorenz.NewEncoder(b.p, level)
			if err != nil {
				return err
			}
			e.Disable(without)
			if enc, err = e.Encode(enc[:0], b.raw); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			r.stored += len(enc)
		}
	}
	return nil
}

// means returns the geometric means of the ratio over the variables, and over the means
// of the files.
func means(results []*result) (all, files float64) {
	log := func(r *result) float64 { return math.Log(r.ratio()) }
	byFile := map[string][]*result{}
	for _, r := range results {
		byFile[r.file] = append(byFile[r.file], r)
	}
	names := slices.Sorted(maps.Keys(byFile))
	return math.Exp(mean(results, log)), math.Exp(mean(names, func(file string) float64 { return mean(byFile[file], log) }))
}
