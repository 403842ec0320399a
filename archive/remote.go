package archive

import (
	"context"
	"fmt"
	"io"
)

// Remote is a file of any kind at an http or https URL, for those who want its
// bytes; OpenURL opens what is in it. Safe for concurrent use.
type Remote struct{ f *httpFile }

var _ SizeReaderAt = (*Remote)(nil)

// OpenRemote opens a URL, as OpenURL does, in a request or two.
func OpenRemote(ctx context.Context, url string, o *URLOptions) (*Remote, error) {
	c, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	f, err := newHTTPFile(ctx, url, &c)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { f.stop(ctx.Err()) })
	err = f.openTail()
	if !stop() && err == nil {
		err = fmt.Errorf("%s: %w", f.name, ctx.Err())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("archive: %w", err)
	}
	return &Remote{f}, nil
}

// Name is the URL without user, password and query.
func (r *Remote) Name() string { return r.f.name }

// Size is the length of the file in bytes.
func (r *Remote) Size() int64 { return r.f.Size() }

// ReadAt implements io.ReaderAt; each call is a request, or none if the bytes came
// when the file was opened.
func (r *Remote) ReadAt(p []byte, off int64) (int, error) { return r.f.ReadAt(p, off) }

// ReadAtContext is ReadAt that ends with ctx.
func (r *Remote) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	return r.f.ReadAtContext(ctx, p, off)
}

// Gap is the distance in bytes up to which two reads are better made as one.
func (r *Remote) Gap() int64 { return r.f.Gap() }

// Requests is the number of requests so far.
func (r *Remote) Requests() int64 { return r.f.Stats().Requests }

// Close ends reads under way.
func (r *Remote) Close() error { return r.f.Close() }

// contextReaderAt is a reader whose reads end with a context.
type contextReaderAt interface {
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// withContext is a contextReaderAt as an io.ReaderAt.
type withContext struct {
	ctx context.Context
	r   contextReaderAt
}

func (w withContext) ReadAt(p []byte, off int64) (int, error) {
	return w.r.ReadAtContext(w.ctx, p, off)
}

// bind is r with reads that end with ctx, where r can.
func bind(ctx context.Context, r io.ReaderAt) io.ReaderAt {
	if c, ok := r.(contextReaderAt); ok {
		return withContext{ctx, c}
	}
	return r
}
