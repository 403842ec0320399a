package slab

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime/debug"

	"github.com/cdfz-format/cdfz/cdf3"
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
	// View returns n bytes of the array from byte off on, which the caller must not
	// change. It returns nil if they span several blocks or EachBlock is faster.
	View(ctx context.Context, off, n int64) ([]byte, error)
	// EachBlock calls f once for each block that holds selected elements, with at least
	// those elements. The calls may come from several goroutines. f must not keep the
	// block.
	EachBlock(ctx context.Context, s Sel, f func(Block) error) error
}

// nativeOf reports whether T is the Go type of values of type t.
func nativeOf[T Number](t cdf3.Type) bool {
	var z T
	switch any(z).(type) {
	case int8:
		return t == cdf3.Byte
	case uint8:
		return t == cdf3.Char || t == cdf3.UByte
	case int16:
		return t == cdf3.Short
	case uint16:
		return t == cdf3.UShort
	case int32:
		return t == cdf3.Int
	case uint32:
		return t == cdf3.UInt
	case int64:
		return t == cdf3.Int64
	case uint64:
		return t == cdf3.UInt64
	case float32:
		return t == cdf3.Float
	case float64:
		return t == cdf3.Double
	}
	// For a named type, only the size can be checked.
	return t.Size() == sizeOf[T]()
}

// Held may be implemented by the Values of an Array to tell how many bytes of them can
// exist at most: no more than their file has. All others are zero.
type Held interface {
	Held() int64
}

const (
	// maxRead bounds the slices that Read makes, in bytes. More cannot be addressed.
	maxRead = min(math.MaxInt, 1<<47)
	// trusted is how many bytes Read allocates for any claimed shape.
	trusted = 1 << 28
)

// Read reads a hyperslab into a new slice. T must be the array's own type: int8, uint8
// (char and ubyte), int16, … float64. Any other type is ErrType; use Convert. The zero
// Sel selects everything.
//
// Read allocates all selected values at once. A small archive may hold a huge variable,
// so for a file of unknown origin compare Sel.Len with what the program can afford, or
// use Walk. Read refuses, with ErrLength, more bytes than the limit of the Go runtime
// (GOMEMLIMIT) and, above 256 MiB, far more than the file can hold; and it reads the
// last selected value before it allocates as much as that.
func Read[T Number](ctx context.Context, a Array, s Sel) ([]T, error) {
	if err := checkType[T](a); err != nil {
		return nil, err
	}
	n, err := s.Len(a.Shape())
	if err != nil {
		return nil, err
	}
	if n > trusted/sizeOf[T]() {
		if err := confirm[T](ctx, a, s, n); err != nil {
			return nil, err
		}
	}
	dst := make([]T, n)
	if err := ReadInto(ctx, a, dst, s); err != nil {
		return nil, err
	}
	return dst, nil
}

// confirm returns an error if n values of a selection cannot exist or do not fit into
// memory.
func confirm[T Number](ctx context.Context, a Array, s Sel, n int64) error {
	most := min(maxRead, debug.SetMemoryLimit(-1)) / sizeOf[T]()
	if n > most {
		return fmt.Errorf("slab: %d values of type %s do not fit into memory: %w", n, a.Type(), ErrLength)
	}
	if h, ok := a.Values().(Held); ok && n > trusted && n/2 > h.Held()/sizeOf[T]() {
		return fmt.Errorf("slab: expected at most %[3]d values of type %[2]s, all that the file has room for, found %[1]d: %[4]w", n, a.Type(), h.Held()/sizeOf[T](), ErrLength)
	}
	last, err := s.last(a.Shape())
	if err != nil {
		return err
	}
	var one [1]T
	return ReadInto(ctx, a, one[:], last)
}

// checkType reports whether the values of an array can be read as T.
func checkType[T Number](a Array) error {
	if err := check(a); err != nil {
		return err
	}
	if !nativeOf[T](a.Type()) {
		var z T
		return fmt.Errorf("slab: %s into %T: %w", a.Type(), z, ErrType)
	}
	return nil
}

// ReadInto reads a hyperslab into dst, whose length must be the number of selected
// elements (ErrLength otherwise). Reading a single element from a cached block does not
// allocate. After an error the content of dst is undefined.
func ReadInto[T Number](ctx context.Context, a Array, dst []T, s Sel) error {
	if err := checkType[T](a); err != nil {
		return err
	}
	var buf [maxRank]dim
	dims, n, err := s.resolve(a.Shape(), buf[:])
	if err != nil {
		return err
	}
	if n != int64(len(dst)) {
		return fmt.Errorf("slab: %d elements into a slice of %d: %w", n, len(dst), ErrLength)
	}
	if n == 0 {
		return nil
	}
	b, ok := a.Values().(Blocks)
	if !ok {
		return readRuns(ctx, a, dst, dims)
	}
	if contiguous(dims) {
		size := a.Type().Size()
		data, err := b.View(ctx, offsetOf(dims, size), n*size)
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
func readBlocks[T Number](ctx context.Context, a Array, b Blocks, dst []T, s Sel) error {
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
