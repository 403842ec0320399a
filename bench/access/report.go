package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

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
// variable of three dimensions is no larger than a map.
func (t target) least(v *cdf3.Var) float64 {
	if t.kind == kindSeries && t.tool == toolNC4 && len(v.Shape) < 4 {
		return 10
	}
	return t.times
}

// mostUncached is the target for a point in an open archive that keeps no blocks.
const mostUncached = 40 * time.Microsecond

type extras struct {
	v        *cdf3.Var
	cached   *cached
	uncached *uncached
	cold     *cold
}

type report struct {
	in      *inputs
	cpu     bool
	block   int64
	machine []string
	cells   map[cellKey]cell
	extras  []extras
}

func newReport(ctx context.Context, in *inputs, o *options) *report {
	r := &report{in: in, cpu: o.cpu, block: o.block}
	machine := fmt.Sprintf("%s; %d processors; %s/%s; %s", field("/proc/cpuinfo", "model name"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	r.machine = append(r.machine, time.Now().UTC().Format(time.DateOnly)+"; "+machine)
	load, _ := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(load)); len(f) > 2 {
		r.machine = append(r.machine, "load averages at the start: "+strings.Join(f[:3], " "))
	}
	versions := []string{"netCDF-C " + strings.TrimPrefix(programVersion(ctx, "nc-config", "--version"), "netCDF ")}
	if in.zarr != "" {
		versions = append(versions, programVersion(ctx, in.python, "-c", "import zarr, numcodecs; print('zarr', zarr.__version__, 'numcodecs', numcodecs.__version__)"))
	}
	r.machine = append(r.machine, strings.Join(versions, "; "))
	return r
}

func field(name, key string) string {
	b, _ := os.ReadFile(name)
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, key); ok {
			return strings.Trim(v, " \t\n:")
		}
	}
	return "unknown processor"
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// of returns the times to compare.
func (r *report) of(c cell) (read, total time.Duration) {
	if r.cpu {
		return c.readCPU, c.totalCPU
	}
	return c.read, c.total
}

// size returns the size of a file, or of all files in a folder.
func size(name string) int64 {
	n := int64(0)
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

func (r *report) write(out io.Writer) error {
	fmt.Fprintln(out, strings.Join(r.machine, "\n"))
	clock := "wall time"
	if r.cpu {
		clock = "CPU time"
	}
	fmt.Fprintf(out, "%s: medians; one thread; files opened anew for every measurement, in the page cache\n\n", clock)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "file\tbytes\tof")
	for _, f := range [...]struct{ name, path, what string }{
		{toolCdfz, r.in.archive, fmt.Sprintf("cdfz archive, blocks of %d KiB", r.block>>10)},
		{toolNC4, r.in.nc4, "nccopy -d5 -s"},
		{toolChunked, r.in.chunked, "nccopy -d5 -s -c " + r.in.chunks},
		{toolRaw, r.in.file, "as it is"},
		{toolZarr, r.in.zarr, "the variables below alone, chunks as in netCDF-4, chunked; Blosc zstd 5, shuffle"},
		{toolSeek, r.in.seek, "frames of 64 KiB, level 3, read by means of Go"},
	} {
		if f.path != "" {
			fmt.Fprintf(w, "%s\t%d\t%s\n", f.name, size(f.path), f.what)
		}
	}
	fmt.Fprintln(w, "\t\t\nvariable\tread\tof\topen\tread\topen + read\tcdfz reads\topens and reads\tplaces")
	for _, v := range r.in.vars {
		for _, kind := range kinds {
			base := r.cells[cellKey{toolCdfz, kind, v.Name}]
			for _, tool := range toolOrder {
				c, ok := r.cells[cellKey{tool, kind, v.Name}]
				if !ok {
					continue
				}
				read, total := r.of(c)
				baseRead, baseTotal := r.of(base)
				fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\t%s\t%.2fx\t%.2fx\t%d\n", v.Name, joinedShape(v), kind, tool,
					show(total-read), show(read), show(total), ratio(read, baseRead), ratio(total, baseTotal), c.n)
			}
		}
	}
	w.Flush()
	r.writeTargets(out)
	return r.writeExtras(out)
}

