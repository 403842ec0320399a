package slab

import (
	"context"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

const (
	// runBuffer is the number of bytes read at once from an array without Blocks.
	runBuffer = 256 << 10
	// sparseStep is the distance in bytes from which elements are read one by one. A
	// system call costs about as much as copying this many bytes.
	sparseStep = 8 << 10
)

// readRuns reads a selection run by run through ReadAt.
func readRuns[T cdf3.Number](ctx context.Context, a Array, dst []T, dims []dim) error {
	size := a.Type().Size()
	var lbuf [maxRank]loop
	n := boxNest(dims, make([]int64, len(dims)), a.Shape(), size, lbuf[:])
	r := runReader[T]{r: ioat.Bind(ctx, a.Values()), size: size, dst: dst}
	return r.nest(ctx, n.loops, n.src, n.dst)
}

// runReader reads elements into dst.
type runReader[T cdf3.Number] struct {
	r    io.ReaderAt
	size int64
	dst  []T
	buf  []byte
}

// nest runs the outer loops one by one. They are few, and reading the file dominates.
func (r *runReader[T]) nest(ctx context.Context, loops []loop, src, dst int64) error {
	if len(loops) == 0 {
		return r.row(loop{1, r.size, 1}, src, dst)
	}
	if len(loops) == 1 {
		return r.row(loops[0], src, dst)
	}
	for range loops[0].n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.nest(ctx, loops[1:], src, dst); err != nil {
			return err
		}
		src += loops[0].src
		dst += loops[0].dst
	}
	return nil
}

// row reads the innermost loop: n elements in even steps.
func (r *runReader[T]) row(l loop, src, dst int64) error {
	step := l.src
	if step < 0 {
		step = -step
	}
	per := int64(1) // elements in one read
	if step < sparseStep {
		per = max(1, (runBuffer-r.size)/step+1)
	}
	for l.n > 0 {
		k := min(per, l.n)
		lo := min(src, src+(k-1)*l.src)
		n := (k-1)*step + r.size
		if int64(cap(r.buf)) < n {
			r.buf = make([]byte, n)
		}
		b := r.buf[:n]
		if err := ioat.ReadFull(r.r, b, lo); err != nil {
			return fmt.Errorf("reading %d bytes at %d: %w", n, lo, err)
		}
		if l.src == r.size && l.dst == 1 {
			load(r.dst[dst:dst+k], b)
		} else {
			loadStrided(r.dst, b, k, dst, l.dst, src-lo, l.src)
		}
		src += k * l.src
		dst += k * l.dst
		l.n -= k
	}
	return nil
}
