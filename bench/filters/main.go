// Filters measures the speed and ratio of every filter on blocks of real files, beside the
// implementations of others in the same run: numcodecs, HDF5's filters and plugins, and the
// shuffles inside C-Blosc.
//
//	go run ./bench/filters [flags] [FILE | FOLDER]...
//	go run -tags purego ./bench/filters -only shuffle     # without assembly
//
// It takes blocks from the variables of ferret-datasets, and of the corpus that CDFZ_CORPUS
// names. Each round measures cdfz and its peers in turns. Speeds are in 10^6 bytes of
// decoded blocks per second of processor time, medians over the rounds.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/inputs"
	"github.com/cdfz-format/cdfz/bench/internal/tools"
)

type options struct {
	block, blocks int
	rounds, times int
	only, out     string
}

func main() {
	var o options
	flag.IntVar(&o.block, "block", 256<<10, "bytes of a block")
	flag.IntVar(&o.blocks, "blocks", 8, "most blocks of each type of elements")
	flag.IntVar(&o.rounds, "n", 5, "rounds")
	flag.IntVar(&o.times, "times", 3, "run each block this often in a round; the fastest run counts")
	flag.StringVar(&o.only, "only", "", "only filters whose name contains this")
	flag.StringVar(&o.out, "out", "", "also write OUT.txt and OUT.tsv")
	flag.Parse()
	if err := run(context.Background(), &o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "filters:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options, names []string) error {
	if len(names) == 0 {
		names = []string{fields.FerretDir}
	}
	files, err := inputs.Find(names, os.Getenv("CDFZ_CORPUS"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "filters-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sample, err := takeSample(files, filepath.Join(dir, "image.nc"), o)
	if err != nil {
		return err
	}
	p, err := startPeers(ctx, dir)
	if err != nil {
		return err
	}
	defer p.close()
	var results []*result
	for _, c := range cases {
		if !strings.Contains(c.name, o.only) {
			continue
		}
		r, err := c.measure(p, sample, o)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintln(os.Stderr, c.name)
		results = append(results, r...)
	}
	machine := tools.NewMachine()
	for _, key := range []string{"numcodecs", "hdf5"} {
		machine.Versions = append(machine.Versions, p.versions[key])
	}
	report := func(w io.Writer) error { return writeText(w, &machine, sample, o, results) }
	if err := report(os.Stdout); err != nil || o.out == "" {
		return err
	}
	if err := tools.WriteFile(o.out+".txt", report); err != nil {
		return err
	}
	return tools.WriteFile(o.out+".tsv", func(w io.Writer) error { return writeTable(w, results) })
}
