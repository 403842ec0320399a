// Ratio compares the compression of real files and their variables by cdfz and its
// peers, all in one run.
//
//	go run ./bench/ratio [flags] [FILE | FOLDER]...
//
// It uses the classic netCDF files of the folders, including gzipped ones, and of the
// corpus that CDFZ_CORPUS names: whole files of at least 256 KiB and variables of at
// least 64 KiB. Without arguments it uses Debian's ferret-datasets. It does not measure
// speed. The sizes of peers are kept in a file, so that later runs only run cdfz.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/inputs"
	"github.com/cdfz-format/cdfz/bench/internal/tools"
)

type options struct {
	presets, peers, cache, python, dir, out string
	inputs                                  []string
}

func main() {
	var o options
	flag.StringVar(&o.presets, "preset", "default", "presets or chains of filters (as 2|32015,19) to archive with, separated by spaces; the first is compared")
	flag.StringVar(&o.peers, "peers", "", "run only these, separated by commas (default: all of "+strings.Join(peerNames(), ", ")+")")
	flag.StringVar(&o.cache, "cache", "", "file that keeps the sizes of peers")
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "a Python that has numcodecs, h5py, zarr, netCDF4 and zfpy")
	flag.StringVar(&o.dir, "dir", "", "folder for temporary files")
	flag.StringVar(&o.out, "out", "", "also write OUT.txt and OUT.tsv")
	flag.Parse()
	if o.inputs = flag.Args(); len(o.inputs) == 0 {
		o.inputs = []string{fields.FerretDir}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "ratio:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	presets, err := parsePresets(o.presets)
	if err != nil {
		return err
	}
	files, err := inputs.Find(o.inputs, os.Getenv("CDFZ_CORPUS"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "ratio-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rep := &report{machine: tools.NewMachine(), presets: presets}
	runner, err := newRunner(ctx, o, dir, &rep.machine)
	if err != nil {
		return err
	}
	defer runner.close()
	rep.peers = runner.peers
	for i, in := range files {
		fmt.Fprintf(os.Stderr, "%d of %d: %s\n", i+1, len(files), in)
		units, err := measureFile(ctx, in, filepath.Join(dir, "image.nc"), presets, runner)
		if err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		rep.units = append(rep.units, units...)
	}
	if len(rep.units) == 0 {
		return fmt.Errorf("no file of %d bytes or variable of %d", minFile, minVar)
	}
	rep.sort()
	if err := rep.writeText(os.Stdout); err != nil || o.out == "" {
		return err
	}
	if err := tools.WriteFile(o.out+".txt", rep.writeText); err != nil {
		return err
	}
	return tools.WriteFile(o.out+".tsv", rep.writeTSV)
}

// measureFile measures a file and its large variables.
func measureFile(ctx context.Context, in, image string, presets []preset, r *runner) ([]*unit, error) {
	f, err := inputs.Open(in, image)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	units, err := newUnits(f, filepath.Base(strings.TrimSuffix(in, ".gz")), image)
	if err != nil || len(units) == 0 {
		return nil, err
	}
	for _, p := range presets {
		if err := p.measure(ctx, f, units, r.temp("archive")); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := r.file(ctx, units[0], units[1:]); err != nil {
		return nil, err
	}
	for _, u := range units[1:] {
		if err := r.values(ctx, f, u); err != nil {
			return nil, fmt.Errorf("%s: %w", u.name, err)
		}
	}
	return slices.DeleteFunc(units, func(u *unit) bool {
		_, stored := u.stored[presets[0].name] // false if the values overlap others or end beyond the file
		return u.small() || !stored
	}), nil
}
