package main

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	bench "github.com/cdfz-format/cdfz/bench/internal/inputs"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

// netcdfSource reads with netCDF-C, zarrScript with zarr.
//
//go:embed netcdf.c
var netcdfSource []byte

//go:embed zarr_read.py
var zarrScript []byte

// inputs are files with the same values, and the programs that read them.
type inputs struct {
	file, archive string // the classic file, and the archive of it
	netcdf        string // the C program
	script        string // zarr_read.py
	python        string // "" without numpy
	vars          []*cdf3.Var
	tools         []tool
	children      []*run.Child
}

// tool reads a file.
type tool struct {
	name, what string // what the file is
	path       string
	measure    func(sel []selection) (sample, error)
}

// The programs, as the report names them.
const (
	toolCdfz    = "cdfz"
	toolNC4     = "netCDF-4"
	toolChunked = "netCDF-4, chunked"
	toolRaw     = "classic, netCDF-C"
	toolZarr    = "zarr"
	toolSeek    = "zstd seekable"
)

// tileVars are the variables to read in the file of bench/tile: large, with a map of 180 x 360
// per record, and with a map of 90 x 180 per record.
const tileVars = "atlas_TEMP,levitus_map,coads_SST"

// newInputs makes all files from one, and starts the programs.
func newInputs(ctx context.Context, file string) (in *inputs, err error) {
	in = &inputs{python: *python}
	if file == "" && *vars == "" {
		*vars = tileVars
	}
	if in.file, err = bench.Large(file, *size, true); err != nil {
		return nil, err
	}
	f, err := archive.Open(ctx, in.file, nil)
	if err != nil {
		return nil, err
	}
	h := f.Header()
	f.Close()
	if in.vars, err = chooseVars(h, *vars); err != nil {
		return nil, err
	}
	if in.netcdf, err = compile(ctx); err != nil {
		return nil, err
	}
	if in.archive, err = bench.Archive(ctx, in.file, *block); err != nil {
		return nil, err
	}
	in.add(toolCdfz, in.archive, fmt.Sprintf("cdfz archive, blocks of %d KiB", *block>>10), func(sel []selection) (sample, error) {
		return read(func() (*archive.File, error) { return archive.Open(ctx, in.archive, nil) }, sel)
	})
	for _, c := range []struct {
		tool, file string
		flags      []string
	}{{toolNC4, "default.nc4", nil}, {toolChunked, "chunked.nc4", []string{"-c", nccopyChunks(h, in.vars)}}, {toolRaw, "", nil}} {
		path, what := in.file, "as it is"
		if c.file != "" {
			args := append([]string{"nccopy", "-d5", "-s"}, c.flags...)
			what = strings.Join(args, " ")
			if path, err = run.Made(c.file, func(to string) error {
				_, err := run.Command(ctx, append(args, in.file, to)...)
				return err
			}); err != nil {
				return nil, err
			}
		}
		if err := in.start(ctx, c.tool, path, what, in.netcdf); err != nil {
			return nil, err
		}
	}
	if err := in.addZarr(ctx); err != nil {
		return nil, err
	}
	seek, err := run.Made("big.zst", func(to string) error { return writeSeekable(to, in.file) })
	if err != nil {
		return nil, err
	}
	in.add(toolSeek, seek, "frames of 64 KiB, level 3, read by means of Go", func(sel []selection) (sample, error) {
		return read(func() (*archive.File, error) { return openSeekable(seek) }, sel)
	})
	return in, nil
}

func (in *inputs) add(name, path, what string, measure func([]selection) (sample, error)) {
	in.tools = append(in.tools, tool{name, what, path, measure})
}

// start starts a program that reads a file. A request is the number of selections, then a line
// for each:
//
//	VAR RANK START… COUNT… BYTES
//
// The program opens the file again, reads all selections and answers with a line:
//
//	OPEN READ OPEN-CPU READ-CPU SUM
//
// Times are in ns.
func (in *inputs) start(ctx context.Context, name, path, what string, program ...string) error {
	c, err := run.Start(ctx, []string{"OMP_NUM_THREADS=1"}, append(program, "serve", path)...)
	if err != nil {
		return err
	}
	in.children = append(in.children, c)
	in.add(name, path, what, func(sel []selection) (s sample, err error) {
		b := fmt.Appendln(nil, len(sel))
		for _, s := range sel {
			b = fmt.Append(b, s.name, " ", len(s.Start))
			for _, x := range slices.Concat(s.Start, s.Count) {
				b = fmt.Append(b, " ", x)
			}
			b = fmt.Appendln(b, "", s.bytes)
		}
		line, err := c.Ask(b)
		if err == nil {
			_, err = fmt.Sscan(string(line), (*int64)(&s.open.Wall), (*int64)(&s.read.Wall), (*int64)(&s.open.CPU), (*int64)(&s.read.CPU), &s.sum)
		}
		return s, err
	})
	return nil
}

