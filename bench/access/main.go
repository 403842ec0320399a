// Access compares reads of parts of variables in one run, over the same values: cdfz,
// netCDF-4 written by nccopy, the classic file, zarr, and the classic file in zstd's
// seekable format.
//
//	go run ./bench/access [flags] [FILE]      # by default a file of bench/tile
//
// Every measurement opens its file again, so that no library has anything cached. The
// page cache is warm. All programs read the same random places in turns, on one thread,
// and must read the same values. Results are medians.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

var (
	places = run.Rounds(51) // of points and maps
	block  = run.Block(archive.DefaultBlock)
	python = run.Python()
	vars   = flag.String("vars", "", "variables to read, separated by commas (default with FILE: the largest of four and of three dimensions)")
	size   = flag.Int64("size", 1<<30, "least size of the file made by bench/tile")
	cold   = run.Count("cold", 100, "runs of whole processes")
	useCPU = flag.Bool("cpu", false, "compare CPU time instead of wall time, for a busy machine")
)

func main() {
	run.Cdfz()
	run.Dir()
	run.Keep()
	run.Out()
	run.Main("[FILE]", 0, 1, func(ctx context.Context, args []string) error {
		cdfz, err := run.Build(ctx)
		if err != nil {
			return err
		}
		in, err := newInputs(ctx, flag.Arg(0))
		if err != nil {
			return err
		}
		defer in.stop()
		rep := newReport(ctx, in)
		for _, v := range in.vars {
			for _, kind := range kinds {
				run.Say("%s: %s", v.Name, kind)
				if err := in.measure(ctx, rep.samples, v, kind); err != nil {
					return err
				}
			}
		}
		for _, v := range in.vars {
			run.Say("cached and uncached reads, cold processes: %s", v.Name)
			x := extras{v: v}
			if x.cached, err = in.measureCached(ctx, v); err != nil {
				return err
			}
			if x.uncached, err = in.measureUncached(v, 4**places); err != nil {
				return err
			}
			if x.cdfz, x.netcdf, err = in.measureCold(ctx, cdfz, v); err != nil {
				return err
			}
			rep.extras = append(rep.extras, x)
		}
		rep.write()
		return rep.Save()
	})
}

// kinds are the kinds of measurements.
const (
	kindPoint  = "point"
	kindMap    = "map"
	kindPoints = "1000 points"
	kindSeries = "series"
	kindScan   = "scan"
)

var kinds = []string{kindPoint, kindMap, kindPoints, kindSeries, kindScan}

// repeats returns the number of places of a kind.
func repeats(kind string) int {
	switch kind {
	case kindSeries, kindPoints:
		return max(1, *places/5)
	case kindScan:
		return max(1, *places/17)
	}
	return *places
}

// sample is a measurement: the cost of opening a file and of reading, without the work between
// reads. sum adds up all bytes, each times its position in its selection counted from 1, modulo
// 2^64, in this machine's byte order.
type sample struct {
	open, read run.Cost
	sum        uint64
}

// key names the measurements of a program for one kind of read of a variable.
type key struct{ tool, kind, name string }

// measure lets all programs read the same places in turns.
func (in *inputs) measure(ctx context.Context, samples map[key][]sample, v *cdf3.Var, kind string) error {
	rng := rand.New(rand.NewPCG(7, 8))
	for range repeats(kind) {
		sel := selections(kind, rng, v)
		var sum uint64
		for i, t := range in.tools {
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := t.measure(sel)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if i == 0 {
				sum = s.sum
			} else if s.sum != sum {
				return fmt.Errorf("%s: %s of %s: %s reads other values than %s", kind, v.Name, joined(sel[0].Start), t.name, in.tools[0].name)
			}
			k := key{t.name, kind, v.Name}
			samples[k] = append(samples[k], s)
		}
	}
	return nil
}
