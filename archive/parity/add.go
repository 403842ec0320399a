package parity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/recycled"
)

// Add inserts parity into an archive of size bytes, which must be intact and have no
// parity, and returns the layout; its Size is the new length. A share of 0 or above MaxShare
// is archive.ErrOptions, and so is an archive whose manifest has no room for the place of the parity,
// because the name of the image is very long. The bytes depend only on the archive and the share.
//
// Nothing before the manifest changes. Add writes the new tail, from the manifest to the
// end, at its final place, and then the parity. If the new tail does not overlap the old one
// (see Plan), the archive can be repaired at any time: either tail is complete.
func Add(ctx context.Context, f File, size int64, share Share, o *Options) (*Layout, error) {
	t, l, m, err := layOut(ctx, f, size, share)
	if err != nil {
		return nil, err
	}
	if err := writeTail(ctx, f, t, m); err != nil {
		return nil, err
	}
	if err := syncFile(f); err != nil {
		return nil, err
	}
	s := &Set{Layout: *l, r: ioat.Of(f), size: l.Size, o: o}
	if err := s.writeLocal(ctx, f); err != nil {
		return nil, err
	}
	if err := s.writeRecords(ctx, f); err != nil {
		return nil, err
	}
	return l, nil
}

// Plan returns the layout that Add would use, and whether the new tail overlaps the old
// one. An interrupted Add then loses the manifest, so it needs a copy of the archive. Errors
// are those of Add. Plan writes nothing.
func Plan(ctx context.Context, r io.ReaderAt, size int64, share Share) (l *Layout, overlaps bool, err error) {
	t, l, _, err := layOut(ctx, r, size, share)
	if err != nil {
		return nil, false, err
	}
	return l, l.end() < t.size, nil
}

func layOut(ctx context.Context, r io.ReaderAt, size int64, share Share) (*tail, *Layout, *moved, error) {
	if !share.Valid() || share == 0 {
		return nil, nil, nil, fault.Optionsf("parity of %s: expected more than 0%% and at most 100%%, with at most two decimals", share)
	}
	t, err := readTail(ctx, ioat.Bind(ctx, r), size)
	if err != nil {
		return nil, nil, nil, err
	}
	if t.man.Parity != 0 {
		return nil, nil, nil, errors.New("archive: expected no parity, found some: remove it first")
	}
	// The tail grows with the offsets in it, and these with the length of the entry.
	l := choose(size, share)
	for range 8 {
		l.Off, l.Size = t.manifest.Off, size
		e := l.entry()
		m, err := t.move(&e)
		if err != nil {
			return nil, nil, nil, err
		}
		next := choose(m.size-(l.end()-l.Off), share)
		next.Off, next.Size = l.Off, m.size
		if next.end() == l.end() {
			if e.Crc, err = next.sum(ctx); err != nil {
				return nil, nil, nil, err
			}
			if m, err = t.move(&e); err != nil {
				return nil, nil, nil, err
			}
			return t, &next, m, next.check()
		}
		l = next
	}
	return nil, nil, nil, fmt.Errorf("archive: internal error: no layout for %d bytes with %s", size, share)
}

// oneWrite is the length up to which a tail is written at once, so that a program that is
// killed leaves the old end or the new one.
const oneWrite = 8 << 20

// writeTail writes the moved tail. Parts are copied from the last one to the first, because
// they move to higher offsets.
func writeTail(ctx context.Context, f File, t *tail, m *moved) error {
	if n := m.size - m.manifest.Off; n <= oneWrite {
		b := append(make([]byte, 0, n), m.manifest.AppendLocal(nil)...)
		b = append(b, m.payload...)
		at := len(b)
		b = b[:int64(at)+t.index.End()-t.index.Off+t.dirKeep]
		if err := ioat.ReadFull(f, b[at:], t.index.Off); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		b = append(append(b, m.last...), m.end(m.man.Entries)...)
		return write(f, b, m.manifest.Off)
	}
	if err := write(f, append(m.last, m.end(m.man.Entries)...), m.dirOff+m.dirKeep); err != nil {
		return err
	}
	if err := copyUp(ctx, f, t.dirOff, m.dirOff, t.dirKeep); err != nil {
		return err
	}
	if err := copyUp(ctx, f, t.index.Off, m.index.Off, t.index.End()-t.index.Off); err != nil {
		return err
	}
	return write(f, append(m.manifest.AppendLocal(nil), m.payload...), m.manifest.Off)
}

