// Tile makes a classic netCDF file (CDF-2) of a given size for benchmarks. It repeats
// real climatologies with variations or, with -synthetic, computes fields without
// input. The same arguments make the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/cdfz-format/cdfz/bench/internal/fields"
)

func main() {
	out := flag.String("o", "", "the file to write (required)")
	size := flag.Int64("size", 0, "least size of the file in bytes (default 1 GiB, with -synthetic 8 MiB)")
	dir := flag.String("data", fields.FerretDir, "folder of ferret-datasets")
	synthetic := flag.Bool("synthetic", false, "computed fields instead of ferret-datasets")
	maps := flag.Bool("maps", false, "also a variable of a map of 180 x 360 a record")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 || *size < 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*out, *dir, *size, *synthetic, *maps); err != nil {
		fmt.Fprintln(os.Stderr, "tile:", err)
		os.Exit(1)
	}
}

func run(out, dir string, size int64, synthetic, maps bool) error {
	var f *fields.File
	var err error
	if synthetic {
		if size == 0 {
			size = 8 << 20
		}
		f, err = fields.Synthetic(size)
	} else {
		if size == 0 {
			size = 1 << 30
		}
		f, err = fields.Ferret(dir, size, maps)
	}
	if err != nil {
		return err
	}
	w, err := os.Create(out)
	if err != nil {
		return err
	}
	_, err = f.WriteTo(w)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return err
}
