package repair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Healing from a second copy of the archive. What the damaged archive lists as damaged is taken from the
// same place of the copy, and kept if the archive's own checksums confirm it: only these bytes of the copy are
// read. Where the archive has lost what leads to its blocks, all entries of the copy that are intact are
// taken, unless the archive has intact bytes in their places.

var (
	// ErrOtherImage means that a copy is not one of the same netCDF file, or that nothing shows that it
	// is.
	ErrOtherImage = errors.New("not a copy of this archive")
	// ErrOtherLayout means that a copy holds the same netCDF file in other bytes, as after cdfz copy.
	ErrOtherLayout = errors.New("the copy holds the same netCDF file, but is another archive of it")
)

// fromSecond takes what is damaged from the second copy. What its first look leaves, a second one may heal, with
// the parity of both.
func (h *Healed) fromSecond() error {
	b := newOverlay(h.o.Second, h.o.Second.Size()) // unreadable sectors are zero
	defer b.Close()
	left, lost, err := damageOf(h.ctx, h.now(), h.size)
	if err != nil || len(left) == 0 && !lost {
		return err
	}
	own, err := ends(h.ctx, h.now(), h.size)
	if err != nil {
		return err
	}
	other, err := ends(h.ctx, b, b.Size())
	if err != nil {
		return inSecond(err)
	}
	if own.Man != nil && other.Man != nil {
		if a, b := own.Man, other.Man; a.SHA256 != b.SHA256 || a.Size != b.Size {
			return fmt.Errorf("%w: it holds %d bytes with SHA-256 %s, expected %d with %s", ErrOtherImage, b.Size, b.SHA256, a.Size, a.SHA256)
		}
		if !sameLayout(own, other) {
			return ErrOtherLayout
		}
	}
	if !lost {
		if left, err = h.fill(b, left); err != nil || len(left) == 0 {
			return err
		}
		if left, lost, err = h.again(); err != nil || len(left) == 0 && !lost {
			return err
		}
	}
	whole, done, err := h.mended(b)
	if err != nil {
		return err
	}
	defer done()
	if lost {
		if err := h.merge(whole, own, other); err != nil {
			return err
		}
		if left, lost, err = damageOf(h.ctx, h.now(), h.size); err != nil {
			return err
		}
	}
	if !lost && len(left) > 0 {
		if _, err := h.fill(whole, left); err != nil {
			return err
		}
	}
	_, _, err = h.again()
	return err
}

// again heals from the archive's own parity what that could not heal before, and returns what is left.
func (h *Healed) again() (left []verify.Damage, lost bool, err error) {
	if err := h.fromParity(); err != nil {
		return nil, false, err
	}
	return damageOf(h.ctx, h.now(), h.size)
}

// inSecond is an error of the second copy.
func inSecond(err error) error { return fmt.Errorf("second copy: %w", err) }

// ends returns what the end of an archive leads to.
func ends(ctx context.Context, r io.ReaderAt, size int64) (*evidence.Finder, error) {
	x := evidence.NewFinder(ctx, evidence.NewWalker(r, size), ioat.Of(r))
	if err := x.FindTail(); errors.Is(err, fault.ErrVersion) {
		return nil, err
	} else if err != nil {
		x.ForgetTail()
	}
	if x.Man == nil {
		if _, err := x.SearchTail(); err != nil && !errors.Is(err, fault.ErrCorrupt) {
			return nil, err
		}
	}
	return &x, ctx.Err()
}

// sameLayout reports whether two archives of the same image have the same bytes before the parity, as
// far as their ends tell.
func sameLayout(a, b *evidence.Finder) bool {
	if !a.Searched && !b.Searched {
		return a.Tail.IdxCRC == b.Tail.IdxCRC && a.Tail.IdxLen == b.Tail.IdxLen
	}
	return a.Man.Blocks == b.Man.Blocks && a.Man.Plan == b.Man.Plan && a.Man.Header == b.Man.Header && a.Man.Front == b.Man.Front
}

// damageOf returns the damage that a repair would leave. lost is set if it cannot even tell what is damaged.
func damageOf(ctx context.Context, r io.ReaderAt, size int64) (list []verify.Damage, lost bool, err error) {
	p, err := Repair(ctx, r, size, nil)
	if errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrNotArchive) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return p.Damage, false, p.Close()
}

