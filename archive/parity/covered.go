package parity

import (
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// source reads the bytes that pieces cover. Pieces are numbered through the archive
// without the entry.
type source struct {
	l    *Layout
	r    io.ReaderAt
	size int64 // that the archive has, which may be cut off
}

// spans calls use for the archive ranges of n covered bytes from off on, with the offset
// of each in these bytes. Bytes beyond the last covered one have no range.
func (l *Layout) spans(off, n int64, use func(at, archiveOff, n int64) error) error {
	end := min(off+n, l.covered())
	if first := min(end, l.Off); off < first {
		if err := use(0, off, first-off); err != nil {
			return err
		}
	}
	if from := max(off, l.Off); from < end {
		return use(from-off, from+l.end()-l.Off, end-from)
	}
	return nil
}

// read fills b with covered bytes from off on, with zeros beyond the last one. It calls
// bad for ranges of b that cannot be read because the archive ends before or the disk
// refuses.
func (s *source) read(b []byte, off int64, bad func(at, n int64)) error {
	clear(b[max(0, min(int64(len(b)), s.l.covered()-off)):])
	return s.l.spans(off, int64(len(b)), func(at, archiveOff, n int64) error {
		if have := max(0, min(n, s.size-archiveOff)); have < n {
			clear(b[at+have : at+n])
			bad(at+have, n-have)
			n = have
		}
		return readHard(s.r, b[at:at+n], archiveOff, func(i, k int64) { bad(at+i, k) })
	})
}

// sector is the number of bytes that are given up where the disk refuses to read.
const sector = 4096

// readHard reads b from off on. Where the device reports an error it goes on after the
// sector, and calls bad for its bytes.
func readHard(r io.ReaderAt, b []byte, off int64, bad func(at, n int64)) error {
	err := ioat.ReadFull(r, b, off)
	if err == nil {
		return nil
	}
	if !ioat.Unreadable(err) {
		return fmt.Errorf("archive: %w", err)
	}
	for at := int64(0); at < int64(len(b)); {
		n := min(int64(len(b))-at, sector-(off+at)%sector)
		if err := ioat.ReadFull(r, b[at:at+n], off+at); ioat.Unreadable(err) {
			clear(b[at : at+n])
			bad(at, n)
		} else if err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		at += n
	}
	return nil
}

// stripeBytes is the length of a stripe.
func (l *Layout) stripeBytes() int64 { return l.perStripe * l.Piece }

// group reads the pieces of a group into b. It calls bad for each piece that cannot be
// read.
func (s *source) group(b []byte, group int64, bad func(i int64)) error {
	n := s.l.stripeBytes()
	for row := range s.l.rows() {
		err := s.read(b[row*n:(row+1)*n], s.l.stripe(group, row)*n, func(at, k int64) {
			for i := (row*n + at) / s.l.Piece; i*s.l.Piece < row*n+at+k; i++ {
				bad(i)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
