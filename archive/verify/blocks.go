package verify

import (
	"fmt"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

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
		// The pages of the index have checksums of their own, a local header has none.
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
		// Decoding has compared the block with the checksum in the index, and local header and
		// index agree.
		v.off = e.End()
		v.chunks.Passed(v.off)
		return true, nil
	}
	stored, err := v.storedBlock(row)
	if err != nil {
		return false, err
	}
	if v.src.Gap() > 0 && czip.CRC(stored) != e.Crc {
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
