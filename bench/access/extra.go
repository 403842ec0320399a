package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/slab"
)

// cached holds the cost of reads of cached blocks.
type cached struct {
	pointNS   float64
	allocs    int64
	bytes     int64 // of a map
	mapNS     float64
	loopNS    float64 // the C loop over the same number of bytes
	numpyNS   float64 // 0 without numpy
	mapAllocs int64
}

// measureCached reads from the cache, in this process, on one processor.
func (in *inputs) measureCached(ctx context.Context, v *cdf3.Var) (*cached, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f, err := archive.Open(context.Background(), in.archive, nil)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := arrayOf(f, v.Name)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	m := selections(kindMap, rng, v)[0]
	p := selections(kindPoint, rng, v)[0]
	c := &cached{bytes: m.bytes}
	buf := make([]byte, m.bytes+8)
	// Take the best of several rounds, since other work on the machine must not count.
	// The loops in C and numpy do the same.
	best := func(s selection) (ns float64, allocs int64) {
		sel := slab.Sel{Start: s.start, Count: s.count}
		one := func() {
			if err == nil {
				err = readBytes(a, buf[:s.bytes], sel)
			}
		}
		allocs = int64(testing.AllocsPerRun(100, one))
		for i := range 40 {
			start := time.Now()
			for range 100 {
				one()
			}
			if t := float64(time.Since(start)) / 100; i == 0 || t < ns {
				ns = t
			}
		}
		return ns, allocs
	}
	c.pointNS, c.allocs = best(p)
	c.mapNS, c.mapAllocs = best(m)
	if err != nil {
		return nil, err
	}
	if c.loopNS, err = number(ctx, in.netcdf, "swap", strconv.FormatInt(m.bytes, 10)); err != nil {
		return nil, err
	}
	if in.python != "" {
		c.numpyNS, err = number(ctx, in.python, in.script, "swap", strconv.FormatInt(m.bytes, 10))
	}
	return c, err
}

func number(ctx context.Context, args ...string) (float64, error) {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", args[0], err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// uncached holds the median cost of a point in an open archive that keeps no blocks.
type uncached struct {
	point, block time.Duration // the whole read; only decoding the block
	over         time.Duration // median of their differences
	blockLen     int
}

// measureUncached alternates reads of points with decodes of the same blocks.
func (in *inputs) measureUncached(v *cdf3.Var, n int) (*uncached, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f, err := archive.Open(context.Background(), in.archive, &archive.OpenOptions{Cache: -1})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := arrayOf(f, v.Name)
	if err != nil {
		return nil, err
	}
	coder, err := coderOf(f, v)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var point, block, over []time.Duration
	buf := make([]byte, 8)
	u := &uncached{}
	for i := range n + 3 {
		s := selections(kindPoint, rng, v)[0]
		raw, err := blockOf(a, s.start)
		if err != nil {
			return nil, err
		}
		u.blockLen = len(raw)
		stored, mask, err := coder.Encode(nil, raw)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		if err := readBytes(a, buf[:s.bytes], slab.Sel{Start: s.start, Count: s.count}); err != nil {
			return nil, err
		}
		t := time.Since(start)
		start = time.Now()
		if err := coder.Decode(raw, stored, mask); err != nil {
			return nil, err
		}
		b := time.Since(start)
		if i >= 3 { // the first ones set up the decoders
			point, block, over = append(point, t), append(block, b), append(over, t-b)
		}
	}
	u.point, u.block, u.over = median(point), median(block), median(over)
	return u, nil
}

// blockOf reads the block that holds an element and pads it, as for storage, by
// repeating its last value.
func blockOf(a slab.Array, at []int64) ([]byte, error) {
	blocks, ok := a.Values().(slab.Blocks)
	shaped, ok2 := a.Values().(slab.Shaped)
	if !ok || !ok2 {
		return nil, fmt.Errorf("a variable without blocks")
	}
	box := shaped.BlockShape()
	start, count := make([]int64, len(at)), make([]int64, len(at))
	n := a.Type().Size()
	for i := range at {
		start[i] = at[i] / box[i] * box[i]
		count[i] = min(box[i], a.Shape()[i]-start[i])
		n *= box[i]
	}
	var raw []byte
	err := blocks.EachBlock(context.Background(), slab.Sel{Start: start, Count: count}, func(b slab.Block) error {
		raw = append(raw, b.Data...)
		return nil
	})
	for int64(len(raw)) < n && err == nil {
		raw = append(raw, raw[int64(len(raw))-a.Type().Size():]...)
	}
	return raw, err
}

// coderOf returns a coder with the chain of a variable.
func coderOf(f *archive.File, v *cdf3.Var) (*filters.Coder, error) {
	info := f.Var(v.Name).Info()
	if !info.Blocked {
		return nil, fmt.Errorf("variable %s is not in blocks", v.Name)
	}
	return filters.NewCoder(info.Chain)
}

// cold holds the median cost of whole processes, in wall and CPU time.
type cold struct {
	cdfz, netcdf       time.Duration
	cdfzCPU, netcdfCPU time.Duration
}

// measureCold runs `cdfz get` on the archive and netCDF-C on the classic file
// alternately, each for one value.
func (in *inputs) measureCold(ctx context.Context, program string, v *cdf3.Var, n int) (*cold, error) {
	rng := rand.New(rand.NewPCG(5, 6))
	var cdfz, netcdf, cdfzCPU, netcdfCPU []time.Duration
	for range n {
		s := selections(kindPoint, rng, v)[0]
		index := joined(s.start)
		a, acpu, aout, err := timed(ctx, program, "get", "-q", "--format", "raw", in.archive, v.Name+"["+index+"]")
		if err != nil {
			return nil, err
		}
		b, bcpu, bout, err := timed(ctx, append([]string{in.netcdf, "point", in.file, v.Name}, strings.Split(index, ",")...)...)
		if err != nil {
			return nil, err
		}
		if len(aout) != int(v.Type.Size()) || len(bout) == 0 {
			return nil, fmt.Errorf("cold processes: %q and %q", aout, bout)
		}
		cdfz, netcdf = append(cdfz, a), append(netcdf, b)
		cdfzCPU, netcdfCPU = append(cdfzCPU, acpu), append(netcdfCPU, bcpu)
	}
	return &cold{median(cdfz), median(netcdf), median(cdfzCPU), median(netcdfCPU)}, nil
}

// timed runs a program. It returns wall time, CPU time and output.
func timed(ctx context.Context, args ...string) (wall, cpu time.Duration, out []byte, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	out, err = cmd.Output()
	wall = time.Since(start)
	if err != nil {
		return 0, 0, nil, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), out, nil
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}