func joinedShape(v *cdf3.Var) string { return "[" + joined(v.Shape) + "]" }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(1, b)) }

// show formats a time with three digits.
func show(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	case d >= time.Microsecond:
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

func (r *report) writeTargets(out io.Writer) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "target\tagainst\tat least\tvariable\treads\topens and reads\t")
	for _, t := range targets {
		for _, v := range r.in.vars {
			a := r.cells[cellKey{toolCdfz, t.kind, v.Name}]
			b, ok := r.cells[cellKey{t.tool, t.kind, v.Name}]
			if !ok {
				continue
			}
			readA, totalA := r.of(a)
			readB, totalB := r.of(b)
			fmt.Fprintf(w, "%s\t%s\t%gx\t%s\t%.2fx\t%.2fx\t%s\n", t.kind, t.tool, t.least(v), v.Name,
				ratio(readB, readA), ratio(totalB, totalA), verdict(ratio(readB, readA) >= t.least(v)))
		}
	}
	w.Flush()
}

func (r *report) writeExtras(out io.Writer) error {
	for _, x := range r.extras {
		fmt.Fprintf(out, "\n%s%s\n", x.v.Name, joinedShape(x.v))
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		c, u, p := x.cached, x.uncached, x.cold
		fmt.Fprintf(w, "cached point\t%.0f ns\t%d allocations; target 300 ns and none: %s\n", c.pointNS, c.allocs, verdict(c.pointNS < 300 && c.allocs == 0))
		fastest := c.loopNS
		if c.numpyNS > 0 {
			fastest = min(fastest, c.numpyNS)
		}
		fmt.Fprintf(w, "map from the cache, %d bytes\t%s\t%.2f GB/s, %d allocations; target 0.6 of the faster: %s\n",
			c.bytes, show(time.Duration(c.mapNS)), float64(c.bytes)/c.mapNS, c.mapAllocs, verdict(c.mapNS*0.6 <= fastest))
		fmt.Fprintf(w, "  gcc -O3 -march=native loop\t%s\t%.2f GB/s; cdfz needs %.2f times as long\n", show(time.Duration(c.loopNS)), float64(c.bytes)/c.loopNS, c.mapNS/c.loopNS)
		if c.numpyNS > 0 {
			fmt.Fprintf(w, "  numpy byteswap()\t%s\t%.2f GB/s; cdfz needs %.2f times as long\n", show(time.Duration(c.numpyNS)), float64(c.bytes)/c.numpyNS, c.mapNS/c.numpyNS)
		}
		fmt.Fprintf(w, "uncached point in an open archive\t%s\ttarget %s: %s\n", show(u.point), show(mostUncached), verdict(u.point <= mostUncached))
		fmt.Fprintf(w, "  decode of the block alone\t%s\t%d bytes\n", show(u.block), u.blockLen)
		fmt.Fprintf(w, "  what the point takes more\t%s\t\n", show(u.over))
		fmt.Fprintf(w, "cold process: cdfz get\t%s\tCPU %s\n", show(p.cdfz), show(p.cdfzCPU))
		wall, cpu := ratio(p.cdfz, p.netcdf), ratio(p.cdfzCPU, p.netcdfCPU)
		best := wall
		if r.cpu {
			best = cpu
		}
		fmt.Fprintf(w, "  netCDF-C on the classic file\t%s\tCPU %s; cdfz needs %.2f times as long, CPU %.2f; target 0.5: %s\n",
			show(p.netcdf), show(p.netcdfCPU), wall, cpu, verdict(best <= 0.5))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// programVersion returns the first line that a program prints.
func programVersion(ctx context.Context, args ...string) string {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return ""
	}
	return firstLine(string(out))
}