// fill takes damaged bytes of the archive from their place in the copy, keeps what the archive's own checksums
// confirm, and returns the damage that is left.
func (h *Healed) fill(b *overlay, damaged []verify.Damage) (left []verify.Damage, err error) {
	metadata := func(d verify.Damage) bool { return d.Kind == verify.DamageMetadata }
	for _, list := range [][]verify.Damage{damaged, slices.DeleteFunc(slices.Clone(damaged), metadata)} {
		err = h.layer(func(l *overlay) error {
			left, err = h.fillIn(l, b, list)
			return err
		})
		if !errors.Is(err, errWorse) {
			return left, err
		}
		// The plan in the copy is damaged, and the other metadata in the archive.
	}
	return damaged, nil
}

// errWorse means that bytes of the copy make it impossible to tell what is damaged.
var errWorse = errors.New("damage in the second copy")

// fillIn is fill, in a layer.
func (h *Healed) fillIn(l, b *overlay, damaged []verify.Damage) (left []verify.Damage, err error) {
	for _, d := range damaged {
		if d.Off < 0 || d.Off+d.Len > h.size {
			continue
		}
		if err := h.take(l, b, span{d.Off, d.Off + d.Len}); err != nil {
			return nil, err
		}
	}
	left, lost, err := damageOf(h.ctx, l, l.Size())
	if lost {
		err = errWorse
	}
	for _, d := range left {
		if err == nil && d.Off >= 0 {
			err = l.revert(span{d.Off, d.Off + d.Len})
		}
	}
	return left, err
}

