// Package ioat has common tools for reading through an io.ReaderAt: reading in full,
// reading under a context, joining nearby reads, sharing one fetch among many callers,
// and recycling buffers.
//
// It imports no other package of this module.
package ioat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// ReadFull reads len(p) bytes from offset off of r. As io.ReaderAt allows, it
// accepts io.EOF together with a full read. A short read without another error is
// io.ErrUnexpectedEOF.
func ReadFull(r io.ReaderAt, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	n, err := r.ReadAt(p, off)
	if n >= len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return fmt.Errorf("read %d of %d bytes at %d: %w", n, len(p), off, io.ErrUnexpectedEOF)
	}
	return err
}

// Unreadable reports whether err means that a disk refused to read, or that the file became
// shorter meanwhile. Both count as damage.
func Unreadable(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, io.ErrUnexpectedEOF)
}

// firstPart is the number of bytes that ReadBytes allocates before it has read
// anything.
const firstPart = 1 << 20

// ReadBytes returns n bytes from offset off of r, where n is an unconfirmed claim. Long
// reads are made in parts that grow with the bytes read so far, so that memory depends
// on the bytes that exist. n must not be negative.
func ReadBytes(r io.ReaderAt, off, n int64) ([]byte, error) {
	b := make([]byte, min(n, firstPart))
	for have := int64(0); ; {
		if err := ReadFull(r, b[have:], off+have); err != nil {
			return nil, err
		}
		have = int64(len(b))
		if have == n {
			return b, nil
		}
		b = append(b, make([]byte, min(3*have, n-have))...)
	}
}

// ContextReaderAt is a reader whose reads can be cancelled.
type ContextReaderAt interface {
	// ReadAtContext is ReadAt that ends early when ctx is done.
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// Bind returns r with all its reads bound to ctx. A reader without ReadAtContext is
// returned unchanged.
func Bind(ctx context.Context, r io.ReaderAt) io.ReaderAt {
	if c, ok := r.(ContextReaderAt); ok {
		return bound{ctx, c}
	}
	return r
}

// Live returns r, whose reads fail once ctx is done, even if r lacks ReadAtContext.
func Live(ctx context.Context, r io.ReaderAt) io.ReaderAt {
	return live{ctx, Bind(ctx, r)}
}

type live struct {
	ctx context.Context
	io.ReaderAt
}

func (l live) ReadAt(p []byte, off int64) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.ReaderAt.ReadAt(p, off)
}

// bound is a reader under a context, with the capabilities of the original.
type bound struct {
	ctx context.Context
	r   ContextReaderAt
}

func (b bound) ReadAt(p []byte, off int64) (int, error) {
	return b.r.ReadAtContext(b.ctx, p, off)
}

// ReadAtContext reads under the given context instead.
func (b bound) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	return b.r.ReadAtContext(ctx, p, off)
}

func (b bound) Gap() int64 {
	if g, ok := b.r.(interface{ Gap() int64 }); ok {
		return g.Gap()
	}
	return 0
}

// DistantReaderAt is a reader with latency: each read takes a while, however short it is.
type DistantReaderAt interface {
	io.ReaderAt
	// Gap returns the number of bytes that are read in the time of the latency. Two reads are
	// merged if at most so many bytes lie between them.
	Gap() int64
}

// Gap returns the gap of a DistantReaderAt, and 0 for other readers.
func Gap(r io.ReaderAt) int64 {
	if g, ok := r.(DistantReaderAt); ok {
		return g.Gap()
	}
	return 0
}

type rereadKey struct{}

// Reread marks a context for reading bytes a second time because they were wrong. They
// must come from their origin and not from a cache in between.
func Reread(ctx context.Context) context.Context {
	return context.WithValue(ctx, rereadKey{}, true)
}

// Again returns r with its reads marked by Reread, if r supports contexts.
func Again(r io.ReaderAt) io.ReaderAt {
	switch r := r.(type) {
	case bound:
		return bound{Reread(r.ctx), r.r}
	case Section:
		return Section{Again(r.r), r.span}
	}
	return Bind(Reread(context.Background()), r)
}

// IsReread reports whether ctx is marked by Reread.
func IsReread(ctx context.Context) bool { return ctx.Value(rereadKey{}) != nil }
