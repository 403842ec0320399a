package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all"
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
	a, err := f.Var(v.Name)
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
		one := func() {
			if err == nil {
				err = readBytes(a, buf[:s.bytes], s.Sel)
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

// number returns the number that a program prints.
func number(ctx context.Context, args ...string) (float64, error) {
	_, out, err := run.Output(ctx, args...)
	if err != nil {
		return 0, err
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
	a, err := f.Var(v.Name)
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
		raw, err := blockOf(a, s.Start)
		if err != nil {
			return nil, err
		}
		u.blockLen = len(raw)
		stored, mask, err := coder.Encode(nil, raw)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		if err := readBytes(a, buf[:s.bytes], s.Sel); err != nil {
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
	u.point, u.block, u.over = run.Median(point, run.Itself), run.Median(block, run.Itself), run.Median(over, run.Itself)
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
	w, err := f.Var(v.Name)
	if err != nil {
		return nil, err
	}
	info := w.Info()
	if !info.Blocked {
		return nil, fmt.Errorf("variable %s is not in blocks", v.Name)
	}
	return filters.NewCoder(info.Chain)
}

// measureCold runs `cdfz get` on the archive and netCDF-C on the classic file
// in turns, each for one value.
func (in *inputs) measureCold(ctx context.Context, program string, v *cdf3.Var) (cdfz, netcdf *run.Task, err error) {
	rng := rand.New(rand.NewPCG(5, 6))
	var s selection
	task := func(name string, least int, args func() []string) *run.Task {
		return &run.Task{Name: name, Run: func(int) (run.Cost, error) {
			c, out, err := run.Output(ctx, args()...)
			if err == nil && len(out) < least {
				err = fmt.Errorf("expected %d bytes, found %q", least, out)
			}
			return c, err
		}}
	}
	cdfz = task("cdfz get", int(v.Type.Size()), func() []string {
		s = selections(kindPoint, rng, v)[0]
		return []string{program, "get", "-q", "--format", "raw", in.archive, v.Name + "[" + joined(s.Start) + "]"}
	})
	netcdf = task("netCDF-C", 1, func() []string {
		return append([]string{in.netcdf, "point", in.file, v.Name}, strings.Split(joined(s.Start), ",")...)
	})
	return cdfz, netcdf, run.Turns(*cold, false, cdfz, netcdf)
}
