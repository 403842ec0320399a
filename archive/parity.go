package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// Archives with parity. The parity covers the whole archive, which must therefore be complete
// first, in a file.

// share returns the parity that the options ask for.
func (o *WriteOptions) share() parity.Share {
	if o == nil {
		return 0
	}
	return o.Parity
}

// spooled calls write with dst, or with a temporary file that is copied to dst with parity.
func spooled(ctx context.Context, dst io.Writer, o *WriteOptions, write func(dst io.Writer) (*Result, error)) (*Result, error) {
	if o.share() == 0 {
		return write(dst)
	}
	if err := checkShare(o.share()); err != nil {
		return nil, err
	}
	t, err := atomicfile.Temp()
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	defer t.Close()
	b := buffered(t)
	res, err := write(b)
	if res, err = withParity(ctx, b, t, o, res, err); err != nil {
		return nil, err
	}
	if _, err := io.Copy(liveWriter{ctx, dst}, io.NewSectionReader(t, 0, res.Size)); err != nil {
		return nil, fmt.Errorf("archive: writing: %w", err)
	}
	return res, nil
}

func checkShare(s parity.Share) error {
	if !s.Valid() {
		return fault.Optionsf("expected parity from 0 to %s with at most two decimals, found %s", parity.MaxShare, s)
	}
	return nil
}

// writers keeps buffers, which are longer than many archives.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 1<<18) }}

// buffered returns a buffer before a file, for withParity.
func buffered(w io.Writer) *bufio.Writer {
	b := writers.Get().(*bufio.Writer)
	b.Reset(w)
	return b
}

// withParity ends the writing of an archive to b, with a result or an error, and adds the parity that the options ask for
// to the file f that it is for.
func withParity(ctx context.Context, b *bufio.Writer, f parity.File, o *WriteOptions, res *Result, err error) (*Result, error) {
	if err == nil {
		err = b.Flush()
	}
	b.Reset(nil)
	writers.Put(b)
	if err != nil || o.share() == 0 {
		return res, err
	}
	l, err := parity.Add(ctx, f, res.Size, o.Parity, &parity.Options{Workers: o.Workers, Memory: o.Memory})
	if err != nil {
		return nil, err
	}
	res.Parity, res.Size = l.Size-res.Size, l.Size
	return res, nil
}

// liveWriter is a writer that fails once its context is done.
type liveWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w liveWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}
