package all

import (
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// bigEndian is how HDF5's parameters describe an order. 0 is little-endian.
const bigEndian = 1

// order returns the order of the elements as HDF5's parameters describe it.
func order(b filters.Block) uint32 {
	if b.LittleEndian {
		return 0
	}
	return bigEndian
}

// numbers returns the number of elements of blocks, which must be numbers.
func numbers(name string, b filters.Block) (uint32, error) {
	switch {
	case b.Kind != filters.Int && b.Kind != filters.Uint && b.Kind != filters.Float:
		return 0, wire.Errorf(filters.ErrInapplicable, "%s: expected elements that are numbers", name)
	case b.Len <= 0 || b.Size <= 0 || b.Len%b.Size != 0:
		return 0, wire.Errorf(filters.ErrInapplicable, "%s: expected blocks of one length, found %d", name, b.Len)
	case b.Len > math.MaxInt32:
		return 0, wire.Errorf(filters.ErrInapplicable, "%s: expected blocks of at most %d bytes, found %d", name, math.MaxInt32, b.Len)
	}
	return uint32(b.Len / b.Size), nil
}

// checkNumbers checks parameters that describe the elements of a block.
func checkNumbers(name string, n, size, order uint32) error {
	switch {
	case !slices.Contains([]uint32{1, 2, 4, 8}, size):
		return wire.Errorf(filters.ErrParam, "%s: expected elements of 1, 2, 4 or 8 bytes, found %d", name, size)
	case uint64(n)*uint64(size) > math.MaxInt32:
		return wire.Errorf(filters.ErrParam, "%s: expected blocks of at most %d bytes, found %d", name, math.MaxInt32, uint64(n)*uint64(size))
	case order > bigEndian:
		return wire.Errorf(filters.ErrParam, "%s: expected order 0 or 1, found %d", name, order)
	}
	return nil
}
