package parity

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Set is the parity of an archive. It is not safe for concurrent use.
type Set struct {
	Layout
	r    *ioat.Source
	size int64 // of the file, which may be cut off or have bytes after the archive
	o    *Options

	crc   uint32 // of the entry
	known bool

	passed *Passed // or nil
}

// ErrLost reports an archive whose manifest names parity, but no record of it is intact and has
// the length of the archive and the place of the manifest.
var ErrLost = errors.New("no record of the parity is intact and fits the archive")

// Find looks for the parity of a file of size bytes. It returns nil if the file has no parity. If
// the end line or the local headers lead to an intact manifest, the manifest decides. Otherwise
// Find searches the file for a record, backwards from its end to the place where the headers lead.
// If the manifest decides, a record must have the length of the file and end where the manifest is.
// Of a file longer than twice SearchLen, it searches only the end and the bytes after that place.
func Find(ctx context.Context, file io.ReaderAt, size int64, o *Options) (*Set, error) {
	r := ioat.Bind(ctx, file)
	line, man, _, err := findManifest(ctx, r, size)
	reach := SearchLen(r)
	f := &finder{ctx: ctx, r: r, size: size, reach: reach, budget: findBudget * min(size, reach)}
	from, named := int64(0), false
	switch {
	case err == nil:
		if man.Parity <= 0 || man.Parity >= line.ManOff {
			return nil, nil
		}
		named = true
		f.fits = func(l *Layout) bool { return l.Size == size && l.end() == line.ManOff }
		if l, ok := f.search(man.Parity, min(line.ManOff+headLen, size)); ok {
			return &Set{Layout: *l, r: r, size: size, o: o}, nil
		}
	case !errors.Is(err, fault.ErrCorrupt) && !ioat.Unreadable(err):
		return nil, err
	case r.Gap() == 0:
		var none bool
		if from, none, err = f.walk(); err != nil || none {
			return nil, err
		}
	}
	if l, ok := f.search(from, size); ok {
		return &Set{Layout: *l, r: r, size: size, o: o}, nil
	}
	if f.err == nil && named {
		f.err = fault.Corruptf("parity at byte %d: %w", man.Parity, ErrLost)
	}
	return nil, f.err
}

// walk follows the local headers from the first one. It returns the offset that they lead
// to, and whether they show that there is no parity.
func (f *finder) walk() (off int64, none bool, err error) {
	w := czip.Walker{R: f.r, Size: f.size}
	for {
		if err := f.ctx.Err(); err != nil {
			return 0, false, err
		}
		e, err := w.At(off)
		switch {
		case err != nil && !errors.Is(err, fault.ErrCorrupt) && !ioat.Unreadable(err):
			return 0, false, err
		case err != nil || e.Name == czip.ParityName:
			return off, false, nil
		case e.Name == czip.ManifestName:
			return off, true, nil
		}
		off = e.End()
	}
}

// findBudget bounds the bytes that a search reads to confirm records, in lengths of what it
// searches: damage or malice may make many heads out of one.
const findBudget = 2

// SearchLen bounds the bytes that a search of r reads at a time. The length of a file is a
// claim: a server may name any, and a sparse file costs nothing.
func SearchLen(r io.ReaderAt) int64 {
	if ioat.Of(r).Gap() > 0 {
		return 64 << 20
	}
	return 1 << 30
}

const searchWindow = 1 << 20

// finder searches for a record.
type finder struct {
	ctx    context.Context
	r      io.ReaderAt
	size   int64
	reach  int64 // SearchLen
	budget int64
	fits   func(l *Layout) bool // nil: every layout may be that of the archive
	err    error
}

// search returns the layout in an intact record between two offsets.
func (f *finder) search(from, to int64) (*Layout, bool) {
	if to-from <= 2*f.reach {
		return f.last(from, to)
	}
	l, ok := f.last(to-f.reach, to)
	if !ok && f.err == nil {
		l, ok = f.last(from, from+f.reach)
	}
	return l, ok
}

// last returns the layout in the last intact record between two offsets.
func (f *finder) last(from, to int64) (*Layout, bool) {
	buf := make([]byte, min(searchWindow+headLen, max(0, to-from)))
	for end := to; end > from; {
		off := max(from, end-searchWindow)
		b := buf[:min(end+headLen, to)-off]
		if f.err = f.ctx.Err(); f.err != nil {
			return nil, false
		}
		if f.err = readHard(f.r, b, off, func(int64, int64) {}); f.err != nil {
			return nil, false
		}
		for i := len(b); ; {
			if i = bytes.LastIndex(b[:min(i+len(recordMagic)-1, len(b))], []byte(recordMagic)); i < 0 {
				break
			}
			if l, ok := f.confirm(b[i:], off+int64(i)); ok || f.err != nil {
				return l, ok
			}
		}
		end = off
	}
	return nil, false
}

// confirm reports whether there is an intact record at off, which starts with b.
func (f *finder) confirm(b []byte, off int64) (*Layout, bool) {
	l, n, err := parseHead(b)
	if err != nil || l.recordOff(n) != off || off > f.size-l.recordLen() || f.fits != nil && !f.fits(&l) || !f.spend(l.recordLen()) {
		return nil, false
	}
	rec := make([]byte, l.recordLen())
	// A bad sector is damage of this record, any other error ends the search.
	if f.err = readHard(f.r, rec, off, func(int64, int64) {}); f.err != nil {
		return nil, false
	}
	_, _, ok := l.split(rec, n)
	return &l, ok && l.plausible(f.size)
}

func (f *finder) spend(n int64) bool {
	f.budget -= n
	return f.budget >= 0
}

// plausible reports whether a file of size bytes can be what is left of the archive, such
// that something may be healed. It bounds all work by the length of the file.
func (l *Layout) plausible(size int64) bool {
	return l.Size <= size || l.Size-size <= l.end()-l.Off && l.covered() <= 2*size
}

// Entry returns the entry with its checksum, and whether its local header is intact.
func (s *Set) Entry(ctx context.Context) (e czip.ZipEntry, intact bool, err error) {
	e = s.entry()
	if !s.known {
		if s.crc, err = s.sum(ctx); err != nil {
			return e, false, err
		}
		s.known = true
	}
	e.Crc = s.crc
	want := e.AppendLocal(nil)
	have := make([]byte, len(want))
	bad := false
	err = readHard(s.r, have, e.Off, func(int64, int64) { bad = true })
	return e, !bad && bytes.Equal(have, want), err
}
