// Tile makes a classic netCDF file (CDF-2) of a given size for benchmarks. It repeats
// real climatologies with variations or, with -synthetic, computes fields without
// input. The same arguments make the same bytes.
package main

import (
	"context"
	"flag"
	"io"

	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/run"
)

var (
	out       = flag.String("o", "tile.nc", "the file to write")
	size      = flag.Int64("size", 0, "least size of the file in bytes (default 1 GiB, with -synthetic 8 MiB)")
	data      = flag.String("data", fields.FerretDir, "folder of ferret-datasets")
	synthetic = flag.Bool("synthetic", false, "computed fields instead of ferret-datasets")
	maps      = flag.Bool("maps", false, "also a variable with a map of 180 x 360 per record")
)

func main() { run.Main("", 0, 0, tile) }

func tile(context.Context, []string) (err error) {
	var f *fields.File
	switch {
	case *synthetic && *size == 0:
		f, err = fields.Synthetic(8 << 20)
	case *synthetic:
		f, err = fields.Synthetic(*size)
	case *size == 0:
		f, err = fields.Ferret(*data, 1<<30, *maps)
	default:
		f, err = fields.Ferret(*data, *size, *maps)
	}
	if err != nil {
		return err
	}
	return run.WriteFile(*out, func(w io.Writer) error {
		_, err := f.WriteTo(w)
		return err
	})
}
