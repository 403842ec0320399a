// Package ahead reads images of package archive in order, ahead of the reader, for mount and run. Other programs copy
// whole images, so that package archive does not export this. It sets the functions of this package, which therefore
// work in programs that import it.
package ahead

import "io"

// Stream reads an image roughly in order, faster than its ReadAt. It decodes up to 4 MiB of the image ahead on
// several goroutines, and each block once: a block is held, outside the block cache, until a reader in order no longer
// needs it.
//
// Reads that begin more than 4 MiB before the furthest one, or far after it, are those of the image. So are all
// reads of classic files and of remote archives. Errors are those of the image, too.
//
// A Stream is safe for concurrent use if the image is.
type Stream interface {
	io.ReaderAt
	// Lend returns the image bytes [off, off+n) without a copy: as slices of decoded blocks, one after the other, which
	// the caller must not change. They are valid until free is called, once, before Close. Lend returns nil for what only
	// ReadAt can read: bytes beyond the end of the image, damaged or short pieces, and whatever ReadAt does not take
	// from the stream.
	Lend(off, n int64) (slices [][]byte, free func())
	// Close ends decoding ahead. No read may be active, and nothing on loan.
	Close()
}

// image is an *archive.Image, and cache an *archive.Cache.
var (
	// NewStream returns a stream of the image. The caller must close it before the file of the image.
	NewStream func(image io.ReaderAt) Stream
	// Memory returns about how many bytes of decoded blocks a Stream of the image holds at most. All record variables
	// have a block in memory, so it may be more than a program wants.
	Memory func(image io.ReaderAt) int64
	// Resize changes the number of bytes of a cache. Blocks that no longer fit are dropped.
	Resize func(cache any, bytes int64)
)
