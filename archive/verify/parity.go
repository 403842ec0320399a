package verify

import (
	"errors"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/parity"
)

// findParity finds the parity, if there is any.
func (v *verifier) findParity() (err error) {
	if v.end != nil && v.end.man.Parity <= 0 {
		return nil
	}
	v.parity, err = parity.Find(v.ctx, v.src, v.Size, &parity.Options{Workers: v.o.Workers, Memory: v.o.Memory})
	return v.damage(DamageParity, -1, -1, err)
}

// parityAt returns the entry of the parity if it is at off. Its local header may be
// damaged.
func (v *verifier) parityAt(off int64) (e czip.ZipEntry, ok bool) {
	if v.parity == nil || v.parity.Off != off {
		return e, false
	}
	e, _, err := v.parity.Entry(v.ctx)
	return e, err == nil && e.End() <= v.Size
}

// checkParity checks the parity, and reports what can be healed.
func (v *verifier) checkParity() error {
	if v.parity == nil {
		return nil
	}
	rep, err := v.parity.Check(v.ctx)
	if err != nil {
		return err
	}
	v.rep.Parity = rep
	e, intact, err := v.parity.Entry(v.ctx)
	if err != nil {
		return err
	}
	if !intact {
		err := fault.Corruptf("local header of %s at byte %d is damaged", e.Name, e.Off)
		if err := v.damage(DamageParity, e.Off, e.LocalLen(), err); err != nil {
			return err
		}
	}
	others := len(v.rep.Damage)
	for _, d := range rep.Damaged {
		if d.Off < e.End()-e.Stored || d.Off >= e.End() {
			if others == 0 {
				err = errors.Join(err, v.damage(DamageParity, d.Off, d.Len, fault.Corruptf("the checksums in the parity are not those of the archive")))
			}
			continue
		}
		if err := v.damage(DamageParity, d.Off, d.Len, fault.Corruptf("parity: damaged records")); err != nil {
			return err
		}
	}
	return err
}
