package slab

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime/debug"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Block is a box of an array whose values are contiguous, or the requested part of
// them.
type Block struct {
	Start, Count []int64 // indices of the box
	Data         []byte  // values in row-major order, big-endian; must not be changed
	Off          int64   // offset of Data within the values of the box, in bytes
}

// Blocks is implemented by the Values of an Array that is stored in blocks, as in an
// archive. Reads then ask for each block once.
type Blocks interface {
	io.ReaderAt
	// Bytes returns n bytes of the array from byte off on, which the caller must not
	// change. It returns nil if they span several blocks or EachBlock is faster.
	Bytes(ctx context.Context, off, n int64) ([]byte, error)
	// EachBlock calls f once for each block that holds selected elements, with at least
	// those elements. The calls may come from several goroutines. f must not keep the
	// block.
	EachBlock(ctx context.Context, s Sel, f func(Block) error) error
}

// Decode converts big-endian values of type t, such as [Block.Data] or the bytes of [Array].Values,
// to dst. len(b) must be that of the values of dst, or the error is ErrLength.
func Decode[T cdf3.Number](dst []T, t cdf3.Type, b []byte) error {
	switch {
	case !nativeOf[T](t):
		return inSlab(nil, fmt.Errorf("%s into %T: %w", t, dst, ErrType))
	case int64(len(b)) != int64(len(dst))*sizeOf[T]():
		return inSlab(nil, fmt.Errorf("%d bytes into a slice of %d values of %s: %w", len(b), len(dst), t, ErrLength))
	}
	load(dst, b)
	return nil
}

// nativeOf reports whether T is the Go type of values of type t, or has it below it.
func nativeOf[T cdf3.Number](t cdf3.Type) bool {
	if t.Size() != sizeOf[T]() {
		return false
	}
	switch t {
	case cdf3.Float, cdf3.Double:
		return isFloat[T]()
	case cdf3.Byte, cdf3.Short, cdf3.Int, cdf3.Int64:
		return !isFloat[T]() && isSigned[T]()
	}
	return !isSigned[T]()
}

// isFloat reports whether T is a floating-point type. A type switch would miss types with such a
// type below them.
func isFloat[T cdf3.Number]() bool { return T(1)/T(2) != 0 }

// isSigned reports whether T has values below 0, as floating-point types do.
func isSigned[T cdf3.Number]() bool {
	var z T
	return z-1 < 0
}

// Held is optionally implemented by the Values of an Array. It returns the number of bytes
// that can exist at most, given the size of the file. All other bytes are zero.
type Held interface {
	Held() int64
}

const (
	// maxRead bounds the slices that Read makes, in bytes. More cannot be addressed.
	maxRead = min(math.MaxInt, 1<<47)
	// trusted is the number of bytes that Read allocates for any claimed shape.
	trusted = 1 << 28
)

// Read reads a hyperslab into a new slice. T must be the array's own type: int8, uint8
// (char and ubyte), int16, … float64. Any other type is ErrType; use Convert. The zero
// Sel selects everything.
//
// Read allocates all selected values at once. A small archive may hold a huge variable,
// so for a file of unknown origin compare Sel.Len with what the program can afford, or
// use Walk. Read refuses, with ErrLength, more bytes than the limit of the Go runtime
// (GOMEMLIMIT) and, above 256 MiB, far more than the file can hold. Before it allocates
// more than 256 MiB, it reads the last selected value.
func Read[T cdf3.Number](ctx context.Context, a Array, s Sel) ([]T, error) {
	if err := checkType[T](a); err != nil {
		return nil, err
	}
	n, err := Confirm(ctx, a, s, sizeOf[T]())
	if err != nil {
		return nil, err
	}
	dst := make([]T, n)
	if err := ReadInto(ctx, a, dst, s); err != nil {
		return nil, err
	}
	return dst, nil
}

