package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz"
)

// writeAblation writes a table of the mean ratio with all parts of the codec, and without
// each of them.
func writeAblation(w io.Writer, o *options, results []*result) error {
	fmt.Fprintf(w, "| variant | %d variables | by file |\n|---|---|---|\n", len(results))
	row := func(name string, without lorenz.Part, level lorenz.Level) error {
		if err := encodeAll(results, without, level); err != nil {
			return err
		}
		all, files := means(results)
		_, err := fmt.Fprintf(w, "| %s | %.3f | %.3f |\n", name, all, files)
		return err
	}
	if err := row("all parts", 0, o.level); err != nil {
		return err
	}
	for _, p := range lorenz.Parts() {
		if err := row("no "+p.String(), p, o.level); err != nil {
			return err
		}
	}
	slow := lorenz.BytesMode | lorenz.AdaptiveMode
	if err := row("no "+slow.String(), slow, o.level); err != nil {
		return err
	}
	if err := row("level `Fast`", 0, lorenz.Fast); err != nil {
		return err
	}
	return row("level `Max`", 0, lorenz.Max)
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
				return fmt.Errorf("%s %s: %w", r.file, r.name, err)
			}
			r.stored += len(enc)
		}
	}
	return nil
}

// means returns the geometric means of the ratio over the variables, and over the means
// of the files.
func means(results []*result) (all, files float64) {
	sum := 0.0
	byFile := map[string][]float64{}
	for _, r := range results {
		l := math.Log(r.ratio())
		sum += l
		byFile[r.file] = append(byFile[r.file], l)
	}
	total := 0.0
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		of := 0.0
		for _, l := range byFile[file] {
			of += l
		}
		total += of / float64(len(byFile[file]))
	}
	return math.Exp(sum / float64(len(results))), math.Exp(total / float64(len(byFile)))
}
