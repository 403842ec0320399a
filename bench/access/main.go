// Access compares reads of parts of variables in one run, over the same values: cdfz,
// netCDF-4 written by nccopy, the classic file, zarr, and the classic file in zstd's
// seekable format.
//
//	go run ./bench/access [flags]
//
// Every measurement opens its file again, so that no library has anything cached. The
// page cache is warm. All programs read the same random places in turns, on one thread,
// and must read the same values. Results are medians.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

type options struct {
	file, vars, dir, out, python, cdfz string
	count, cold                        int
	block, size                        int64
	cpu                                bool
}

func main() {
	var o options
	var serveKind string
	flag.StringVar(&o.file, "file", "", "a classic netCDF file (default: made by bench/tile)")
	flag.StringVar(&o.vars, "vars", "", "variables to read, separated by commas (default with -file: the largest of four and of three dimensions)")
	flag.Int64Var(&o.size, "size", 1<<30, "least size of the file made by bench/tile")
	flag.IntVar(&o.count, "count", 51, "random places for points and maps; a fifth of it for series, a seventeenth for scans")
	flag.IntVar(&o.cold, "cold", 100, "runs of whole processes")
	flag.BoolVar(&o.cpu, "cpu", false, "compare CPU time instead of wall time, for a busy machine")
	flag.Int64Var(&o.block, "block", archive.DefaultBlock, "size of the archive's blocks in bytes")
	flag.StringVar(&o.dir, "dir", "", "folder that keeps files for later runs (default: a temporary one)")
	flag.StringVar(&o.out, "out", "", "also write the report to this file, as bench/results/access-NAME.txt")
	flag.StringVar(&o.python, "python", "python3", "a Python that has zarr, numcodecs and netCDF4")
	flag.StringVar(&o.cdfz, "cdfz", "", "the cdfz program (default: built from ./cmd/cdfz)")
	flag.StringVar(&serveKind, "serve", "", "internal: answer measurements")
	flag.Parse()
	if serveKind != "" {
		open := func() (*archive.File, error) { return archive.Open(context.Background(), flag.Arg(0), nil) }
		if serveKind == "seekable" {
			open = func() (*archive.File, error) { return openSeekable(flag.Arg(0)) }
		}
		exit(serve(open, os.Stdin, os.Stdout))
		return
	}
	if flag.NArg() > 0 || o.count < 1 || o.cold < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, &o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "access:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	dir := o.dir
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp("", "access-*"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	in, err := newInputs(ctx, o, dir)
	if err != nil {
		return err
	}
	if o.cdfz == "" {
		o.cdfz = filepath.Join(dir, "cdfz")
		// Built with the flags of the Makefile.
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.cdfz, "github.com/cdfz-format/cdfz/cmd/cdfz")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building cdfz: %w\n%s", err, msg)
		}
		if err := installed(o.cdfz); err != nil {
			return err
		}
	}
	rep := newReport(ctx, in, o)
	if rep.cells, err = in.measureAll(ctx, o); err != nil {
		return err
	}
	for _, v := range in.vars {
		say("cached and uncached reads, cold processes: %s", v.Name)
		x := extras{v: v}
		if x.cached, err = in.measureCached(ctx, v); err != nil {
			return err
		}
		if x.uncached, err = in.measureUncached(v, 4*o.count); err != nil {
			return err
		}
		if x.cold, err = in.measureCold(ctx, o.cdfz, v, o.cold); err != nil {
			return err
		}
		rep.extras = append(rep.extras, x)
	}
	if err := rep.write(os.Stdout); err != nil || o.out == "" {
		return err
	}
	f, err := os.Create(o.out)
	if err != nil {
		return err
	}
	err = rep.write(io.Writer(f))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// cell holds the median times of one program for one kind of read of a variable.
type cell struct {
	open, read       time.Duration
	openCPU, readCPU time.Duration
	total, totalCPU  time.Duration
	n                int
}

type cellKey struct{ tool, kind, name string }

// measureAll lets all programs read the same places in turns.
func (in *inputs) measureAll(ctx context.Context, o *options) (map[cellKey]cell, error) {
	children, err := in.programs(ctx)
	defer stopAll(children)
	if err != nil {
		return nil, err
	}
	cells := map[cellKey]cell{}
	for _, v := range in.vars {
		for _, kind := range kinds {
			say("%s: %s", v.Name, kind)
			if err := in.measureKind(ctx, children, cells, v, kind, repeats(kind, o.count)); err != nil {
				return nil, err
			}
		}
	}
	return cells, nil
}

func repeats(kind string, count int) int {
	switch kind {
	case kindSeries, kindPoints:
		return max(1, count/5)
	case kindScan:
		return max(1, count/17)
	}
	return count
}

func (in *inputs) measureKind(ctx context.Context, children []*child, cells map[cellKey]cell, v *cdf3.Var, kind string, n int) error {
	rng := rand.New(rand.NewPCG(7, 8))
	samples := make([][]sample, len(children))
	for range n {
		sel := selections(kind, rng, v)
		var sum uint64
		for i, c := range children {
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := c.measure(sel)
			if err != nil {
				return err
			}
			if i == 0 {
				sum = s.sum
			} else if s.sum != sum {
				return fmt.Errorf("%s: %s of %s: %s reads other values than %s", kind, v.Name, joined(sel[0].start), c.name, children[0].name)
			}
			samples[i] = append(samples[i], s)
		}
	}
	for i, c := range children {
		pick := func(f func(sample) time.Duration) time.Duration {
			var d []time.Duration
			for _, s := range samples[i] {
				d = append(d, f(s))
			}
			return median(d)
		}
		cells[cellKey{c.name, kind, v.Name}] = cell{
			open:     pick(func(s sample) time.Duration { return s.open }),
			read:     pick(func(s sample) time.Duration { return s.read }),
			openCPU:  pick(func(s sample) time.Duration { return s.openCPU }),
			readCPU:  pick(func(s sample) time.Duration { return s.readCPU }),
			total:    pick(func(s sample) time.Duration { return s.open + s.read }),
			totalCPU: pick(func(s sample) time.Duration { return s.openCPU + s.readCPU }),
			n:        n,
		}
	}
	return nil
}
