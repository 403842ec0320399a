package archive

import (
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
)

// Stream reads an image roughly in order, faster than Image.ReadAt. It decodes up to 4 MiB
// of the image ahead on several goroutines, and each block once: a block is held, outside
// the block cache, until a reader in order no longer needs it.
//
// Reads that begin more than 4 MiB before the furthest one, or far after it, are those of
// Image.ReadAt. So are all reads of classic files and of remote archives.
//
// A Stream is safe for concurrent use if the io.ReaderAt of its File is.
type Stream struct {
	im *Image
	s  *blocks.Stream // nil for a classic file
}

var _ io.ReaderAt = (*Stream)(nil)

// Stream returns a stream of the image. The caller must close it before the File.
func (im *Image) Stream() *Stream {
	s := &Stream{im: im}
	if im.classic == nil {
		s.s = im.a.NewStream()
	}
	return s
}

// StreamMemory returns about how many bytes of decoded blocks a Stream holds at most. All
// record variables have a block in memory, so it may be more than a program wants.
func (im *Image) StreamMemory() int64 {
	if im.classic != nil {
		return 0
	}
	return im.a.StreamMemory()
}

// ReadAt implements io.ReaderAt. Errors are those of Image.ReadAt.
func (s *Stream) ReadAt(p []byte, off int64) (int, error) {
	if s.s == nil {
		return s.im.ReadAt(p, off)
	}
	return s.s.ReadAt(p, off)
}

// Close ends decoding ahead. No read may be active.
func (s *Stream) Close() {
	if s.s != nil {
		s.s.Close()
	}
}
