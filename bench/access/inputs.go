package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/pack"
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
	dir     string
	file    string // the classic file
	archive string
	nc4     string // nccopy's default chunks
	chunked string // nccopy with chunks of several records
	seek    string // zstd seekable, "" for none
	zarr    string // "" for none
	netcdf  string // the C program
	script  string // zarr_read.py
	python  string
	h       *cdf3.Header
	vars    []*cdf3.Var
	chunks  string // chunks of chunked, in nccopy's syntax
}

// command runs a program.
func command(ctx context.Context, args ...string) error {
	var msg bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = &msg
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, msg.Bytes())
	}
	return nil
}

// tileVars are the variables to read in the file of bench/tile: large, with a map of 180 x 360
// a record, and with a map of 90 x 180 a record.
const tileVars = "atlas_TEMP,levitus_map,coads_SST"

// newInputs makes all files from one.
func newInputs(ctx context.Context, o *options, dir string) (*inputs, error) {
	in := &inputs{dir: dir, file: o.file, python: o.python}
	path := func(name string) string { return filepath.Join(dir, name) }
	if in.file == "" {
		in.file = path("big.nc")
		say("making the large file")
		if err := command(ctx, "go", "run", "github.com/cdfz-format/cdfz/bench/tile", "-maps", "-size", strconv.FormatInt(o.size, 10), "-o", in.file); err != nil {
			return nil, err
		}
		if o.vars == "" {
			o.vars = tileVars
		}
	}
	f, err := archive.Open(context.Background(), in.file, nil)
	if err != nil {
		return nil, err
	}
	in.h = f.Header()
	f.Close()
	if in.vars, err = chooseVars(in.h, o.vars); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path("netcdf.c"), netcdfSource, 0o666); err != nil {
		return nil, err
	}
	in.netcdf = path("netcdf")
	if err := command(ctx, "gcc", "-O3", "-march=native", "-o", in.netcdf, path("netcdf.c"), "-lnetcdf"); err != nil {
		return nil, err
	}
	if err := installed(in.netcdf); err != nil {
		return nil, err
	}
	in.archive, in.nc4, in.chunked = path(fmt.Sprintf("block-%d.cdfz", o.block)), path("default.nc4"), path("chunked.nc4")
	if err := in.once(in.archive, func() error { return pack.File(ctx, in.archive, in.file, o.block) }); err != nil {
		return nil, err
	}
	if err := in.once(in.nc4, func() error { return command(ctx, "nccopy", "-d5", "-s", in.file, in.nc4) }); err != nil {
		return nil, err
	}
	in.chunks = nccopyChunks(in.h, in.vars)
	if err := in.once(in.chunked, func() error {
		return command(ctx, "nccopy", "-d5", "-s", "-c", in.chunks, in.file, in.chunked)
	}); err != nil {
		return nil, err
	}
	in.seek = path("big.zst")
	if err := in.once(in.seek, func() error { return writeSeekable(in.seek, in.file) }); err != nil {
		return nil, err
	}
	return in, in.makeZarr(ctx, path)
}

// once makes a file, unless an earlier run over the same folder has made it.
func (in *inputs) once(name string, write func() error) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	say("making %s", filepath.Base(name))
	return write()
}

// makeZarr does nothing if Python lacks the modules.
func (in *inputs) makeZarr(ctx context.Context, path func(string) string) error {
	in.script = path("zarr_read.py")
	if err := os.WriteFile(in.script, zarrScript, 0o666); err != nil {
		return err
	}
	found := false
	for _, p := range []string{in.python, "/usr/bin/python3"} { // Debian's, where another comes first
		if err := exec.CommandContext(ctx, p, "-c", "import numpy").Run(); err == nil {
			in.python, found = p, true
			break
		}
	}
	if !found {
		in.python = ""
		say("without zarr and numpy: python3 has neither")
		return nil
	}
	if err := exec.CommandContext(ctx, in.python, "-c", "import zarr, numcodecs, netCDF4").Run(); err != nil {
		say("without zarr: python3 lacks zarr, numcodecs or netCDF4")
		return nil
	}
	in.zarr = path("zarr")
	args := []string{in.python, in.script, "make", in.file, in.zarr}
	for _, v := range in.vars {
		args = append(args, v.Name+"="+joined(chunksOf(v)))
	}
	return in.once(in.zarr, func() error { return command(ctx, args...) })
}

