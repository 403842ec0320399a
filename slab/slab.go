// Package slab reads hyperslabs of netCDF variables: parts of an array given by start, count and stride
// in each dimension. [Read] and [ReadInto] read one, [WalkParallel] all values of a variable.
//
// It works on an [Array], the values of one variable in row-major order as bytes.
// Variables of package archive are arrays, whether they come from a classic file or
// from an archive; [New] makes an array from any io.ReaderAt. All reads take a
// context and a selection:
//
//	temp, err := slab.Read[float32](ctx, v, slab.Sel{Start: start, Count: count})
//
// The package imports cdf3 for the types of values and knows nothing of archives.
package slab

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Array holds the values of a variable. It is as safe for concurrent use as its
// Values.
type Array interface {
	// Type is the external type of the values.
	Type() cdf3.Type
	// Shape is the length of each dimension, empty for a scalar. Callers must not
	// change it.
	Shape() []int64
	// Values reads the values in row-major order, big-endian as in the file. It may
	// implement [Blocks] and [Shaped].
	Values() io.ReaderAt
	// An array may also have a method Name() string, whose result errors then contain.
}

// Source is a netCDF file, for example a File of package archive: a header and the values of
// its variables.
type Source interface {
	Header() *cdf3.Header
	// Array returns the values of variable number v of the header.
	Array(v int) Array
}

// New makes an array from the values in r. The type must be valid and no dimension
// negative.
func New(t cdf3.Type, shape []int64, r io.ReaderAt) (Array, error) {
	a := plain{t, shape, r}
	if _, err := Len(a); err != nil {
		return nil, err
	}
	return a, nil
}

// plain is an Array made by New.
type plain struct {
	typ    cdf3.Type
	shape  []int64
	values io.ReaderAt
}

func (a plain) Type() cdf3.Type     { return a.typ }
func (a plain) Shape() []int64      { return a.shape }
func (a plain) Values() io.ReaderAt { return a.values }

// Len returns the size of all values in bytes.
func Len(a Array) (int64, error) {
	if err := check(a); err != nil {
		return 0, err
	}
	n := a.Type().Size()
	for i, d := range a.Shape() {
		if d < 0 {
			return 0, inSlab(a, fmt.Errorf("dimension %d has length %d: %w", i, d, ErrBounds))
		}
		if d > 0 && n > math.MaxInt64/d {
			return 0, inSlab(a, fmt.Errorf("shape %v has more bytes than can be counted: %w", a.Shape(), ErrBounds))
		}
		n *= d
	}
	return n, nil
}

// errNoArray is returned for a nil Array.
var errNoArray = errors.New("slab: no array")

// check rejects arrays that cannot be read.
func check(a Array) error {
	if a == nil {
		return errNoArray
	}
	if t := a.Type(); !t.Valid() {
		return inSlab(a, fmt.Errorf("array of %s: %w", t, ErrType))
	}
	return nil
}

// inSlab adds the package and, if the array has a name, the variable to an error. a and err may be
// nil.
func inSlab(a Array, err error) error {
	if err == nil {
		return nil
	}
	if v, ok := a.(interface{ Name() string }); ok {
		return fmt.Errorf("slab: variable %q: %w", v.Name(), err)
	}
	return fmt.Errorf("slab: %w", err)
}

// Errors of reads, with netCDF's names for them.
var (
	ErrBounds = errors.New("index exceeds dimension bound")    // NC_EINVALCOORDS, NC_EEDGE
	ErrRank   = errors.New("wrong number of dimensions")       // netCDF-C cannot notice it
	ErrStride = errors.New("illegal stride")                   // NC_ESTRIDE
	ErrType   = errors.New("types do not match")               // NC_ECHAR, and mismatches of Go types
	ErrRange  = errors.New("value out of range for the type")  // NC_ERANGE
	ErrLength = errors.New("slice does not fit the selection") // the caller's buffer
)
