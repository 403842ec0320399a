package filters

import (
	"math"
	"slices"
)

// wantParams checks the number of parameters.
func wantParams(name string, params []uint32, n int) error {
	if len(params) != n {
		return errorf(ErrParam, "%s: expected %d parameters, found %d", name, n, len(params))
	}
	return nil
}

// levelCheck returns the check of a filter whose only parameter is a level. It may be
// missing if optional.
func levelCheck(name string, lo, hi int32, optional bool) func([]uint32) error {
	return func(params []uint32) error {
		switch {
		case len(params) == 0 && optional:
			return nil
		case len(params) != 1:
			return errorf(ErrParam, "%s: expected 1 parameter, found %d", name, len(params))
		case int32(params[0]) < lo || int32(params[0]) > hi:
			return errorf(ErrParam, "%s: expected a level from %d to %d, found %d", name, lo, hi, int32(params[0]))
		}
		return nil
	}
}

// levelOr returns the level of a filter whose only parameter it is.
func levelOr(params []uint32, missing int) int {
	if len(params) == 0 {
		return missing
	}
	return int(int32(params[0]))
}

// maxElemSize keeps an element size within an int on every system.
const maxElemSize = 1<<31 - 1

// bigEndian is how HDF5's parameters describe an order. 0 is little-endian.
const bigEndian = 1

// order returns the order of the elements as HDF5's parameters describe it.
func order(b Block) uint32 {
	if b.LittleEndian {
		return 0
	}
	return bigEndian
}

// numbers returns the number of elements of blocks, which must be numbers.
func numbers(name string, b Block) (uint32, error) {
	switch {
	case b.Kind != Int && b.Kind != Uint && b.Kind != Float:
		return 0, errorf(ErrParam, "%s: expected elements that are numbers", name)
	case b.Len <= 0 || b.Size <= 0 || b.Len%b.Size != 0:
		return 0, errorf(ErrParam, "%s: expected blocks of one length, found %d", name, b.Len)
	case b.Len > math.MaxInt32:
		return 0, errorf(ErrParam, "%s: expected blocks of at most %d bytes, found %d", name, math.MaxInt32, b.Len)
	}
	return uint32(b.Len / b.Size), nil
}

// checkNumbers checks parameters that describe the elements of a block.
func checkNumbers(name string, n, size, order uint32) error {
	switch {
	case !slices.Contains([]uint32{1, 2, 4, 8}, size):
		return errorf(ErrParam, "%s: expected elements of 1, 2, 4 or 8 bytes, found %d", name, size)
	case uint64(n)*uint64(size) > math.MaxInt32:
		return errorf(ErrParam, "%s: expected blocks of at most %d bytes, found %d", name, math.MaxInt32, uint64(n)*uint64(size))
	case order > bigEndian:
		return errorf(ErrParam, "%s: expected order 0 or 1, found %d", name, order)
	}
	return nil
}