// chooseVars finds the variables to read: the named ones, or the largest record
// variables with four and with three dimensions.
func chooseVars(h *cdf3.Header, names string) ([]*cdf3.Var, error) {
	var out []*cdf3.Var
	if names != "" {
		for _, name := range strings.Split(names, ",") {
			found := false
			for i := range h.Vars {
				if h.Vars[i].Name == name {
					out, found = append(out, &h.Vars[i]), true
				}
			}
			if !found {
				return nil, fmt.Errorf("no variable %q", name)
			}
		}
		return out, nil
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
			out = append(out, best)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no record variable of three or four dimensions; -vars names others")
	}
	return out, nil
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

// part returns a selection of a variable: everything in the dimensions for which all is
// true, one random index in the others.
func part(rng *rand.Rand, v *cdf3.Var, all func(i int) bool) selection {
	s := selection{name: v.Name, bytes: v.Type.Size()}
	for i, n := range v.Shape {
		start, count := rng.Int64N(n), int64(1)
		if all(i) {
			start, count = 0, n
		}
		s.start, s.count = append(s.start, start), append(s.count, count)
		s.bytes *= count
	}
	return s
}

// selections returns the selections of one measurement.
func selections(kind string, rng *rand.Rand, v *cdf3.Var) []selection {
	none := func(int) bool { return false }
	switch kind {
	case kindPoint:
		return []selection{part(rng, v, none)}
	case kindMap:
		return []selection{part(rng, v, func(i int) bool { return i >= len(v.Shape)-2 })}
	case kindSeries:
		return []selection{part(rng, v, func(i int) bool { return i == 0 })}
	case kindPoints:
		var out []selection
		for range 1000 {
			out = append(out, part(rng, v, none))
		}
		return out
	}
	var out []selection // 16 records at a time, which no layout splits
	for at := int64(0); at < v.Shape[0]; at += 16 {
		s := part(rng, v, func(int) bool { return true })
		s.start[0], s.count[0] = at, min(16, v.Shape[0]-at)
		s.bytes = s.bytes / v.Shape[0] * s.count[0]
		out = append(out, s)
	}
	return out
}

// programs starts the programs that read the files.
func (in *inputs) programs(ctx context.Context) ([]*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	one := []string{"GOMAXPROCS=1"}
	list := []struct {
		name string
		env  []string
		args []string
	}{
		{toolCdfz, one, []string{self, "-serve", "cdfz", in.archive}},
		{toolNC4, nil, []string{in.netcdf, "serve", in.nc4}},
		{toolChunked, nil, []string{in.netcdf, "serve", in.chunked}},
		{toolRaw, nil, []string{in.netcdf, "serve", in.file}},
		{toolZarr, []string{"OMP_NUM_THREADS=1"}, []string{in.python, in.script, "serve", in.zarr}},
		{toolSeek, one, []string{self, "-serve", "seekable", in.seek}},
	}
	var out []*child
	for _, p := range list {
		if p.name == toolZarr && in.zarr == "" || p.name == toolSeek && in.seek == "" {
			continue
		}
		c, err := startChild(ctx, p.name, p.env, p.args...)
		if err != nil {
			return out, err
		}
		out = append(out, c)
	}
	return out, nil
}

func stopAll(children []*child) {
	for _, c := range children {
		c.stop()
	}
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// installed rewrites a program in one go, as package managers and cp do. A file written
// by a linker is scattered in the page cache, which makes starting a process up to a
// fifth slower.
func installed(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", b, 0o777); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
