package ioat

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// ContextReaderAt is a reader whose reads can be cancelled.
type ContextReaderAt interface {
	// ReadAtContext is ReadAt that ends early when ctx is done.
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// DistantReaderAt is a reader with latency: each read takes a while, however short it is.
type DistantReaderAt interface {
	io.ReaderAt
	// Gap returns the number of bytes that are read in the time of the latency. Two reads are
	// merged if at most so many bytes lie between them.
	Gap() int64
}

// Source is a file that is read, or a part of one. It has in fields what a reader may be able to do beyond ReadAt, so
// that readers around others need not forward methods. A Source never changes. It is safe for concurrent use if the
// reader is.
type Source struct {
	read    ReadFunc
	ctx     context.Context // of ReadAt; nil for none
	gap     int64
	cancels bool // reads end early when their context is done
	memory  bool
	part    *Span // nil for all
}

// ReadFunc is the method of ContextReaderAt.
type ReadFunc func(ctx context.Context, p []byte, off int64) (int, error)

// Of makes a source of r. It can do what ContextReaderAt and DistantReaderAt describe, if r has their methods. A Source
// is returned as it is, and so is one that r embeds.
func Of(r io.ReaderAt) *Source {
	if s, ok := r.(interface{ source() *Source }); ok {
		return s.source()
	}
	s := &Source{}
	if d, ok := r.(DistantReaderAt); ok {
		s.gap = d.Gap()
	}
	if c, ok := r.(ContextReaderAt); ok {
		s.read, s.cancels = c.ReadAtContext, true
	} else {
		s.read = func(_ context.Context, p []byte, off int64) (int, error) { return r.ReadAt(p, off) }
	}
	_, s.memory = r.(*bytes.Reader)
	return s
}

func (s *Source) source() *Source { return s }

// Func returns a source whose reads can be cancelled and have no latency, bound to ctx.
func Func(ctx context.Context, read ReadFunc) *Source {
	return &Source{read: read, ctx: ctx, cancels: true}
}

// Bind returns r with all its reads bound to ctx. A reader without ReadAtContext is as before.
func Bind(ctx context.Context, r io.ReaderAt) *Source {
	s := Of(r)
	if !s.cancels {
		return s
	}
	b := *s
	b.ctx = ctx
	return &b
}

// Live returns r, whose reads fail once ctx is done, even if r lacks ReadAtContext.
func Live(ctx context.Context, r io.ReaderAt) *Source {
	s := Bind(ctx, r)
	return s.With(func(of context.Context, p []byte, off int64) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return s.ReadAtContext(of, p, off)
	})
}

// With returns a source that can do what s can, and whose reads are those of read.
func (s *Source) With(read ReadFunc) *Source {
	return &Source{read: read, ctx: s.ctx, gap: s.gap, cancels: s.cancels}
}

// Section returns the bytes [off, off+n), like io.NewSectionReader. Neither may be negative.
func (s *Source) Section(off, n int64) *Source {
	b := *s
	if s.part != nil { // of a section
		n = max(0, min(n, s.part.Len-off))
		off += s.part.Off
	}
	b.part = &Span{off, n}
	return &b
}

// ReadAt implements io.ReaderAt.
func (s *Source) ReadAt(p []byte, off int64) (int, error) {
	return s.ReadAtContext(s.context(), p, off)
}

func (s *Source) context() context.Context {
	if s.ctx == nil {
		return context.Background()
	}
	return s.ctx
}

// ReadAtContext reads under the given context instead of the one that the source is bound to. It ends early when ctx is
// done, if the source Cancels.
func (s *Source) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if s.part == nil {
		return s.read(ctx, p, off)
	}
	if off < 0 {
		return 0, errors.New("ioat: negative offset")
	}
	if off >= s.part.Len {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	if left := s.part.Len - off; int64(len(p)) > left {
		n, err := s.read(ctx, p[:left], s.part.Off+off)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	return s.read(ctx, p, s.part.Off+off)
}

// Gap returns the gap of a DistantReaderAt, and 0 for other readers.
func (s *Source) Gap() int64 { return s.gap }

// Cancels reports whether reads end early when their context is done.
func (s *Source) Cancels() bool { return s.cancels }

// InMemory reports whether r only copies bytes.
func InMemory(r io.ReaderAt) bool { return Of(r).memory }

type rereadKey struct{}

// Reread marks a context for reading bytes a second time because they were wrong. They
// must come from their origin and not from a cache in between.
func Reread(ctx context.Context) context.Context {
	return context.WithValue(ctx, rereadKey{}, true)
}

// Again returns the source with its reads marked by Reread.
func (s *Source) Again() *Source { return Bind(Reread(s.context()), s) }

// IsReread reports whether ctx is marked by Reread.
func IsReread(ctx context.Context) bool { return ctx.Value(rereadKey{}) != nil }
