package parity

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Parity may also lie in a separate file, for a file of any kind that is never changed, such as a volume. It is what the
// entry of an archive would be that stood at the end of the file: the local header, and the records. Offsets of a Set and
// of its reports are those in the file and, from its end on, in the parity.

// Suffix is the ending of the names of such files, after that of the file.
const Suffix = ".parity"

// AddBeside writes the parity of a file of size bytes to beside, and returns the layout. The bytes depend only on the file and
// the share.
func AddBeside(ctx context.Context, file io.ReaderAt, size int64, beside io.WriterAt, share Share, o *Options) (*Layout, error) {
	if !share.Valid() || share == 0 {
		return nil, fault.Optionsf("parity of %s: expected more than 0%% and at most 100%%, with at most two decimals", share)
	}
	l := choose(size, share)
	l.Off, l.Size = size, size
	l.Size = l.end()
	if err := l.check(); err != nil {
		return nil, err
	}
	s := &Set{Layout: l, r: ioat.Of(file), size: size, o: o}
	return &l, s.Rebuild(ctx, &pairWriter{nil, beside, size})
}

// FindBeside finds the parity of a file of size bytes in beside, which has length bytes. Both may be damaged, and the file may be
// cut off or have bytes after its end. It returns nil if no record is intact.
func FindBeside(ctx context.Context, file io.ReaderAt, size int64, beside io.ReaderAt, length int64, o *Options) (*Set, error) {
	l, err := besideLayout(ctx, ioat.Bind(ctx, beside), length)
	if l == nil || err != nil {
		return nil, err
	}
	if l.Off-size > length { // more is lost than can be healed, or the length is a false claim
		return nil, fault.Corruptf("parity: more of the file is lost than can be healed: expected %d bytes, found %d", l.Off, size)
	}
	p := &pair{ioat.Bind(ctx, file), ioat.Bind(ctx, beside), min(size, l.Off), l.Off, length}
	return &Set{Layout: *l, r: ioat.Of(p), size: l.Size, o: o}, nil
}

// Besides returns the writer of what Heal writes for a Set of FindBeside: bytes of the file, and of the parity.
func (s *Set) Besides(file, beside io.WriterAt) io.WriterAt {
	return &pairWriter{file, beside, s.Off}
}

// Differs reports whether a piece with bytes in a range of the file has not the checksum that the parity has for it: the file
// is damaged there, or the parity is that of another one. Only these pieces and the records with their checksums are read. A
// piece is left out whose record is damaged. The error is one of a read.
func (s *Set) Differs(ctx context.Context, in Range) (bool, error) {
	src := &source{&s.Layout, ioat.Bind(ctx, s.r), s.size}
	first := max(0, in.Off) / s.Piece
	pieces := make([]byte, max(0, ceilDiv(min(in.Off+in.Len, s.covered()), s.Piece)-first)*s.Piece)
	bad := false
	unreadable := func(int64, int64) { bad = true }
	if err := src.read(pieces, first*s.Piece, unreadable); err != nil || bad {
		return bad, err
	}
	rec, part := make([]byte, s.recordLen()), []byte(nil)
	for i, last := first, int64(-1); len(pieces) > 0; i, pieces = i+1, pieces[s.Piece:] {
		group, row := s.owner(i / s.perStripe)
		at := 4 * (row*s.perStripe + i%s.perStripe) // in the checksums of the group, which its first records have as they are
		if n := s.record(group, at/s.partLen()); n != last {
			bad, last = false, n
			if err := readHard(src.r, rec, s.recordOff(n), unreadable); err != nil {
				return false, err
			}
			var ok bool
			if part, _, ok = s.split(rec, n); !ok || bad {
				part = nil
			}
		}
		if part != nil && sumIn(part[at%s.partLen():], 0) != crc32.ChecksumIEEE(pieces[:s.Piece]) {
			return true, nil
		}
	}
	return false, nil
}

// besideLayout returns the layout in the first intact record of a file of parity, or nil.
func besideLayout(ctx context.Context, r io.ReaderAt, length int64) (*Layout, error) {
	buf := make([]byte, min(searchWindow+headLen, length))
	for off, budget := int64(0), findBudget*length; off < length; off += searchWindow {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := buf[:min(int64(len(buf)), length-off)]
		if err := readHard(r, b, off, func(int64, int64) {}); err != nil {
			return nil, err
		}
		for at := 0; ; at += len(recordMagic) {
			i := bytes.Index(b[at:], []byte(recordMagic))
			if i < 0 {
				break
			}
			at += i
			l, n, err := parseHead(b[at:])
			if err != nil || l.Size != l.end() || l.recordOff(n)-l.Off != off+int64(at) {
				continue
			}
			if budget -= l.recordLen(); budget < 0 {
				return nil, nil
			}
			rec := make([]byte, l.recordLen())
			if off+int64(at)+l.recordLen() > length {
				continue
			}
			if err := readHard(r, rec, off+int64(at), func(int64, int64) {}); err != nil {
				return nil, err
			}
			if _, _, ok := l.split(rec, n); ok {
				return &l, nil
			}
		}
	}
	return nil, nil
}

// pair reads a file and then its parity. What is missing of either is zeros.
type pair struct {
	file, beside io.ReaderAt
	size         int64 // of the file that is left
	off          int64 // its length
	length       int64 // of the parity
}

// ReadAt implements io.ReaderAt.
func (p *pair) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		rest, at := b[done:], off+int64(done)
		r, from, end := p.file, at, p.size
		limit := p.off - at
		if at >= p.off {
			r, from, end, limit = p.beside, at-p.off, p.length, int64(len(rest))
		}
		rest = rest[:min(int64(len(rest)), limit)]
		have := max(0, min(int64(len(rest)), end-from))
		if err := ioat.ReadFull(r, rest[:have], from); err != nil {
			return done, err
		}
		clear(rest[have:])
		done += len(rest)
	}
	return done, nil
}

// pairWriter writes a file and its parity.
type pairWriter struct {
	file, beside io.WriterAt
	off          int64
}

// WriteAt implements io.WriterAt.
func (p *pairWriter) WriteAt(b []byte, off int64) (int, error) {
	n := 0
	if off < p.off {
		part := b[:min(int64(len(b)), p.off-off)]
		if p.file == nil {
			return 0, fmt.Errorf("internal error: parity writes to byte %d of the file", off)
		}
		k, err := p.file.WriteAt(part, off)
		if err != nil || k < len(part) {
			return k, err
		}
		n = k
	}
	if n == len(b) {
		return n, nil
	}
	k, err := p.beside.WriteAt(b[n:], off+int64(n)-p.off)
	return n + k, err
}
