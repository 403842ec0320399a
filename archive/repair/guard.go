package repair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Parity may have been computed from bytes other than those of the archive, and after bytes were
// inserted or removed it puts bytes where intact ones have moved to. Therefore nothing that parity restores
// is written before a guard has compared it with what the other checksums of the archive confirm.

// guard decides which changes of an overlay must be undone. It judges only bytes that change.
type guard struct {
	ctx    context.Context
	o      *overlay
	r      *ioat.Source // the archive without the changes
	budget int64
	kept   []span // whose changes were undone
}

// maxRounds bounds the comparisons of entries that moved. One that is kept in place may be in the
// way of another.
const maxRounds = 6

// keepSound undoes the changes of an overlay to all bytes that checksums other than those of the
// parity confirm, unless the bytes have moved and the changes restore them elsewhere. It returns
// the bytes whose changes it undid.
func keepSound(ctx context.Context, o *overlay) (kept []span, err error) {
	g := &guard{ctx: ctx, o: o, r: ioat.Live(ctx, o.r), budget: searchBudget * o.was}
	if err := g.inPlace(); err != nil {
		return nil, err
	}
	found, err := g.entries(g.r, o.was, func(e *czip.ZipEntry) (bool, error) { return o.differs(ctx, span{e.Off, e.End()}) })
	if err != nil {
		return nil, err
	}
	for round := 0; len(found) > 0; round++ {
		wanted := map[czip.ZipEntry]bool{}
		var harmed []czip.ZipEntry
		for _, e := range found {
			if d, err := o.differs(ctx, span{e.Off, e.End()}); err != nil {
				return nil, err
			} else if d {
				harmed = append(harmed, e)
				wanted[placeless(e)] = true
			}
		}
		if len(harmed) == 0 {
			break
		}
		if round < maxRounds {
			still, err := g.entries(o, o.Size(), func(e *czip.ZipEntry) (bool, error) { return wanted[placeless(*e)], nil })
			if err != nil {
				return nil, err
			}
			for _, e := range still {
				delete(wanted, placeless(e))
			}
		}
		again := false
		for _, e := range harmed {
			if wanted[placeless(e)] {
				again = true
				if err := g.keep(span{e.Off, e.End()}); err != nil {
					return nil, err
				}
			}
		}
		if !again {
			break
		}
	}
	return g.kept, nil
}

// placeless is an entry wherever it is.
func placeless(e czip.ZipEntry) czip.ZipEntry {
	e.Off = 0
	return e
}

// keep undoes the changes of a range.
func (g *guard) keep(s span) error {
	var changed []span
	err := g.o.changes(g.ctx, s, func(off int64, b []byte) error {
		changed = append(changed, span{off, off + int64(len(b))})
		return nil
	})
	if err == nil && len(changed) > 0 {
		g.kept = append(g.kept, changed...)
		err = g.o.revert(s)
	}
	return err
}

// confirm keeps a range if it changes and check confirms its bytes.
func (g *guard) confirm(off, n int64, check func(b []byte) bool) error {
	s := span{off, off + n}
	if off < 0 || n < 0 || n > g.o.was-off {
		return nil
	}
	if d, err := g.o.differs(g.ctx, s); err != nil || !d {
		return err
	}
	b := make([]byte, n)
	if err := ioat.ReadFull(g.r, b, off); err != nil {
		return unlessUnreadable(err)
	}
	if !check(b) {
		return nil
	}
	return g.keep(s)
}

// unlessUnreadable returns errors other than that of a bad sector, whose bytes are damaged.
func unlessUnreadable(err error) error {
	if ioat.Unreadable(err) {
		return nil
	}
	return fmt.Errorf("archive: %w", err)
}

// inPlace keeps what an intact end line and manifest lead to: both of them, the front, plan, netCDF
// header, their copies, pages of the index, blocks, and records of the directory.
func (g *guard) inPlace() error {
	x := evidence.NewFinder(g.ctx, evidence.NewWalker(g.r, g.o.was), g.r)
	if err := x.FindTail(); err != nil && !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrVersion) && !ioat.Unreadable(err) {
		return err
	}
	if x.Man == nil {
		return nil
	}
	always := func([]byte) bool { return true }
	m, t := x.Man, x.Tail
	if err := g.confirm(g.o.was-czip.TailLen, czip.TailLen, always); err != nil {
		return err
	}
	man := czip.ZipEntry{Name: czip.ManifestName}
	if err := g.confirm(t.ManOff+man.LocalLen(), t.ManLen, always); err != nil {
		return err
	}
	places := []plan.Place{m.Plan, m.Header, {Len: m.Front.Len, CRC32: m.Front.CRC32}}
	if m.Copies != (plan.Copies{}) {
		second := []plan.Place{m.Plan, m.Header}
		second[0].Off, second[1].Off = m.Copies.Plan, m.Copies.Header
		places = append(places, second...)
	}
	for _, p := range places {
		if err := g.confirm(p.Off, p.Len, func(b []byte) bool { return p.Check("", b) == nil }); err != nil {
			return err
		}
	}
	if x.Index == nil {
		return nil
	}
	if err := g.index(&x); err != nil {
		return err
	}
	return g.directory(&x)
}

