// Package faultio has files, readers and writers for tests that fail on demand: at the n-th
// operation, with a part of the bytes written, or with a torn tail. It imports nothing of
// this module.
package faultio

import (
	"errors"
	"io"
	"math/rand/v2"
	"sync"
)

// ErrFault is the error of an operation that was made to fail.
var ErrFault = errors.New("injected fault")

// File is a file in memory. The zero value is empty and never fails. It is safe for
// concurrent use.
type File struct {
	mu    sync.Mutex
	b     []byte
	off   int64 // of Write
	ops   int
	fail  int  // number of the operation that fails, from 1; 0: none
	later bool // so do all after it
	short bool // a write that fails has written half of its bytes
}

// NewFile returns a file with a copy of b.
func NewFile(b []byte) *File { return &File{b: append([]byte(nil), b...)} }

// FailAt makes operation n fail, counted from 1 from now on, and all later ones unless once
// is set. Operations are reads, writes, syncs and changes of the length. 0 ends the failures.
func (f *File) FailAt(n int, once bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops, f.fail, f.later = 0, n, !once
}

// ShortWrites makes a write that fails write half of its bytes.
func (f *File) ShortWrites() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.short = true
}

// Bytes returns a copy of the contents.
func (f *File) Bytes() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]byte(nil), f.b...)
}

// Size returns the length.
func (f *File) Size() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.b))
}

// Ops returns the number of operations since FailAt.
func (f *File) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// op counts an operation and reports whether it fails.
func (f *File) op() bool {
	f.ops++
	return f.fail > 0 && (f.ops == f.fail || f.later && f.ops > f.fail)
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.op() {
		return 0, ErrFault
	}
	if off >= int64(len(f.b)) {
		return 0, io.EOF
	}
	n := copy(p, f.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements io.WriterAt.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writeAt(p, off)
}

func (f *File) writeAt(p []byte, off int64) (n int, err error) {
	if f.op() {
		if err = ErrFault; !f.short {
			return 0, err
		}
		p = p[:len(p)/2]
	}
	if end := off + int64(len(p)); end > int64(len(f.b)) {
		f.b = append(f.b, make([]byte, end-int64(len(f.b)))...)
	}
	return copy(f.b[off:], p), err
}

// Write appends at the offset of the last Write.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.writeAt(p, f.off)
	f.off += int64(n)
	return n, err
}

// Truncate sets the length.
func (f *File) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.op() {
		return ErrFault
	}
	if n := int64(len(f.b)); size > n {
		f.b = append(f.b, make([]byte, size-n)...)
	}
	f.b = f.b[:size]
	return nil
}

// Sync fails if it is its turn.
func (f *File) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.op() {
		return ErrFault
	}
	return nil
}

// Tear is the damage to the bytes from an offset on.
type Tear int

// The kinds of torn tails.
const (
	Missing Tear = iota // the file ends there
	Zeroed
	Random
	Tears int = iota
)

// Torn returns a copy of b with the bytes from off on torn.
func Torn(r *rand.Rand, b []byte, off int, how Tear) []byte {
	out := append([]byte(nil), b...)
	switch tail := out[off:]; how {
	case Missing:
		return out[:off]
	case Zeroed:
		clear(tail)
	case Random:
		for i := range tail {
			tail[i] = byte(r.Uint32())
		}
	}
	return out
}
