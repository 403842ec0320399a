// Package filters encodes and decodes blocks through chains of filters, as HDF5 and
// Zarr do.
//
// A [Chain] names filters by HDF5's ids. [Chain.Complete] adapts it to the blocks of a
// variable, [NewCoder] makes a coder from it, and [Chain.Codecs] converts it to Zarr
// codecs. Package spec parses chains from text. [Register] adds a filter with the same
// capabilities as the built-in ones: see [Method] and its example.
//
// The built-in filters are compatible with HDF5's, byte for byte: shuffle (2), deflate
// (1), fletcher32 (3), szip (4), nbit (5), scaleoffset (6), bzip2 (307), lzf (32000),
// blosc (32001), lz4 (32004), bitshuffle (32008) and zstd (32015). H5Dwrite_chunk takes
// their blocks unchanged. Codecs of numcodecs without an id in HDF5 have private ids.
// docs/filters.md describes all of them.
//
// Every length in an encoded block is a claim. Decoders stop at the expected length,
// and the data between filters is bounded by [MaxLen].
//
// The package knows nothing about netCDF or archives. Each built-in filter is a [Method]
// in the file of its family. Nothing else knows its id. The stored bytes are made by
// packages under internal, which know neither chains nor methods.
package filters