// layer adds a layer of changes that change makes, and counts their bytes.
func (h *Healed) layer(change func(l *overlay) error) error {
	l := newOverlay(h.now(), h.size)
	err := change(l)
	if err == nil {
		err = l.changes(h.ctx, l.all(), func(_ int64, b []byte) error {
			h.Copied += int64(len(b))
			return nil
		})
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return h.push(l)
}

// take writes a range of the copy to l, where the copy has it.
func (h *Healed) take(l, b *overlay, s span) error {
	s.end = min(s.end, b.Size())
	buf := make([]byte, min(copyLen, max(0, s.end-s.off)))
	for off := s.off; off < s.end; off += int64(len(buf)) {
		if err := h.ctx.Err(); err != nil {
			return err
		}
		p := buf[:min(int64(len(buf)), s.end-off)]
		if err := ioat.ReadFull(b, p, off); err != nil {
			return inSecond(err)
		}
		if _, err := l.WriteAt(p, off); err != nil {
			return err
		}
	}
	return nil
}

// copyLen is the length of the parts in which the copy is read.
const copyLen = 1 << 20

// merge takes all intact entries of the copy, and its tail if the archive's is lost or has moved. What is intact in the
// archive must be the same in the copy.
func (h *Healed) merge(whole *overlay, own, other *evidence.Finder) error {
	return h.layer(func(l *overlay) error {
		end := whole.Size()
		lost := own.Man == nil || own.Searched && other.Man != nil && own.Man.Parity == other.Man.Parity // or moved
		if !lost {                                                                                       // a repair makes the rest from the archive's manifest
			end = min(end, backOf(own), backOf(other))
		}
		same, err := h.takeEntries(l, whole, end)
		if err != nil {
			return err
		}
		if lost {
			if err := h.takeTail(l, whole); err != nil {
				return err
			}
		}
		if own.Man == nil || other.Man == nil {
			if !same {
				if same, err = h.holesOf(whole); err != nil {
					return err
				}
			}
			if !same {
				return fmt.Errorf("%w: nothing in the archive is intact and the same in the copy", ErrOtherImage)
			}
		}
		kept, err := keepSound(h.ctx, l)
		if err == nil && len(kept) > 0 {
			err = fmt.Errorf("%w: bytes %d to %d are intact, and the copy has others", ErrOtherImage, kept[0].off, kept[0].end)
		}
		return err
	})
}

// backOf returns where the parity or the manifest of an archive begins, if that is known.
func backOf(x *evidence.Finder) int64 {
	switch {
	case x.Man == nil:
		return math.MaxInt64
	case x.Man.Parity > 0:
		return x.Man.Parity
	}
	return x.Tail.ManOff
}

// mended returns the copy as its own parity and a repair would make it. The caller must call done.
func (h *Healed) mended(b *overlay) (whole *overlay, done func(), err error) {
	own, err := Heal(h.ctx, b, b.Size(), &Options{Workers: h.o.Workers, Memory: h.o.Memory, CutAfter: true})
	if err != nil {
		return nil, nil, inSecond(err)
	}
	whole = newOverlay(own, own.Size())
	done = func() {
		whole.Close()
		own.Close()
	}
	p, err := Repair(h.ctx, own, own.Size(), nil)
	switch {
	case errors.Is(err, fault.ErrCorrupt):
		return whole, done, nil
	case err == nil:
		_, err = p.Commit(h.ctx, whole)
		err = errors.Join(err, p.Close())
	case errors.Is(err, fault.ErrNotArchive):
		err = fault.ErrNotArchive
	}
	if err != nil {
		done()
		return nil, nil, inSecond(err)
	}
	return whole, done, nil
}

// takeEntries takes the intact entries of the copy before the byte end that differ in the archive. same
// reports whether the archive has one of them.
func (h *Healed) takeEntries(l, whole *overlay, end int64) (same bool, err error) {
	x := newSalvager(h.ctx, whole, whole.Size(), nil)
	err = x.search(func(e *czip.ZipEntry) (bool, error) {
		if !x.spend(e) {
			return false, nil
		}
		ok, err := x.sound(e)
		if err != nil || !ok || e.End() > end {
			return ok, err
		}
		s := span{e.Off, e.End()}
		equal, err := h.equal(whole, s)
		if same = same || equal; err != nil || equal {
			return true, err
		}
		return true, h.take(l, whole, s)
	})
	return same, err
}

// takeTail takes what follows the last entry of the copy, if its end is intact: directory and end.
func (h *Healed) takeTail(l, whole *overlay) error {
	x, err := ends(h.ctx, whole, whole.Size())
	if err != nil || x.Tail == nil || x.Searched {
		return err
	}
	index := x.Tail.Index()
	if err := h.take(l, whole, span{index.End(), whole.Size()}); err != nil {
		return err
	}
	if n := h.size - whole.Size(); n > 0 && h.o.CutAfter {
		h.After += n
		return l.Truncate(whole.Size())
	}
	return nil
}

// equal reports whether the archive has the bytes of the copy in a range.
func (h *Healed) equal(whole *overlay, s span) (bool, error) {
	if s.end > h.size {
		return false, nil
	}
	return h.compare(whole, s, bytes.Equal)
}

// holesOf reports whether the archive is a part of the copy, with zeros in place of the rest: a file system
// or a repair that was stopped has lost it. So is an empty file.
func (h *Healed) holesOf(whole *overlay) (bool, error) {
	if h.size > whole.Size() {
		return false, nil
	}
	return h.compare(whole, span{0, h.size}, func(own, other []byte) bool {
		for i, c := range own {
			if c != 0 && c != other[i] {
				return false
			}
		}
		return true
	})
}

// compare calls alike for successive parts of a range of the archive and of the copy, until it returns false.
func (h *Healed) compare(whole *overlay, s span, alike func(own, other []byte) bool) (bool, error) {
	n := min(copyLen, s.end-s.off)
	a, b := make([]byte, n), make([]byte, n)
	for off := s.off; off < s.end; off += n {
		if err := h.ctx.Err(); err != nil {
			return false, err
		}
		n := min(n, s.end-off)
		if err := ioat.ReadFull(h.now(), a[:n], off); err != nil {
			return false, err
		}
		if err := ioat.ReadFull(whole, b[:n], off); err != nil {
			return false, inSecond(err)
		}
		if !alike(a[:n], b[:n]) {
			return false, nil
		}
	}
	return true, nil
}

// Prove returns an error unless the archive as it will be restores the SHA-256 that its manifest has, read
// without its index. It is for archives that were healed from a second copy, before anything is written.
func (h *Healed) Prove(ctx context.Context, p *Repaired) error {
	l := newOverlay(h, h.Size())
	defer l.Close()
	if _, err := p.Commit(ctx, l); err != nil {
		return err
	}
	_, err := verify.Walk(ctx, l, l.Size(), &verify.Options{Workers: h.o.Workers, Memory: h.o.Memory})
	return err
}
