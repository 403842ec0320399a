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

// Outlook is what Heal and then Repair would make of a damaged archive.
type Outlook struct {
	Parity  *parity.Report // see Healed
	Whole   bool           // no damage would remain
	After   int64          // bytes after the archive, to be cut off
	Kept    []parity.Range // see Healed
	Rebuilt bool           // see Healed
}

// Preview returns what Heal and Repair would make of an archive whose verification returned rep. It
// writes nothing. The result is nil for an intact archive and for one without parity.
func Preview(ctx context.Context, r io.ReaderAt, size int64, rep *verify.Report, o *verify.Options) (*Outlook, error) {
	// The parity may be found only after other structures are repaired.
	found := rep.Parity != nil || slices.ContainsFunc(rep.Damage, func(d verify.Damage) bool { return d.Kind == verify.DamageParity })
	if len(rep.Damage) == 0 || !found {
		return nil, nil
	}
	if o == nil {
		o = &verify.Options{}
	}
	h, err := Heal(ctx, r, size, &Options{Workers: o.Workers, Memory: o.Memory, CutAfter: true})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if h.Parity == nil {
		return nil, nil
	}
	out := &Outlook{Parity: h.Parity, Kept: h.Kept, Rebuilt: h.Rebuilt, After: h.After}
	p, err := Repair(ctx, h, h.Size(), nil)
	if errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrNotArchive) || errors.Is(err, fault.ErrVersion) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out.After += p.After
	l := newOverlay(h, h.Size())
	defer l.Close()
	if _, err := p.Commit(ctx, l); err != nil {
		return nil, err
	}
	after, err := verify.Verify(ctx, l, l.Size(), &verify.Options{Workers: o.Workers, Memory: o.Memory})
	if err != nil {
		return nil, err
	}
	out.Whole = len(after.Damage) == 0
	return out, nil
}
