package verify

import (
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
)

// Checks of the entries between the last block and the manifest: second copies, then
// entries of later versions, then the parity.

// walkBack checks the entries between the last block and the manifest.
func (v *verifier) walkBack() error {
	row, err := v.table.Row(v.l.RestFirst)
	if err != nil {
		return err
	}
	if both, ok := v.Copies(v.front[0], row, v.off); ok {
		v.copies = plan.CopiesOf(both)
		sums := []string{v.plan.CRC32, v.first.CRC32}
		for i, e := range both {
			if err := v.checkCopy(e, sums[i]); err != nil {
				return err
			}
		}
	}
	names := map[string]bool{}
	for _, e := range v.front {
		names[e.Name] = true
	}
	for len(v.back) < evidence.MaxForeign {
		if e, ok := v.parityAt(v.off); ok {
			v.back, v.off = append(v.back, e), e.End()
			return nil
		}
		e, ok := v.Later(v.off, v.tail)
		if !ok {
			return nil
		}
		if err := v.checkLater(&e, names[e.Name]); err != nil {
			return err
		}
		names[e.Name] = true
	}
	return nil
}

// checkCopy checks a second copy, whose bytes must have the checksum of the original.
func (v *verifier) checkCopy(e czip.ZipEntry, sum string) error {
	found, err := v.Expect(v.off, e.Name)
	if err == nil && found != e {
		err = fault.Corruptf("%s at byte %d: its local header is not that of a copy", e.Name, v.off)
	}
	if err := v.damage(DamageCopy, v.off, e.LocalLen(), err); err != nil {
		return err
	}
	at := plan.Place{Off: e.End() - e.Stored, Len: e.Stored}
	crc, err := v.Checksum(v.ctx, at.Off, at.Len)
	if err != nil {
		return err
	}
	if got := plan.Hex32(crc); got != sum {
		err = fault.Corruptf("%s at byte %d: expected checksum %s as in the original, found %s", e.Name, at.Off, sum, got)
	}
	v.back, v.off = append(v.back, e), e.End()
	return v.damage(DamageCopy, at.Off, at.Len, err)
}

// checkLater checks an entry of a later version. One that is stored may be long.
func (v *verifier) checkLater(e *czip.ZipEntry, twice bool) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	var err error
	if twice {
		err = fault.Corruptf("%q occurs twice", e.Name)
	}
	if e.Method == czip.MethodStored {
		crc, rerr := v.Checksum(v.ctx, e.End()-e.Stored, e.Stored)
		if rerr != nil {
			return rerr
		}
		if crc != e.Crc {
			err = fault.Corruptf("%s: expected checksum %08x, found %08x", e.Name, e.Crc, crc)
		}
	} else {
		payload, rerr := v.Payload(e)
		if rerr != nil {
			return rerr
		}
		if _, ierr := czip.Inflate(v.ctx, e, payload, plan.MaxLater); ierr != nil {
			err = ierr
		}
	}
	v.back, v.off = append(v.back, *e), e.End()
	kind := DamageMetadata
	if e.Name == czip.ParityName {
		kind = DamageParity
	}
	return v.damage(kind, e.Off, e.End()-e.Off, err)
}
