package get

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// counter counts the reads of a file.
type counter struct{ reads, bytes atomic.Int64 }

// of returns r with its reads counted.
func (c *counter) of(r io.ReaderAt) *ioat.Source {
	s := ioat.Of(r)
	return s.With(func(ctx context.Context, p []byte, off int64) (int, error) {
		n, err := s.ReadAtContext(ctx, p, off)
		c.reads.Add(1)
		c.bytes.Add(int64(n))
		return n, err
	})
}

// counts returns the counts so far, or zeros if nothing is counted.
func (c *counter) counts() (reads, bytes int64) {
	if c == nil {
		return 0, 0
	}
	return c.reads.Load(), c.bytes.Load()
}

// countWriter counts written bytes.
type countWriter struct {
	w io.Writer
	n int64
}

func (c *countWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
