package ioat

import (
	"context"
	"io"
)

// KeepEnd reads the last n bytes of a file of size bytes, and returns a reader of the file that has them in memory. ctx
// is only for that first read.
func KeepEnd(ctx context.Context, r io.ReaderAt, size, n int64) (*Source, error) {
	src := Of(r)
	end := make([]byte, max(0, min(n, size)))
	from := size - int64(len(end))
	if err := ReadFull(Bind(ctx, src), end, from); err != nil {
		return nil, err
	}
	return src.With(func(ctx context.Context, p []byte, off int64) (int, error) {
		if off < from || off > size || IsReread(ctx) {
			return src.ReadAtContext(ctx, p, off)
		}
		n := copy(p, end[off-from:])
		if n < len(p) {
			return n, io.EOF
		}
		return n, nil
	}), nil
}
