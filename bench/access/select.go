package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"unsafe"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// selection is a part of a variable.
type selection struct {
	slab.Sel
	name  string
	bytes int64
}

func joined(n []int64) string { return strings.ReplaceAll(strings.Trim(fmt.Sprint(n), "[]"), " ", ",") }

// part returns a selection of a variable: everything in the dimensions for which all is
// true, one random index in the others.
func part(rng *rand.Rand, v *cdf3.Var, all func(i int) bool) selection {
	s := selection{name: v.Name, bytes: v.Type.Size()}
	for i, n := range v.Shape {
		start, count := rng.Int64N(n), int64(1)
		if all(i) {
			start, count = 0, n
		}
		s.Start, s.Count = append(s.Start, start), append(s.Count, count)
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
		s.Start[0], s.Count[0] = at, min(16, v.Shape[0]-at)
		s.bytes = s.bytes / v.Shape[0] * s.Count[0]
		out = append(out, s)
	}
	return out
}

// read is one measurement in this process with package archive, on one processor.
func read(open func() (*archive.File, error), sel []selection) (s sample, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	most := int64(8)
	for i := range sel {
		most = max(most, sel[i].bytes)
	}
	buf := make([]float64, (most+7)/8)
	for i := range buf {
		buf[i] = 1 // touch its pages
	}
	var f *archive.File
	if s.open, err = run.Func(func() (err error) {
		f, err = open()
		return err
	}); err != nil {
		return s, err
	}
	defer f.Close()
	for i := range sel {
		p := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(buf))), sel[i].bytes)
		c, err := run.Func(func() error {
			a, err := f.Var(sel[i].name)
			if err != nil {
				return err
			}
			return readBytes(a, p, sel[i].Sel)
		})
		s.read.Wall, s.read.CPU = s.read.Wall+c.Wall, s.read.CPU+c.CPU
		if err != nil {
			return s, err
		}
		for k, b := range p {
			s.sum += uint64(k+1) * uint64(b)
		}
	}
	return s, nil
}

// readBytes reads values into p, in this machine's order.
func readBytes(a slab.Array, p []byte, s slab.Sel) error {
	ctx := context.Background()
	switch a.Type() {
	case cdf3.Byte:
		return slab.ReadInto(ctx, a, as[int8](p), s)
	case cdf3.Short:
		return slab.ReadInto(ctx, a, as[int16](p), s)
	case cdf3.Int:
		return slab.ReadInto(ctx, a, as[int32](p), s)
	case cdf3.Float:
		return slab.ReadInto(ctx, a, as[float32](p), s)
	case cdf3.Double:
		return slab.ReadInto(ctx, a, as[float64](p), s)
	}
	return fmt.Errorf("variables of type %s are not measured", a.Type())
}

// as returns bytes, aligned for every type, as numbers.
func as[T cdf3.Number](p []byte) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p))), len(p)/int(unsafe.Sizeof(z)))
}
