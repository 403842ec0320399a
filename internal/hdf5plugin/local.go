package hdf5plugin

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all" // lzf, blosc, bitshuffle
)

// local does the work of set_local for a registered filter, and the reverse. HDF5 calls
// set_local with a property list, a type and a dataspace, which only libhdf5 can make.
type local struct {
	complete func(params []uint32, b filters.Block) ([]uint32, error)
	given    func(params []uint32) []uint32
	// native returns the parameters for the library, and the size of the numbers whose bytes
	// must be reversed for it, or 0. Nil means that neither changes.
	native func(params []uint32) (native []uint32, size int)
}

// locals are the filters whose parameters this package completes itself, by id.
var locals = map[uint32]local{
	filters.LZF:        builtIn(filters.LZF),
	filters.Blosc:      builtIn(filters.Blosc),
	filters.Bitshuffle: builtIn(filters.Bitshuffle),
	zfpID:              {completeZFP, givenZFP, nativeZFP},
}

// builtIn takes the functions of the built-in filter with the same id. A plugin of that id
// gets the same parameters.
func builtIn(id uint32) local {
	m, ok := filters.Lookup(id)
	if !ok {
		panic(fmt.Sprintf("internal error: filter %d is not built in", id))
	}
	return local{complete: m.Complete, given: m.Given}
}

// turn returns a copy of b in which the bytes of each number of the given size are
// reversed. Bytes after the last whole number stay.
func turn(b []byte, size int) []byte {
	out := bytes.Clone(b)
	for i := size; i <= len(out); i += size {
		slices.Reverse(out[i-size : i])
	}
	return out
}
