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
	"math"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/inputs"
	"github.com/cdfz-format/cdfz/bench/internal/run"
)

var (
	presetList = flag.String("preset", "default", "presets or chains of filters (as 2|32015,19) to archive with, separated by spaces; the first is compared")
	toolList   = flag.String("tools", strings.Join(peerNames(), ","), "which to run, separated by commas")
	cache      = flag.String("cache", "", "file that keeps the sizes of peers")
	python     = run.Python()
)

func main() {
	run.Dir()
	run.Out()
	run.Main("[FILE | FOLDER]...", 0, math.MaxInt, func(ctx context.Context, args []string) error {
		rep := &report{Report: run.NewReport()}
		var err error
		if rep.presets, err = parsePresets(*presetList); err != nil {
			return err
		}
		r, err := newRunner(ctx, rep.Report)
		if err != nil {
			return err
		}
		defer r.close()
		rep.peers = r.peers
		if err := inputs.Each(args, func(name string, f *archive.File) error {
			run.Say("%s", name)
			units, err := measureFile(ctx, name, f, rep.presets, r)
			rep.units = append(rep.units, units...)
			return err
		}); err != nil {
			return err
		}
		if len(rep.units) == 0 {
			return fmt.Errorf("no file of %d bytes or variable of %d", minFile, minVar)
		}
		rep.write()
		return rep.Save()
	})
}

// measureFile measures a file and its large variables.
func measureFile(ctx context.Context, name string, f *archive.File, presets []preset, r *runner) ([]*unit, error) {
	units, err := newUnits(f, name, f.Name())
	if err != nil || len(units) == 0 {
		return nil, err
	}
	for _, p := range presets {
		if err := p.measure(ctx, f, units, run.Temp("archive")); err != nil {
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
