package image

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// aheadChunks is the number of chunks that Sequential fetches at the same time.
const aheadChunks = 4

// Sequential returns a reader for reading a file from its first byte to its last: r, or one that
// reads ahead if the reads of r have a latency, in chunks of AheadRun bytes. It keeps the chunk before, since walks go
// back a little, and gives bytes again that were wrong, under ioat.Reread. It sends no request before the first read.
// The caller must call end after the last read.
func Sequential(ctx context.Context, r io.ReaderAt, size int64) (from *ioat.Source, end func()) {
	src := ioat.Of(r)
	if src.Gap() == 0 {
		return src, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	chunks := ioat.NewChunks(ioat.Bind(ctx, src), size, ioat.ChunkOptions{Len: AheadRun, Keep: aheadChunks + 1, Ahead: aheadChunks - 1})
	from = ioat.Func(ctx, func(ctx context.Context, p []byte, off int64) (int, error) {
		if ioat.IsReread(ctx) {
			return src.ReadAtContext(ctx, p, off)
		}
		return chunks.ReadAt(p, off)
	})
	return from, func() {
		cancel()
		chunks.Close()
	}
}
