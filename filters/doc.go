// Package filters encodes and decodes blocks through chains of filters, as HDF5 and
// Zarr do.
//
// A [Chain] names filters by HDF5's ids. [Chain.Complete] fits it to the blocks of a
// variable, [NewCoder] makes a coder of it, and [Chain.Codecs] describes it as Zarr
// codecs. Package spec reads chains from text. [Register] adds a filter, which can do
// everything that built-in ones can: see [Method] and its example.
//
// The built-in filters write and read the bytes of HDF5's: shuffle (2), deflate (1),
// fletcher32 (3), bzip2 (307), lz4 (32004) and zstd (32015). H5Dwrite_chunk takes
// blocks encoded by them unchanged.
//
// Every length in an encoded block is a claim. Decoders stop at the expected length,
// and the data between filters is bounded by [MaxLen].
//
// The package imports no other of the module. It knows nothing of netCDF or of
// archives. Each built-in filter has a file that declares its [Method]. No other file
// knows its id.
package filters
