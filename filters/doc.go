// Package filters encodes and decodes blocks through chains of filters, as HDF5 and
// Zarr do.
//
// A [Chain] names filters by HDF5's ids. [Chain.Complete] adapts it to the blocks of a
// variable, [NewCoder] makes a coder from it, and [Chain.Codecs] converts it to Zarr
// codecs. [Register] adds a filter: see [Method] and its example.
//
// The package has the filters that archive chooses itself: lorenz (52723), shuffle (2),
// zstd (32015) and deflate (1). Import package all for the others. Filters of HDF5 are
// compatible byte for byte: H5Dwrite_chunk takes their blocks unchanged.
// docs/filters.md describes all filters.
//
// Every length in an encoded block is a claim. Decoders stop at the expected length,
// and the data between filters is bounded by [MaxLen].
//
// The package knows nothing about netCDF or archives. Each filter is a [Method] in the file
// of its name. Its id is in ids.go. Package lorenz and the packages under internal make
// and read the stored bytes, and know neither chains nor methods.
package filters
