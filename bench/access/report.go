package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

// target is the required speed of cdfz relative to another program.
type target struct {
	kind, tool string
	times      float64
}

var targets = []target{
	{kindPoint, toolNC4, 10},
	{kindMap, toolNC4, 3},
	{kindPoints, toolNC4, 10},
	{kindSeries, toolNC4, 30},
	{kindSeries, toolChunked, 1},
	{kindScan, toolNC4, 4},
	{kindScan, toolZarr, 2},
	{kindPoint, toolSeek, 1},
}

// least returns the target for a variable. nccopy's default chunk is a record, which for a
// variable with three dimensions is only a map.
func (t target) least(v *cdf3.Var) float64 {
	if t.kind == kindSeries && t.tool == toolNC4 && len(v.Shape) < 4 {
		return 10
	}
	return t.times
}

// mostUncached is the target for a point in an open archive that keeps no blocks.
const mostUncached = 40 * time.Microsecond

type extras struct {
	v            *cdf3.Var
	cached       *cached
	uncached     *uncached
	cdfz, netcdf *run.Task // cold processes
}

type report struct {
	*run.Report
	in      *inputs
	samples map[key][]sample
	extras  []extras
}

func newReport(ctx context.Context, in *inputs) *report {
	r := &report{run.NewReport(), in, map[key][]sample{}, nil}
	r.AddVersion(run.Version(ctx, "nc-config", "--version"))
	if in.python != "" {
		r.AddVersion(run.Version(ctx, in.python, "-c", "import zarr, numcodecs; print('zarr', zarr.__version__, 'numcodecs', numcodecs.__version__)"))
	}
	return r
}

// clock returns the times to compare.
func clock(c run.Cost) time.Duration {
	if *useCPU {
		return c.CPU
	}
	return c.Wall
}

// medians returns the median times of reading, and of opening and reading.
func (r *report) medians(k key) (read, total time.Duration) {
	return run.Median(r.samples[k], func(s sample) time.Duration { return clock(s.read) }),
		run.Median(r.samples[k], func(s sample) time.Duration { return clock(s.open) + clock(s.read) })
}

// sizeOf returns the size of a file, or of all files in a folder.
func sizeOf(name string) (n int64) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	filepath.WalkDir(name, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil
	})
	return n
}

func (r *report) write() {
	clock := "wall time"
	if *useCPU {
		clock = "CPU time"
	}
	r.Printf("%s: medians; one thread; files opened anew for every measurement, in the page cache\n\n", clock)
	t := r.Table("file %s", "bytes %d", "of %s")
	for _, f := range r.in.tools {
		t.Row(f.name, sizeOf(f.path), f.what)
	}
	r.Printf("\n")
	r.Data = r.Table("variable %s", "read %s", "of %s", "open %s", "read %s", "open + read %s", "cdfz reads %.2fx", "opens and reads %.2fx", "places %d")
	for _, v := range r.in.vars {
		for _, kind := range kinds {
			baseRead, baseTotal := r.medians(key{toolCdfz, kind, v.Name})
			for _, tool := range r.in.tools {
				k := key{tool.name, kind, v.Name}
				read, total := r.medians(k)
				r.Data.Row(v.Name+joinedShape(v), kind, tool.name, show(total-read), show(read), show(total), ratio(read, baseRead), ratio(total, baseTotal), len(r.samples[k]))
			}
		}
	}
	r.Printf("\n")
	t = r.Table("target %s", "against %s", "at least %gx", "variable %s", "reads %.2fx", "opens and reads %.2fx", "%s")
	for _, x := range targets {
		for _, v := range r.in.vars {
			theirs := key{x.tool, x.kind, v.Name}
			if len(r.samples[theirs]) == 0 {
				continue
			}
			readA, totalA := r.medians(key{toolCdfz, x.kind, v.Name})
			readB, totalB := r.medians(theirs)
			t.Row(x.kind, x.tool, x.least(v), v.Name, ratio(readB, readA), ratio(totalB, totalA), verdict(ratio(readB, readA) >= x.least(v)))
		}
	}
	for _, x := range r.extras {
		r.extra(x)
	}
}

func joinedShape(v *cdf3.Var) string { return "[" + joined(v.Shape) + "]" }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(1, b)) }

// show formats a time with three digits.
func show(d time.Duration) string {
	switch {
	case d.Abs() >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d.Abs() >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	case d.Abs() >= time.Microsecond:
		return fmt.Sprintf("%.3g µs", float64(d)/1e3)
	}
	return fmt.Sprintf("%d ns", int64(d))
}

func verdict(ok bool) string {
	if ok {
		return "holds"
	}
	return "MISSED"
}

func (r *report) extra(x extras) {
	r.Printf("\n")
	t := r.Table(x.v.Name+joinedShape(x.v)+" %s", "%s", "%s")
	c, u := x.cached, x.uncached
	ns := func(n float64) string { return show(time.Duration(n)) }
	t.Row("cached point", fmt.Sprintf("%.0f ns", c.pointNS), fmt.Sprintf("%d allocations; target 300 ns and none: %s", c.allocs, verdict(c.pointNS < 300 && c.allocs == 0)))
	fastest := c.loopNS
	if c.numpyNS > 0 {
		fastest = min(fastest, c.numpyNS)
	}
	t.Row(fmt.Sprintf("map from the cache, %d bytes", c.bytes), ns(c.mapNS), fmt.Sprintf("%.2f GB/s, %d allocations; target 0.6 of the faster: %s",
		float64(c.bytes)/c.mapNS, c.mapAllocs, verdict(c.mapNS*0.6 <= fastest)))
	loop := func(name string, took float64) {
		t.Row("  "+name, ns(took), fmt.Sprintf("%.2f GB/s; cdfz needs %.2f times as long", float64(c.bytes)/took, c.mapNS/took))
	}
	loop("gcc -O3 -march=native loop", c.loopNS)
	if c.numpyNS > 0 {
		loop("numpy byteswap()", c.numpyNS)
	}
	t.Row("uncached point in an open archive", show(u.point), fmt.Sprintf("target %s: %s", show(mostUncached), verdict(u.point <= mostUncached)))
	t.Row("  decoding the whole block alone", show(u.block), fmt.Sprintf("%d bytes", u.blockLen))
	t.Row("  difference", show(u.over), "")
	wall, cpu := ratio(x.cdfz.Wall(), x.netcdf.Wall()), ratio(x.cdfz.CPU(), x.netcdf.CPU())
	best := wall
	if *useCPU {
		best = cpu
	}
	t.Row("cold process: cdfz get", show(x.cdfz.Wall()), "CPU "+show(x.cdfz.CPU()))
	t.Row("  netCDF-C on the classic file", show(x.netcdf.Wall()), fmt.Sprintf("CPU %s; cdfz needs %.2f times as long, CPU %.2f; target 0.5: %s",
		show(x.netcdf.CPU()), wall, cpu, verdict(best <= 0.5)))
}
