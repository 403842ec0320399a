package verify

import (
	"errors"
	"hash/crc32"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
)

// The walk of a verifier from the first byte of an archive to its manifest.

// walkFront checks the entries before the blocks. Without a plan, the later entries
// cannot be identified, and only their checksums are checked.
func (v *verifier) walkFront() error {
	l, entries, err := v.Front(v.ctx)
	if errors.Is(err, fault.ErrVersion) {
		return err
	}
	for i := range entries {
		// With l, the plan was inflated.
		if err := v.checkMeta(&entries[i], l != nil && i == 0); err != nil {
			return err
		}
	}
	if n := len(entries); n > 0 {
		v.off = entries[n-1].End()
	}
	v.front = entries
	if err != nil {
		kind := DamageHeader
		if l == nil && len(entries) == 0 {
			kind = DamagePlan
		}
		if err := v.damage(kind, v.off, -1, err); err != nil {
			return err
		}
		if l, ok := v.byManifest(); ok {
			v.l, v.front = l, nil
			return v.planned()
		}
		return v.walkBlind()
	}
	v.l = l
	v.keepFront()
	return v.planned()
}

// byManifest finds plan and blocks of an archive whose first local headers are damaged.
func (v *verifier) byManifest() (*plan.Resolved, bool) {
	x := evidence.NewFinder(v.ctx, v.Walker, v.src)
	if x.FindTail() != nil || x.Man == nil {
		return nil, false
	}
	if _, err := x.FindPlan(); err != nil {
		return nil, false
	}
	v.off = x.Man.Front.Len
	return x.L, true
}

// planned is called when the plan is known.
func (v *verifier) planned() error {
	l := v.l
	if v.index != nil && v.index.Rows() != l.Blocks {
		v.index = nil
	}
	v.rep.Blocks, v.rep.ImageSize = l.Blocks, l.Image.Size
	return nil
}

// checkMeta checks an entry of the front and adds it to the front's checksum. inflated is true
// if its content was already inflated without errors.
func (v *verifier) checkMeta(e *czip.ZipEntry, inflated bool) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	payload, err := v.Payload(e)
	if err != nil {
		return err
	}
	v.crc = crc32.Update(v.crc, crc32.IEEETable, e.AppendLocal(nil))
	v.crc = crc32.Update(v.crc, crc32.IEEETable, payload)
	if e.Name == czip.PlanName {
		v.plan = plan.Place{Off: e.End() - e.Stored, Len: e.Stored, CRC32: plan.Hex32(czip.CRC(payload))}
	}
	switch {
	case !evidence.Foreign(e.Name):
		if e.Method != czip.MethodDeflated {
			err = fault.Corruptf("%s: expected method %d, found %d", e.Name, czip.MethodDeflated, e.Method)
			break
		}
		if !inflated {
			_, err = czip.Inflate(v.ctx, e, payload, czip.MetaLimit(v.Size, 0))
		}
	default:
		_, err = czip.Inflate(v.ctx, e, payload, plan.MaxLater)
	}
	return v.damage(DamageMetadata, e.Off, e.End()-e.Off, err)
}

// walkBlind checks the entries of an archive whose plan is lost, as far as the local
// headers lead.
func (v *verifier) walkBlind() error {
	for v.off < v.Size {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		e, err := v.At(v.off)
		if err != nil {
			// The directory comes next, or the headers lead no further.
			return nil
		}
		if e.Method == czip.MethodStored {
			payload, err := v.Payload(&e)
			if err != nil {
				return err
			}
			if got := czip.CRC(payload); got != e.Crc {
				err := fault.Corruptf("%q: expected checksum %08x, found %08x", e.Name, e.Crc, got)
				if err := v.damage(DamageBlock, e.Off, e.End()-e.Off, err); err != nil {
					return err
				}
			}
		}
		v.off = e.End()
	}
	return nil
}
