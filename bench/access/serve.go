package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"
	"unsafe"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/cpu"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// opener opens a file for reading.
type opener func() (*archive.File, error)

// serve answers measurement requests in this process with package archive.
func serve(open opener, in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	for {
		sel, err := scanSelections(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s, err := read(open, sel)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, int64(s.open), int64(s.read), int64(s.openCPU), int64(s.readCPU), s.sum)
	}
}

func scanSelections(r io.Reader) ([]selection, error) {
	var n int
	if _, err := fmt.Fscan(r, &n); err != nil {
		return nil, err
	}
	sel := make([]selection, n)
	for i := range sel {
		s := &sel[i]
		var rank int
		if _, err := fmt.Fscan(r, &s.name, &rank); err != nil {
			return nil, err
		}
		s.start, s.count = make([]int64, rank), make([]int64, rank)
		for k := range 2 * rank {
			p := &s.start[k%rank]
			if k >= rank {
				p = &s.count[k%rank]
			}
			if _, err := fmt.Fscan(r, p); err != nil {
				return nil, err
			}
		}
		if _, err := fmt.Fscan(r, &s.bytes); err != nil {
			return nil, err
		}
	}
	return sel, nil
}

// read is one measurement: it opens the file and reads.
func read(open opener, sel []selection) (s sample, err error) {
	most := int64(8)
	for i := range sel {
		most = max(most, sel[i].bytes)
	}
	buf := make([]float64, (most+7)/8)
	for i := range buf {
		buf[i] = 1 // touch its pages
	}
	used, wall := cpu.Time(), time.Now()
	f, err := open()
	s.open, s.openCPU = time.Since(wall), cpu.Time()-used
	if err != nil {
		return s, err
	}
	defer f.Close()
	for i := range sel {
		p := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(buf))), sel[i].bytes)
		used, wall := cpu.Time(), time.Now()
		a, err := arrayOf(f, sel[i].name)
		if err == nil {
			err = readBytes(a, p, slab.Sel{Start: sel[i].start, Count: sel[i].count})
		}
		s.read, s.readCPU = s.read+time.Since(wall), s.readCPU+cpu.Time()-used
		if err != nil {
			return s, err
		}
		for k, b := range p {
			s.sum += uint64(k+1) * uint64(b)
		}
	}
	return s, nil
}

func arrayOf(f *archive.File, name string) (slab.Array, error) {
	if v := f.Var(name); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("no variable %s", name)
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
func as[T slab.Number](p []byte) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p))), len(p)/int(unsafe.Sizeof(z)))
}
