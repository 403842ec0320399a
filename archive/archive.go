// Package archive writes and reads cdfz archives: classic netCDF files (CDF-1, CDF-2, CDF-5) in
// compressed blocks. [Open] opens an archive, [File.Var] returns a variable, whose values
// slab.Read reads. [WriteFile] writes an archive, and [RestoreFile] the original, bit for bit.
// docs/FORMAT.md specifies the bytes.
//
// # Reading values
//
// [Open] opens an archive or a classic file by its name or URL, [New] from any
// io.ReaderAt. Both return a [File]. [FS] presents a folder of archives as classic
// files. [File.Var] finds a variable by name, [File.Vars] walks all of them. Package
// slab reads hyperslabs of their values:
//
//	f, err := archive.Open(ctx, "x.nc.cdfz", nil)
//	v, err := f.Var("temp")
//	temp, err := slab.Read[float32](ctx, v, slab.Sel{Start: start, Count: count})
//
// Package cf unpacks values, finds the missing ones and converts times: [cf.Read] and
// [cf.Times] take the variables of this package, and nil as their last argument stands for the
// packing and the units of the variable. [slab.WalkParallel] reads
// whole variables in bounded memory on all processors. The examples of these packages, in
// their files example_test.go, show a point, a series, a map, a mean over time and packed
// values.
//
// # What a read costs
//
// An archive stores a variable in blocks of about 256 KiB: consecutive values in
// row-major order, so a block holds a few maps of a variable (time, lat, lon). To read
// any value, the stored bytes of its block are read, checked against their checksum and
// decoded. A point costs one block, a map the blocks that contain it, and a time series
// each block along it. Nearby blocks are read together and decoded on all processors,
// unless [OpenOptions] limits them.
//
// Decoded blocks are kept in a cache bounded in bytes (32 MiB), which files may
// share ([NewCache]). Reads larger than the cache bypass it, and so do, in local archives,
// reads of more than 512 KiB that use most of what they decode. A block of a local archive
// whose filters decode ranges is kept when it is needed for the second time. If several
// goroutines ask for a block, one decodes it for all. [File.Stats] counts blocks, reads and
// cache hits, and docs/cache.md describes when a cache helps.
//
// # The original file
//
// [File.Image] is the netCDF file as an io.ReaderAt, through the cache.
// [Image.Copy] writes all of it in order, in bounded memory, and compares its sum with
// that in the archive.
//
// # Writing and keeping
//
// [Write] makes an archive and only appends, so its target may be a pipe. The bytes
// depend only on the file, its name and the options. Package verify checks every byte of
// an archive and names damage by variable and index range. Package parity adds Reed-Solomon
// parity. Package repair heals damaged bytes from it, rebuilds structures and salvages values.
//
// # Errors
//
// There are three classes. [ErrNotArchive], cdf3.ErrNotCDF and [ErrVersion] report another
// kind of file, or an archive that needs a newer reader. [ErrCorrupt] reports damage, with
// a [BlockError] if a block is damaged. All other errors come from the source or the sink.
// They are wrapped and otherwise unchanged, and include a file that changes while it is
// read ([ErrChanged], remote.ErrChanged). [ErrOptions] reports wrong options of a caller.
//
// # Concurrency and memory
//
// Files, images and variables are safe for concurrent use if their io.ReaderAt is.
// Besides the cache, a file takes memory for some blocks per processor, the netCDF
// header and a few pages of the index, whatever the size of the archive.
//
// # The file from first byte to last
//
// An archive is a ZIP file whose entries, in this order, are:
//
//	.cdfz/plan.json       how the image is cut into blocks, and their filters
//	.zgroup, .zmetadata … metadata of the Zarr view, if there is one
//	.cdfz/rest/0          block 0 of the rest, which begins with the netCDF header
//	v/0.0.0, …            the blocks of the variables
//	.cdfz/pool/0/0, …     the blocks that small variables share
//	.cdfz/rest/1, …       the other blocks of the rest: what belongs to no variable
//	.cdfz/copy/plan.json  second copies of the plan and of .cdfz/rest/0, unless the
//	.cdfz/copy/header     archive is small
//	.cdfz/parity          Reed-Solomon parity of all other bytes, on request
//	.cdfz/manifest.json   size and SHA-256 of the image, places of plan and header
//	.cdfz/index           place, length, mask and checksum of each block
//	central directory     for ZIP readers
//	end record            with the end line as its comment: places of manifest and index
//
// A reader starts at the end line. It reads neither the central directory nor the
// headers of the entries.
//
// # Backwards compatibility
//
// Format 1 is final: every later version reads the archives of this one.
//
// # Its place among the packages
//
// TestEdges lists the imports. Packages parity, verify and repair use the internal packages of
// archive, not archive itself: parity is the lowest, verify uses it, and repair uses both. Mount,
// serve, the exports to other formats and the commands build on archive. Packages cdl and export do
// not know archives. The packages in the folder internal form levels: fault, crc and treesum; czip;
// plan; zarrview and opening; read; image and encode.
package archive