// Confirm returns the number of selected values, and refuses to have a slice made for them as Read
// does. size is the number of bytes that the caller allocates for each value. It is for functions
// that read into types of their own.
func Confirm(ctx context.Context, a Array, s Sel, size int64) (int64, error) {
	if err := check(a); err != nil {
		return 0, err
	}
	var buf [maxRank]dim
	dims, n, err := s.resolve(a.Shape(), buf[:])
	if err != nil || n <= trusted/size {
		return n, inSlab(a, err)
	}
	if n > min(maxRead, debug.SetMemoryLimit(-1))/size {
		return 0, inSlab(a, fmt.Errorf("%d values of type %s do not fit into memory: %w", n, a.Type(), ErrLength))
	}
	stored := a.Type().Size()
	if h, ok := a.Values().(Held); ok && n > trusted && n/2 > h.Held()/stored {
		return 0, inSlab(a, fmt.Errorf("expected at most %[3]d values of type %[2]s, as many as the file can hold, found %[1]d: %[4]w", n, a.Type(), h.Held()/stored, ErrLength))
	}
	last := int64(0)
	for i := range dims {
		d := &dims[i]
		last = last*d.len + d.start + (d.count-1)*d.stride
	}
	if err := ioat.ReadFull(ioat.Bind(ctx, a.Values()), make([]byte, stored), last*stored); err != nil {
		return 0, inSlab(a, fmt.Errorf("reading %d bytes at %d: %w", stored, last*stored, err))
	}
	return n, nil
}

// checkType reports whether the values of an array can be read as T.
func checkType[T cdf3.Number](a Array) error {
	if err := check(a); err != nil {
		return err
	}
	if !nativeOf[T](a.Type()) {
		var z T
		return inSlab(a, fmt.Errorf("%s into %T: %w", a.Type(), z, ErrType))
	}
	return nil
}

// ReadInto reads a hyperslab into dst, whose length must be the number of selected
// elements (ErrLength otherwise). Reading a single element from a cached block does not
// allocate. After an error the content of dst is undefined.
func ReadInto[T cdf3.Number](ctx context.Context, a Array, dst []T, s Sel) error {
	if err := checkType[T](a); err != nil {
		return err
	}
	var buf [maxRank]dim
	dims, n, err := s.resolve(a.Shape(), buf[:])
	if err == nil && n != int64(len(dst)) {
		err = fmt.Errorf("%d elements into a slice of %d: %w", n, len(dst), ErrLength)
	}
	if err != nil {
		return inSlab(a, err)
	}
	if n == 0 {
		return nil
	}
	b, ok := a.Values().(Blocks)
	if !ok {
		return inSlab(a, readRuns(ctx, a, dst, dims))
	}
	if contiguous(dims) {
		size := a.Type().Size()
		data, err := b.Bytes(ctx, offsetOf(dims, size), n*size)
		if err != nil {
			return err
		}
		if data != nil {
			load(dst, data)
			return nil
		}
	}
	return readBlocks(ctx, a, b, dst, s)
}

// contiguous reports whether the selected elements follow each other in the array.
func contiguous(dims []dim) bool {
	i := len(dims) - 1
	for i >= 0 && dims[i].count == dims[i].len && dims[i].stride == 1 {
		i--
	}
	if i >= 0 && (dims[i].stride == 1 || dims[i].count == 1) {
		i--
	}
	for i >= 0 && dims[i].count == 1 {
		i--
	}
	return i < 0
}

// offsetOf returns the byte offset of the first selected element.
func offsetOf(dims []dim, size int64) int64 {
	off := int64(0)
	for i := range dims {
		off = off*dims[i].len + dims[i].start
	}
	return off * size
}

// readBlocks copies the selected elements out of each block.
func readBlocks[T cdf3.Number](ctx context.Context, a Array, b Blocks, dst []T, s Sel) error {
	size := a.Type().Size()
	return b.EachBlock(ctx, s, func(blk Block) error {
		// Not shared, since several calls may run at the same time.
		var dbuf [maxRank]dim
		dims, _, err := s.resolve(a.Shape(), dbuf[:])
		if err != nil {
			return err
		}
		var lbuf [maxRank]loop
		n := boxNest(dims, blk.Start, blk.Count, size, lbuf[:])
		if !n.empty {
			n.src -= blk.Off
			copyNest(dst, blk.Data, &n, size)
		}
		return nil
	})
}
