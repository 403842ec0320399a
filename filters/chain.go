// Package filters encodes and decodes the blocks of an archive through a chain
// of filters, as HDF5 and Zarr do.
//
// Package spec reads chains from text. Use [NewCoder] for the state that one
// goroutine needs to encode and decode blocks with it, and [Chain.Codecs] for
// the same chain as Zarr codecs. [Register] adds a filter, [RegisterCodec] its
// Zarr counterpart.
//
// The filters that are built in are byte for byte those of HDF5: shuffle (2),
// deflate (1), fletcher32 (3), bzip2 (307), lz4 (32004) and zstd (32015).
// A block that they produced can be given to H5Dwrite_chunk unchanged.
//
// Blocks of shuffle and zstd can be encoded in parts that are decoded by themselves:
// [Chain.PartLen], [Coder.EncodeParts], [Coder.DecodeParts].
//
// The package knows nothing of netCDF, of archives, or of what the bytes mean.
package filters

import (
	"slices"
	"strconv"
	"strings"
)

// Limits of a chain.
const (
	// MaxID is the largest filter id: HDF5 stores it in two bytes.
	MaxID = 65535
	// MaxFilters is the longest chain, because an exclusion mask has 32 bits
	// (H5Z_MAX_NFILTERS in HDF5's H5Zpublic.h).
	MaxFilters = 32
)

// Ids of the built-in filters. Part of the format, never change: 1 to 3 are
// H5Z_FILTER_* of HDF5's H5Zpublic.h, the others are in The HDF Group's
// registry (hdf5_plugins, docs/RegisteredFilterPlugins.md).
const (
	Deflate    uint32 = 1
	Shuffle    uint32 = 2
	Fletcher32 uint32 = 3
	Bzip2      uint32 = 307
	LZ4        uint32 = 32004
	Zstd       uint32 = 32015
)

// Filter is one stage of a chain as HDF5 stores it.
type Filter struct {
	// ID is HDF5's filter id, at most [MaxID].
	ID uint32
	// Params are HDF5's client data values (cd_values).
	Params []uint32
	// Optional is HDF5's H5Z_FLAG_OPTIONAL: while encoding, a block that the
	// filter cannot do, or cannot make smaller, goes on without it.
	Optional bool
	// Name is a comment for people; it may be empty and decides nothing.
	Name string
}

// String is the filter in the syntax of package spec: "32015,3".
func (f Filter) String() string {
	var b strings.Builder
	b.WriteString(strconv.FormatUint(uint64(f.ID), 10))
	for _, p := range f.Params {
		b.WriteByte(',')
		b.WriteString(strconv.FormatUint(uint64(p), 10))
	}
	return b.String()
}

// Chain is the list of filters a block passes, first to last when encoding.
// Nil and empty are the chain that leaves blocks as they are.
type Chain []Filter

// String is the chain in the syntax of package spec, numbers always unsigned
// and decimal: "2,4|32015,3". Flags and names are not part of that syntax.
func (c Chain) String() string {
	s := make([]string, len(c))
	for i, f := range c {
		s[i] = f.String()
	}
	return strings.Join(s, "|")
}

// Clone is a copy that shares no memory with c.
func (c Chain) Clone() Chain {
	c = slices.Clone(c)
	for i := range c {
		c[i].Params = slices.Clone(c[i].Params)
	}
	return c
}
