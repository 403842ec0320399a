package verify

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
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

// walkBlocks checks header and checksum of every block. It returns false if
// neither the headers nor the index lead to the end.
func (v *verifier) walkBlocks() (whole bool, err error) {
	var name []byte
	whole = true
	passed, lost := int64(0), int64(0)
	one := func(i int, b int64) bool {
		if err = v.ctx.Err(); err != nil {
			return false
		}
		if !whole {
			lost++
			err = v.loseBlock(i, b)
			return err == nil && lost < MaxLost
		}
		name = v.l.AppendName(name[:0], i, b)
		whole, err = v.walkBlock(i, b, string(name))
		passed++
		v.done.walk(v.off)
		if len(v.rep.Damage) > 0 {
			v.stopImage() // decodeBlocks comes instead
		}
		// With an index, decodeBlocks judges the others.
		return err == nil && (whole || v.index == nil)
	}
	goOn := one(-1, 0)
	if goOn {
		v.startImage()
		v.l.StoredOrder(func(i int, b int64) bool {
			goOn = one(i, b)
			return goOn
		})
	}
	for b := int64(1); goOn && b < v.l.RestBlocks; b++ {
		goOn = one(-1, b)
	}
	if more := v.l.Blocks - passed - lost; err == nil && lost == MaxLost && more > 0 {
		err = v.damage(DamageBlock, -1, -1, fault.Corruptf("%d more blocks are lost", more))
	}
	return whole, err
}

// loseBlock records a block that neither a local header nor the index locates.
func (v *verifier) loseBlock(i int, b int64) error {
	return v.damage(DamageBlock, -1, -1, plan.NewBlockError(v.l, v.header, i, b, -1, fault.Corruptf("neither a local header nor the index locates it")))
}

// walkBlock checks the block entry at the position of the walk and moves on.
func (v *verifier) walkBlock(i int, b int64, name string) (bool, error) {
	e, err := v.Expect(v.off, name)
	n, decoded := v.l.Number(i, b), false
	if err != nil {
		if err := v.damage(DamageHeader, v.off, -1, plan.NewBlockError(v.l, v.header, i, b, v.off, err)); err != nil {
			return false, err
		}
	}
	if byIndex, ok := v.fromIndex(n, name); ok {
		if err == nil && byIndex != e {
			err := plan.NewBlockError(v.l, v.header, i, b, v.off, fault.Corruptf("local header and index disagree"))
			if err := v.damage(DamageHeader, v.off, e.LocalLen(), err); err != nil {
				return false, err
			}
		}
		decoded = v.image.wait(n)
		// The index has a checksum, the header has none.
		e, err = byIndex, nil
	}
	if err != nil {
		return false, nil
	}
	row := blockidx.Row{Off: e.End() - e.Stored, Len: e.Stored, Mask: e.Mask, CRC: e.Crc}
	if err := v.table.Set(n, row); err != nil {
		return false, err
	}
	if n == v.l.RestFirst {
		v.first = plan.PlaceOf(row)
	}
	v.stored += e.Stored
	if decoded && len(v.rep.Damage) == 0 {
		// It has the checksum in the index, which is that in the header.
		v.off = e.End()
		v.chunks.Passed(v.off)
		return true, nil
	}
	stored, err := v.storedBlock(row)
	if err != nil {
		return false, err
	}
	if ioat.Gap(v.src) > 0 && czip.CRC(stored) != e.Crc {
		if err := opening.ReadAgain(v.ctx, v.R, stored, row.Off); err != nil {
			return false, fmt.Errorf("archive: %w", err)
		}
	}
	if got := czip.CRC(stored); got != e.Crc {
		err := plan.NewBlockError(v.l, v.header, i, b, row.Off, fault.Corruptf("expected checksum %08x, found %08x", e.Crc, got))
		if err := v.damage(DamageBlock, row.Off, row.Len, err); err != nil {
			return false, err
		}
	} else if n == v.l.RestFirst {
		// From here on, damage can be named by variable.
		h, first, err := opening.DecodeHeader(v.ctx, v.l, plan.PlaceOf(row), stored)
		if err == nil {
			err = v.l.SetHeader(v.ctx, h)
		}
		if err != nil {
			return true, v.damage(DamageBlock, row.Off, row.Len, err)
		}
		v.header, v.decoded = h, first
	}
	v.off = e.End()
	return true, nil
}

// ownBuffer is the length from which stored blocks do not share a buffer, but get memory
// as their bytes arrive: the length is a claim.
const ownBuffer = 8 << 20

// storedBlock reads the stored bytes of a block, which are valid until the next call.
func (v *verifier) storedBlock(row blockidx.Row) (b []byte, err error) {
	if row.Off >= 0 && row.Len <= int64(len(v.memory))-row.Off {
		return v.memory[row.Off:][:row.Len], nil
	}
	if row.Len > ownBuffer {
		b, err = ioat.ReadBytes(v.R, row.Off, row.Len)
	} else {
		if int64(cap(v.buf)) < row.Len {
			v.buf = make([]byte, row.Len)
		}
		b = v.buf[:row.Len]
		err = ioat.ReadFull(v.R, b, row.Off)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return b, nil
}

// fromIndex is the entry of a block as the index has it, if that fits the walk.
func (v *verifier) fromIndex(n int64, name string) (czip.ZipEntry, bool) {
	if v.index == nil {
		return czip.ZipEntry{}, false
	}
	row, err := v.index.Row(n)
	if err != nil {
		return czip.ZipEntry{}, false
	}
	e := czip.ZipEntry{Name: name, Crc: row.CRC, Stored: row.Len, Size: row.Len, Mask: row.Mask, Off: v.off}
	return e, e.End() == row.Off+row.Len && e.End() <= v.Size
}
