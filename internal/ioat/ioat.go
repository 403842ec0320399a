// Package ioat has common tools for reading through an io.ReaderAt: reading in full, reading
// under a context, joining nearby reads ([Runs], [Window]), and sharing one fetch among many
// callers ([Chunks], [Singleflight]).
//
// A Source is what packages pass on: it has all that a reader can do, and Of makes it where a reader comes in.
package ioat

import (
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