// index keeps the intact pages of the index, and the blocks that their rows confirm.
func (g *guard) index(x *evidence.Finder) error {
	idx := x.Tail.Index()
	at := idx.End() - idx.Stored
	head := blockidx.Header(x.Man.Blocks)
	if err := g.confirm(at, blockidx.HeaderLen, func(b []byte) bool { return bytes.Equal(b, head) }); err != nil {
		return err
	}
	for n := int64(0); n < x.Index.Rows(); {
		off, length, next := x.Index.Page(n)
		for first := true; n < next; n++ {
			if err := g.ctx.Err(); err != nil {
				return err
			}
			row, err := x.Index.Row(n)
			switch {
			case err != nil && !errors.Is(err, blockidx.ErrCorrupt) && !ioat.Unreadable(err):
				return fmt.Errorf("archive: %w", err)
			case err != nil && first:
				n = next - 1
				continue
			case err != nil:
				continue
			}
			if first {
				first = false
				if err := g.confirm(at+off, length, func([]byte) bool { return true }); err != nil {
					return err
				}
			}
			if err := g.block(x, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// block keeps the stored bytes of a block if they have the checksum in its row.
func (g *guard) block(x *evidence.Finder, row blockidx.Row) error {
	s := span{row.Off, row.Off + row.Len}
	if row.Len > g.o.was || row.Off > g.o.was-row.Len {
		return nil
	}
	if d, err := g.o.differs(g.ctx, s); err != nil || !d {
		return err
	}
	if g.budget -= row.Len; g.budget < 0 {
		return nil // rows overlap
	}
	crc, err := x.Checksum(g.ctx, row.Off, row.Len)
	switch {
	case err != nil && !ioat.Unreadable(err):
		return err
	case err != nil || crc != row.CRC:
		return nil
	}
	return g.keep(s)
}

// directory keeps the records of the directory that have the same fields as the local headers, and
// the end record if it follows from manifest and index.
func (g *guard) directory(x *evidence.Finder) error {
	d := x.Dir
	from, end := d.Off, g.o.was-czip.EndLen
	for off := from; off < end; {
		if err := g.ctx.Err(); err != nil {
			return err
		}
		b := d.From(off)
		e, n, ok := czip.ParseCentral(b)
		if !ok {
			i := bytes.Index(b[min(1, len(b)):], []byte(czip.CentralMagic))
			if i < 0 {
				break
			}
			off += int64(i) + 1
			continue
		}
		local, err := x.At(e.Off)
		if err != nil && !errors.Is(err, fault.ErrCorrupt) && !ioat.Unreadable(err) {
			return err
		}
		if err == nil && local == e {
			if err := g.confirm(off, int64(n), func([]byte) bool { return true }); err != nil {
				return err
			}
		}
		off += int64(n)
	}
	want := czip.AppendEnd(nil, x.Man.Entries, from, 0, x.Tail.String())
	dirLen := g.o.was - int64(len(want)) - from
	if dirLen < 0 {
		return nil
	}
	want = czip.AppendEnd(nil, x.Man.Entries, from, dirLen, x.Tail.String())
	return g.confirm(from+dirLen, int64(len(want)), func(b []byte) bool { return bytes.Equal(b, want) })
}

// entries searches an archive for the local headers of entries that are wanted, and returns those
// whose stored bytes have their checksum.
func (g *guard) entries(r io.ReaderAt, size int64, wanted func(e *czip.ZipEntry) (bool, error)) (found []czip.ZipEntry, err error) {
	x := newSalvager(g.ctx, r, size, nil)
	err = x.search(func(e *czip.ZipEntry) (bool, error) {
		if ok, err := wanted(e); err != nil || !ok || !x.spend(e) {
			return false, err
		}
		ok, err := x.sound(e)
		if ok {
			found = append(found, *e)
		}
		return ok, err
	})
	return found, err
}

// sound reports whether the stored bytes of an entry have its checksum.
func (x *salvager) sound(e *czip.ZipEntry) (bool, error) {
	if e.Method == czip.MethodStored {
		crc, err := x.Checksum(x.Ctx, e.End()-e.Stored, e.Stored)
		if err != nil && !ioat.Unreadable(err) {
			return false, err
		}
		return err == nil && crc == e.Crc, nil
	}
	_, err := x.Content(x.Ctx, e)
	if err != nil && !errors.Is(err, fault.ErrCorrupt) && !ioat.Unreadable(err) {
		return false, err
	}
	return err == nil, nil
}