func write(w io.WriterAt, b []byte, off int64) error {
	n, err := w.WriteAt(b, off)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("archive: writing: %w", err)
	}
	return nil
}

// copyUp copies n bytes to a higher offset.
func copyUp(ctx context.Context, f File, from, to, n int64) error {
	buf := make([]byte, min(n, 1<<20))
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(n, int64(len(buf)))]
		n -= int64(len(b))
		if err := ioat.ReadFull(f, b, from+n); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		if err := write(f, b, to+n); err != nil {
			return err
		}
	}
	return nil
}

func syncFile(f any) error {
	if s, ok := f.(interface{ Sync() error }); ok {
		if err := s.Sync(); err != nil {
			return fmt.Errorf("archive: writing: %w", err)
		}
	}
	return nil
}

// writeLocal writes the local header of the entry.
func (s *Set) writeLocal(ctx context.Context, w io.WriterAt) error {
	e, _, err := s.Entry(ctx)
	if err != nil {
		return err
	}
	return write(w, e.AppendLocal(nil), e.Off)
}

// Rebuild computes all records again and writes them to w, which is the archive. The bytes that
// they protect must be known to be intact.
func (s *Set) Rebuild(ctx context.Context, w io.WriterAt) error {
	if err := s.writeLocal(ctx, w); err != nil {
		return err
	}
	return s.writeRecords(ctx, w)
}

// writeRecords writes all records.
func (s *Set) writeRecords(ctx context.Context, w io.WriterAt) error {
	c := newCodes(&s.Layout)
	src := &source{&s.Layout, ioat.Bind(ctx, s.r), s.size}
	done := progress{call: s.o.progress()}
	return s.eachGroup(ctx, func(group int64, b []byte) error {
		lost := int64(-1)
		if err := src.group(b, group, func(i int64) { lost = i }); err != nil {
			return err
		}
		if lost >= 0 {
			return fault.Corruptf("parity: piece %d of group %d cannot be read", lost, group)
		}
		done.add(int64(len(b)))
		return s.writeGroup(c, w, group, b, nil)
	})
}

// writeGroup writes the records of a group, or those that are bad, from all its pieces.
func (s *Set) writeGroup(c *codes, w io.WriterAt, group int64, b []byte, bad func(row int64) bool) error {
	parity, err := c.encode(b)
	if err != nil {
		return err
	}
	parts, err := c.parts(c.table(b))
	if err != nil {
		return err
	}
	var rec []byte
	for row := range s.Parity {
		if bad != nil && !bad(row) {
			continue
		}
		n := s.record(group, row)
		rec = s.appendRecord(rec[:0], n, parts[row], parity[row])
		if err := write(w, rec, s.recordOff(n)); err != nil {
			return err
		}
	}
	return nil
}

// eachGroup calls work for all groups with a buffer for its pieces, in parallel as far as
// the memory allows.
func (s *Set) eachGroup(ctx context.Context, work func(group int64, b []byte) error) error {
	return s.groupsIn(ctx, func(yield func(int64) bool) {
		for g := range s.Groups {
			if !yield(g) {
				return
			}
		}
	}, s.groupMemory(), work)
}

// groupsIn does the same as eachGroup, but only for the given groups. memory is the number of
// bytes that work on one of them takes.
func (s *Set) groupsIn(ctx context.Context, groups func(yield func(int64) bool), memory int64, work func(group int64, b []byte) error) error {
	workers := max(1, min(s.o.workers(), s.o.memory()/memory))
	eg, live := errgroup.WithContext(ctx)
	eg.SetLimit(int(workers))
	for g := range groups {
		if live.Err() != nil {
			break
		}
		eg.Go(func() error {
			if err := live.Err(); err != nil {
				return err
			}
			b := recycled.Get(s.Data * s.Piece)
			defer recycled.Put(b)
			return work(g, b)
		})
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func (o *Options) workers() int64 {
	if o == nil || o.Workers <= 0 {
		return int64(runtime.GOMAXPROCS(0))
	}
	return int64(o.Workers)
}

func (o *Options) progress() func(int64) {
	if o == nil {
		return nil
	}
	return o.Progress
}

// progress adds up the work of several goroutines.
type progress struct {
	mu   sync.Mutex
	done int64
	call func(int64)
}

func (p *progress) add(n int64) {
	if p.call == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.call(p.done)
}
