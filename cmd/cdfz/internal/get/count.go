package get

import (
	"context"
	"io"
	"sync/atomic"
)

// countReader counts the reads of a file.
type countReader struct {
	r            io.ReaderAt
	reads, bytes atomic.Int64
}

// remoteReader is a reader of a URL. Package archive reads it with fewer requests.
type remoteReader interface {
	Gap() int64
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// countRemote is a countReader of a remoteReader.
type countRemote struct {
	*countReader
	remote remoteReader
}

func (c countRemote) Gap() int64 { return c.remote.Gap() }

func (c countRemote) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := c.remote.ReadAtContext(ctx, p, off)
	c.reads.Add(1)
	c.bytes.Add(int64(n))
	return n, err
}

func (c *countReader) reader() io.ReaderAt {
	if r, ok := c.r.(remoteReader); ok {
		return countRemote{c, r}
	}
	return c
}

func (c *countReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.reads.Add(1)
	c.bytes.Add(int64(n))
	return n, err
}

// counts returns the counts so far, or zeros if nothing is counted.
func (c *countReader) counts() (reads, bytes int64) {
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
