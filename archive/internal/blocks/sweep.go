package blocks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

const (
	// sweepChunk is how much is hashed, and read between blocks, at once.
	sweepChunk = 1 << 20
	// keptRest is the longest rest that a Sweep keeps in memory. It is a few
	// hundred bytes in most files, and what pads each record in some.
	keptRest = 32 << 20
)

// Sweep lets an image be read once to be cut and hashed. A Cutter reads through it,
// about from the first byte to the last. The Sweep hashes each byte when it first comes
// by, and reads those between the blocks. These belong to the rest, which is cut last,
// so the Sweep keeps them for then.
//
// Bytes are read again where records are cut in several groups, and where they belong
// to a rest that is too long to be kept. It is for one goroutine and must be closed.
type Sweep struct {
	ctx  context.Context
	r    io.ReaderAt
	end  func() // of r
	l    *format.Resolved
	next int64 // first byte that was not hashed yet

	rest *unlimited.Tail // what has come by of the rest; nil: it is not kept

	buf  []byte        // to be filled
	full chan []byte   // to be hashed
	free chan []byte   // hashed
	sum  chan [32]byte // of the image
}

// NewSweep starts a sweep of an image.
func NewSweep(ctx context.Context, image io.ReaderAt, l *format.Resolved) *Sweep {
	s := &Sweep{ctx: ctx, l: l, full: make(chan []byte, 4), free: make(chan []byte, 6), sum: make(chan [32]byte, 1)}
	s.r, s.end = Walked(ctx, image, l.Image.Size)
	if l.Rest.Len <= keptRest {
		s.rest = l.Perm.NewTail(l.Perm.Segments())
	}
	go s.hashAll(s.full)
	return s
}

func (s *Sweep) hashAll(full <-chan []byte) {
	h := sha256.New()
	for b := range full {
		h.Write(b)
		s.free <- b[:0] // never waits: there are no more buffers than it has room for
	}
	s.sum <- [32]byte(h.Sum(nil))
}

// Close ends the sweep.
func (s *Sweep) Close() {
	if s.full != nil {
		close(s.full)
		s.full = nil
	}
	s.end()
}

// Sum reads what the cutter did not and returns the SHA-256 of the image.
func (s *Sweep) Sum() ([]byte, error) {
	if err := s.to(s.l.Image.Size); err != nil {
		return nil, err
	}
	s.hash()
	close(s.full)
	s.full = nil
	sum := <-s.sum
	return sum[:], nil
}

// ReadAt implements io.ReaderAt for the image.
func (s *Sweep) ReadAt(p []byte, off int64) (int, error) {
	if err := s.to(off); err != nil {
		return 0, err
	}
	n, err := s.r.ReadAt(p, off)
	if end := off + int64(n); end > s.next {
		at := s.next
		p = p[at-off : n]
		s.pass(p)
		for len(p) > 0 {
			b := s.room()
			k := min(len(p), cap(b)-len(b))
			s.buf = append(b, p[:k]...)
			p = p[k:]
		}
	}
	return n, err
}

// to reads the image up to byte off.
func (s *Sweep) to(off int64) error {
	for s.next < off {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		b := s.room()
		p := b[len(b):min(int64(cap(b)), int64(len(b))+off-s.next)]
		if err := ioat.ReadFull(s.r, p, s.next); err != nil {
			return fmt.Errorf("reading the image: %w", err)
		}
		s.pass(p)
		s.buf = b[:len(b)+len(p)]
	}
	return nil
}

// room returns a buffer with room for more bytes, after those to be hashed.
func (s *Sweep) room() []byte {
	if len(s.buf) == cap(s.buf) {
		s.hash()
	}
	return s.buf
}

// hash has the bytes in the buffer hashed and provides another one.
func (s *Sweep) hash() {
	if len(s.buf) > 0 {
		s.full <- s.buf
	}
	select {
	case s.buf = <-s.free:
	default:
		s.buf = make([]byte, 0, min(sweepChunk, max(1, s.l.Image.Size)))
	}
}

// pass is told the image bytes that come next. It keeps those of the rest.
func (s *Sweep) pass(p []byte) {
	s.next += int64(len(p))
	if s.rest != nil {
		s.rest.Pass(p)
	}
}

// Rest is the rest, nil if it is too long to be kept. It reads the image as far as it
// must.
func (s *Sweep) Rest() io.ReaderAt {
	if s.rest == nil {
		return nil
	}
	return sweptRest{s}
}

type sweptRest struct{ s *Sweep }

// ReadAt implements io.ReaderAt.
func (r sweptRest) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("archive: negative offset")
	}
	rest := r.s.rest
	end := min(off+int64(len(p)), int64(len(rest.Bytes())))
	if err := r.s.to(rest.Until(off, end)); err != nil {
		return 0, err
	}
	return bytes.NewReader(rest.Bytes()).ReadAt(p, off)
}
