package repair

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/verify"
)

// Healed is the result of Heal: an archive as it is after damage was healed from its parity. It
// still reads the damaged archive. The caller must close it.
type Healed struct {
	// Parity describes the damage that was found, and what remains of it. It is nil for an archive
	// without parity.
	Parity *parity.Report
	// Kept are archive bytes that the parity contradicts. Other checksums confirm them, so they
	// were not changed.
	Kept    []parity.Range
	Rebuilt bool  // the parity was computed again from intact data
	After   int64 // bytes after the archive, cut off to find the parity, or as the second copy ends before them
	// Lost is the error of parity.Find if the manifest names parity that is lost.
	Lost error
	// Copied is the number of bytes that were taken from the second copy.
	Copied int64

	ctx    context.Context
	o      *Options
	r      io.ReaderAt
	size   int64
	layers []*overlay // each reads its predecessor
}

// Heal heals an archive of size bytes that has parity. It writes nothing: Commit changes the
// archive in place, and a Healed reads as the healed archive.
//
// What was readable stays readable, whatever the parity holds: bytes that the index, a local header
// or another structure confirms are kept, unless they have moved and are restored in their place. If
// damage remains, Heal rebuilds the structures that follow from others and tries again. If only
// the parity is damaged then, it makes new parity.
//
// From a second copy, only bytes are taken that pass their checksums there, and in whose place the archive has
// no intact ones. The copy is read where the archive is damaged. If the archive has lost what leads to its
// blocks, all of the copy is read. ErrOtherImage and ErrOtherLayout mean that nothing is taken from it.
//
// An archive without parity is no error. Errors are those of r and of the second copy.
func Heal(ctx context.Context, r io.ReaderAt, size int64, o *Options) (*Healed, error) {
	if o == nil {
		o = &Options{}
	}
	h := &Healed{ctx: ctx, o: o, r: r, size: size}
	if err := h.run(); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Size returns the length of the healed archive.
func (h *Healed) Size() int64 { return h.size }

// Changed reports whether healing changes any byte of the archive.
func (h *Healed) Changed() bool { return len(h.layers) > 0 }

// ReadAt reads the healed archive. If it has parity, unreadable sectors that could not be healed
// are zero.
func (h *Healed) ReadAt(p []byte, off int64) (int, error) { return h.now().ReadAt(p, off) }

// now returns the archive as far as it is healed.
func (h *Healed) now() io.ReaderAt {
	if n := len(h.layers); n > 0 {
		return h.layers[n-1]
	}
	return h.r
}

// Close removes temporary files. The Healed must not be read any more.
func (h *Healed) Close() error {
	var err error
	for _, l := range h.layers {
		err = errors.Join(err, l.Close())
	}
	h.layers = nil
	return err
}

// Commit writes what was healed to w, the archive that was read. It can be interrupted, and the
// archive healed again.
func (h *Healed) Commit(ctx context.Context, w File) error {
	for _, l := range h.layers {
		if err := l.commit(ctx, w); err != nil {
			return err
		}
		if err := syncFile(w); err != nil {
			return err
		}
	}
	return nil
}

func (h *Healed) run() error {
	if h.o.Second != nil {
		h.r = newOverlay(h.r, h.size) // unreadable sectors are zero from here on
	}
	if err := h.fromParity(); err != nil || h.o.Second == nil {
		return err
	}
	return h.fromSecond()
}

// fromParity heals from the parity of the archive, if it has some.
func (h *Healed) fromParity() error {
	whole, err := h.once()
	if err != nil || whole || h.Parity == nil && h.Lost == nil {
		return err
	}
	if err := h.rebuildTail(); err != nil {
		return err
	}
	if whole, err = h.once(); err != nil || whole || h.Parity == nil {
		return err
	}
	return h.rebuild()
}

// push adds a layer, unless it changes nothing.
func (h *Healed) push(l *overlay) error {
	if some, err := l.differs(h.ctx, l.all()); err != nil || !some && l.Size() == h.size {
		return errors.Join(err, l.Close())
	}
	h.layers, h.size = append(h.layers, l), l.Size()
	return nil
}

// once heals what can be healed and reports whether the archive is as the parity wants it.
func (h *Healed) once() (whole bool, err error) {
	h.Lost = nil
	set, err := h.find()
	if errors.Is(err, parity.ErrLost) {
		h.Lost, err = err, nil
	}
	if err != nil || set == nil {
		return false, err
	}
	if h.Parity == nil {
		h.r = newOverlay(h.r, h.size) // unreadable sectors are zero from here on
	}
	l := newOverlay(h.now(), h.size)
	rep, err := set.Heal(h.ctx, l)
	var kept []parity.Range
	if err == nil && l.changed() {
		kept, err = h.guarded(l, rep)
	}
	if err == nil {
		err = h.push(l)
	} else {
		l.Close()
	}
	if err != nil {
		return false, err
	}
	if before := h.Parity; before != nil {
		rep.Healed += before.Healed
		rep.BadPieces, rep.BadRecords = max(rep.BadPieces, before.BadPieces), max(rep.BadRecords, before.BadRecords)
		rep.Header = rep.Header || before.Header
	}
	h.Parity, h.Kept = rep, kept
	return rep.Healable() && len(kept) == 0, nil
}

func (h *Healed) find() (*parity.Set, error) {
	return parity.Find(h.ctx, h.now(), h.size, &parity.Options{Workers: h.o.Workers, Memory: h.o.Memory})
}

// guarded undoes what healing would harm, and subtracts it from the report.
func (h *Healed) guarded(l *overlay, rep *parity.Report) ([]parity.Range, error) {
	spans, err := keepSound(h.ctx, l)
	var kept []parity.Range
	for _, s := range spans {
		kept = append(kept, parity.Range{Off: s.off, Len: s.end - s.off})
	}
	rep.Healed -= rep.Hit(kept)
	return kept, err
}

// rebuildTail rebuilds what follows from the local headers.
func (h *Healed) rebuildTail() error {
	p, err := Repair(h.ctx, h.now(), h.size, &Options{Quick: h.o.Quick})
	if errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrNotArchive) || errors.Is(err, fault.ErrVersion) {
		return nil // the repair that follows reports it
	}
	if err != nil {
		return err
	}
	defer p.Close()
	if p.Intact() || p.After > 0 && !h.o.CutAfter {
		return nil
	}
	h.After += p.After
	// The tail is in a layer after the bytes that it was derived from.
	for _, write := range []func(context.Context, File) error{p.patch, p.writeEnd} {
		l := newOverlay(h.now(), h.size)
		if err := write(h.ctx, l); err != nil {
			l.Close()
			return err
		}
		if err := h.push(l); err != nil {
			return err
		}
	}
	return nil
}

// rebuild makes the parity again if all else is intact.
func (h *Healed) rebuild() error {
	rep, err := verify.Verify(h.ctx, h.now(), h.size, &verify.Options{Workers: h.o.Workers, Memory: h.o.Memory})
	if errors.Is(err, fault.ErrNotArchive) {
		return nil // the repair that follows reports it
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rep.Damage, func(d verify.Damage) bool { return d.Kind != verify.DamageParity }) {
		return nil
	}
	set, err := h.find()
	if err != nil || set == nil || rep.Parity == nil {
		return err
	}
	l := newOverlay(h.now(), h.size)
	if err := set.Rebuild(h.ctx, l); err != nil {
		l.Close()
		return err
	}
	h.Rebuilt, h.Parity.Lost, h.Parity.Unknown = true, nil, nil
	return h.push(l)
}
