package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/treesum"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

const (
	// sweepChunk is the number of bytes hashed, and read between blocks, at once.
	sweepChunk = treesum.Piece
	// keptTail is the longest tail of raw, pools and rest, that a Sweep keeps in memory.
	keptTail = 32 << 20
)

// Sweep lets an image be cut and hashed in one pass. A Cutter reads through it, roughly
// from the first byte to the last. The Sweep hashes each byte when it first passes, and
// reads the bytes between the blocks. These belong to pools and to the rest, which are cut
// last, so the Sweep keeps them.
//
// Bytes are read again if records are cut in several groups, and if they belong to pools
// and a rest that are too long to be kept. A Sweep is for one goroutine and must be closed.
type Sweep struct {
	ctx  context.Context
	r    io.ReaderAt
	end  func() // of r
	l    *plan.Resolved
	next int64 // first byte not yet hashed

	// Again is set when bytes are read that were hashed before. The blocks may then have other
	// bytes, if the image reads differently each time.
	Again bool

	tail *unlimited.Tail // bytes of pools and rest so far; nil: they are not kept

	buf  []byte      // to be filled
	full chan []byte // to be hashed
	free chan []byte // hashed
	sums chan Sums   // of the image
}

// Sums are the sums of an image, as hexadecimal digits.
type Sums struct {
	SHA256 string
	Tree   string // docs/FORMAT.md, "The sum of pieces"; "": not known
}

// NewSweep starts a sweep of an image.
func NewSweep(ctx context.Context, image io.ReaderAt, l *plan.Resolved) *Sweep {
	s := &Sweep{ctx: ctx, l: l, full: make(chan []byte, 4), free: make(chan []byte, 6), sums: make(chan Sums, 1)}
	s.r, s.end = Sequential(ctx, image, l.Image.Size)
	if first := len(l.Vars); l.Perm.TailLen(first) <= keptTail {
		s.tail = l.Perm.NewTail(first)
	}
	go s.hashAll(s.full)
	return s
}

func (s *Sweep) hashAll(full <-chan []byte) {
	h := sha256.New()
	var tree treesum.Tree
	at := int64(0)
	for b := range full {
		h.Write(b)
		tree.Add(at, b) // all but the last have the length of a piece
		at += int64(len(b))
		s.free <- b[:0] // never blocks: the channel has space for all buffers
	}
	s.sums <- Sums{SHA256: hex.EncodeToString(h.Sum(nil)), Tree: tree.Sum()}
}

// Close ends the sweep.
func (s *Sweep) Close() {
	if s.full != nil {
		close(s.full)
		s.full = nil
	}
	s.end()
}

// Sums reads the bytes that the cutter has not read and returns the sums of the image.
func (s *Sweep) Sums() (Sums, error) {
	if err := s.to(s.l.Image.Size); err != nil {
		return Sums{}, err
	}
	s.hash()
	close(s.full)
	s.full = nil
	return <-s.sums, nil
}

// ReadAt implements io.ReaderAt for the image.
func (s *Sweep) ReadAt(p []byte, off int64) (int, error) {
	if err := s.to(off); err != nil {
		return 0, err
	}
	s.Again = s.Again || off < s.next
	n, err := s.r.ReadAt(p, off)
	if end := off + int64(n); end > s.next {
		at := s.next
		p = p[at-off : n]
		s.pass(p)
		for len(p) > 0 {
			b := s.buffer()
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
		b := s.buffer()
		p := b[len(b):min(int64(cap(b)), int64(len(b))+off-s.next)]
		if err := ioat.ReadFull(s.r, p, s.next); err != nil {
			return fmt.Errorf("reading the image: %w", err)
		}
		s.pass(p)
		s.buf = b[:len(b)+len(p)]
	}
	return nil
}

// buffer returns a buffer that is not full. Its bytes are still to be hashed.
func (s *Sweep) buffer() []byte {
	if len(s.buf) == cap(s.buf) {
		s.hash()
	}
	return s.buf
}

// hash queues the bytes in the buffer for hashing and provides another buffer.
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

// pass takes the next bytes of the image and keeps those of the tail.
func (s *Sweep) pass(p []byte) {
	s.next += int64(len(p))
	if s.tail != nil {
		s.tail.Pass(p)
	}
}

// Tail is pools and rest, nil if they are too long to be kept. It reads the image as far
// as it must.
func (s *Sweep) Tail() io.ReaderAt {
	if s.tail == nil {
		return nil
	}
	return sweptTail{s}
}

type sweptTail struct{ s *Sweep }

// ReadAt implements io.ReaderAt.
func (r sweptTail) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("archive: negative offset")
	}
	tail := r.s.tail
	end := min(off+int64(len(p)), int64(len(tail.Bytes())))
	if err := r.s.to(tail.Until(off, end)); err != nil {
		return 0, err
	}
	return bytes.NewReader(tail.Bytes()).ReadAt(p, off)
}
