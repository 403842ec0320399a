package repair

import (
	"errors"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/verify"
)

// Repair of the entries between the last block and the manifest.

// walkBack finds the entries between the last block and the manifest, from off on, and
// restores damaged bytes of the plan, of block 0 of the rest and of their second copies
// from each other.
func (x *repairer) walkBack(entry *czip.MetaEntry, off int64) (int64, error) {
	row, err := x.p.t.Table.Row(x.L.RestFirst)
	if err != nil {
		return off, err
	}
	both, ok := x.Copies(entry.ZipEntry, row, off)
	if !ok && x.Man != nil && x.Man.Copies != (plan.Copies{}) {
		header := czip.ZipEntry{Crc: row.CRC, Stored: row.Len, Size: row.Len, Mask: row.Mask}
		both = plan.CopyEntries(entry.ZipEntry, header, off)
		ok = plan.CopiesOf(both) == x.Man.Copies
	}
	if ok {
		for i := range both {
			e := &both[i]
			local, err := x.Expect(e.Off, e.Name)
			if err != nil && !errors.Is(err, fault.ErrCorrupt) {
				return off, err
			}
			if err != nil || local != *e {
				x.p.Headers++
			}
		}
		off = both[1].End()
		x.p.t.Back = append(x.p.t.Back, both...)
		if err := x.healPlan(&both[0], entry.Payload); err != nil {
			return off, err
		}
		if err := x.healHeader(&both[1], row.Off); err != nil {
			return off, err
		}
	}
	for len(x.p.t.Back) < evidence.MaxForeign {
		e, ok := x.Later(off, x.Tail)
		if e.Name == czip.ParityName && x.Tail != nil && e.End() != x.Tail.ManOff {
			ok = false
		}
		if !ok {
			if e, ok, err = x.parity(off); err != nil {
				return off, err
			}
		}
		if !ok {
			break
		}
		if err := x.checkParity(&e); err != nil {
			return off, err
		}
		x.p.t.Back = append(x.p.t.Back, e)
		off = e.End()
	}
	return off, nil
}

// parity returns the entry of the parity, whose local header is damaged, if the manifest has
// it at off.
func (x *repairer) parity(off int64) (e czip.ZipEntry, ok bool, err error) {
	if x.Tail == nil || x.Man.Parity != off || off >= x.Tail.ManOff {
		return e, false, nil
	}
	if e, ok = czip.EntryBetween(czip.ParityName, off, x.Tail.ManOff); !ok {
		return e, false, nil
	}
	if rec, recorded := x.Dir.Next(e.Name, off); recorded && rec.Name == e.Name {
		e.Crc = rec.Crc
	} else if e.Crc, err = x.paritySum(&e); err != nil {
		return e, false, err
	}
	x.p.Headers++
	return e, true, nil
}

// paritySum returns the checksum that follows from a record of the parity. Without one it
// is that of the damaged bytes.
func (x *repairer) paritySum(e *czip.ZipEntry) (uint32, error) {
	set, err := parity.Find(x.Ctx, x.Src, x.Size, nil)
	if err != nil && !errors.Is(err, fault.ErrCorrupt) {
		return 0, err
	}
	if set != nil && err == nil {
		if found, _, err := set.Entry(x.Ctx); err != nil || found.Off == e.Off && found.Stored == e.Stored {
			return found.Crc, err
		}
	}
	at := e.End() - e.Stored
	x.damage(verify.DamageParity, at, e.Stored, fault.Corruptf("%s: no record is intact", e.Name))
	return x.Checksum(x.Ctx, at, e.Stored)
}

// checkParity compares the parity with its checksum.
func (x *repairer) checkParity(e *czip.ZipEntry) error {
	if e.Name != czip.ParityName || x.o.Quick {
		return nil
	}
	at := e.End() - e.Stored
	crc, err := x.Checksum(x.Ctx, at, e.Stored)
	if err == nil && crc != e.Crc {
		x.damage(verify.DamageParity, at, e.Stored, fault.Corruptf("%s: expected checksum %08x, found %08x", e.Name, e.Crc, crc))
	}
	return err
}

// healed is bytes that replace damaged ones at an archive offset.
type healed struct {
	off   int64
	bytes []byte
}

// healPlan restores the second copy of the plan. The plan itself is restored with the
// front.
func (x *repairer) healPlan(e *czip.ZipEntry, text []byte) error {
	at := e.End() - e.Stored
	crc, err := x.Checksum(x.Ctx, at, e.Stored)
	if err == nil && crc != czip.CRC(text) {
		x.p.healed = append(x.p.healed, healed{at, text})
	}
	return err
}

// healHeader restores block 0 of the rest, whose stored bytes are at first, or its second
// copy, if only one of them is damaged.
func (x *repairer) healHeader(e *czip.ZipEntry, first int64) error {
	second := e.End() - e.Stored
	a, err := x.Checksum(x.Ctx, first, e.Stored)
	if err != nil {
		return err
	}
	b, err := x.Checksum(x.Ctx, second, e.Stored)
	if err != nil {
		return err
	}
	from, to := first, second
	switch {
	case a == e.Crc && b == e.Crc:
		return nil
	case b == e.Crc:
		from, to = second, first
		// walkBlocks reported it.
		delete(x.lost, x.L.RestFirst)
		x.p.Damage = slices.DeleteFunc(x.p.Damage, func(d verify.Damage) bool { return d.Off == first && d.Kind == verify.DamageBlock })
	case a != e.Crc:
		x.damage(verify.DamageCopy, second, e.Stored, fault.Corruptf("%s at byte %d: expected checksum %08x, found %08x", e.Name, second, e.Crc, b))
		return nil
	}
	bytes, err := opening.Section{}.Get(x.R, from, e.Stored)
	if err == nil {
		x.p.healed = append(x.p.healed, healed{to, bytes})
	}
	return err
}