func (in *inputs) stop() {
	for _, c := range in.children {
		c.Stop()
	}
}

// compile compiles the program that reads with netCDF-C.
func compile(ctx context.Context) (string, error) {
	source, err := run.Script("netcdf.c", netcdfSource)
	if err != nil {
		return "", err
	}
	program := run.Temp("netcdf")
	if _, err := run.Command(ctx, "gcc", "-O3", "-march=native", "-o", program, source, "-lnetcdf"); err != nil {
		return "", err
	}
	return program, run.Settle(program)
}

// addZarr does nothing if Python lacks the modules.
func (in *inputs) addZarr(ctx context.Context) (err error) {
	if in.script, err = run.Script("zarr_read.py", zarrScript); err != nil {
		return err
	}
	if _, err := run.Command(ctx, in.python, "-c", "import numpy"); err != nil {
		in.python = ""
		run.Say("without zarr and numpy, which python3 lacks")
		return nil
	}
	if _, err := run.Command(ctx, in.python, "-c", "import zarr, numcodecs, netCDF4"); err != nil {
		run.Say("without zarr: python3 lacks zarr, numcodecs or netCDF4")
		return nil
	}
	path, err := run.Made("zarr", func(to string) error {
		args := []string{in.python, in.script, "make", in.file, to}
		for _, v := range in.vars {
			args = append(args, v.Name+"="+joined(chunksOf(v)))
		}
		_, err := run.Command(ctx, args...)
		return err
	})
	if err != nil {
		return err
	}
	return in.start(ctx, toolZarr, path, "the variables below alone, chunks as in netCDF-4, chunked; Blosc zstd 5, shuffle", in.python, in.script)
}

// chooseVars finds the variables to read: the named ones, or the largest record
// variables with four and with three dimensions.
func chooseVars(h *cdf3.Header, names string) (list []*cdf3.Var, err error) {
	if names != "" {
		for name := range strings.SplitSeq(names, ",") {
			i := slices.IndexFunc(h.Vars, func(v cdf3.Var) bool { return v.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("no variable %q", name)
			}
			list = append(list, &h.Vars[i])
		}
		return list, nil
	}
	for rank := 4; rank >= 3; rank-- {
		var best *cdf3.Var
		for i := range h.Vars {
			v := &h.Vars[i]
			if len(v.Shape) == rank && v.Record && v.Type.Size() > 1 && (best == nil || v.Len > best.Len) {
				best = v
			}
		}
		if best != nil {
			list = append(list, best)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no record variable of three or four dimensions; -vars names others")
	}
	return list, nil
}

// chunksOf returns chunks such as 16 x 1 x 60 x 120: 16 records, one level, and the
// nearest even division of latitudes and longitudes.
func chunksOf(v *cdf3.Var) []int64 {
	n := len(v.Shape)
	c := make([]int64, n)
	for i, d := range v.Shape {
		c[i] = 1
		switch {
		case i == 0:
			c[i] = min(16, max(1, d))
		case i == n-1:
			c[i] = cut(d, 120)
		case i == n-2:
			c[i] = cut(d, 60)
		}
	}
	return c
}

// cut returns the length of the pieces if n is divided into pieces of at most most.
func cut(n, most int64) int64 {
	pieces := max(1, (n+most-1)/most)
	return max(1, (n+pieces-1)/pieces)
}

// nccopyChunks returns the chunks of all variables, by dimension.
func nccopyChunks(h *cdf3.Header, vars []*cdf3.Var) string {
	var out []string
	seen := map[int]bool{}
	for _, v := range vars {
		for i, c := range chunksOf(v) {
			if d := int(v.DimIDs[i]); !seen[d] {
				seen[d] = true
				out = append(out, fmt.Sprintf("%s/%d", h.Dims[d].Name, c))
			}
		}
	}
	return strings.Join(out, ",")
}
