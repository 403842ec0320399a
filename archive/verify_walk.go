package archive

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// The walk of a verifier from the first byte of an archive to its manifest.

// walkFront checks what precedes the blocks. Without a plan nothing further can
// be told apart: then every entry's checksum is checked.
func (v *verifier) walkFront() error {
	l, entries, err := v.walker.front()
	if errors.Is(err, ErrVersion) {
		return err
	}
	for i := range entries {
		if err := v.checkMeta(&entries[i]); err != nil {
			return err
		}
	}
	if n := len(entries); n > 0 {
		v.off = entries[n-1].end()
	}
	v.front = entries
	if err != nil {
		kind := DamageHeader
		if l == nil && len(entries) == 1 {
			kind = DamagePlan
		}
		if err := v.damage(kind, v.off, -1, err); err != nil {
			return err
		}
		return v.walkBlind()
	}
	v.l = l
	if v.index != nil && v.index.Rows() != l.blocks {
		v.index = nil
	}
	v.rep.Blocks, v.rep.ImageSize = l.blocks, l.Image.Size
	return nil
}

// checkMeta checks an entry of the front and adds it to the front's checksum.
func (v *verifier) checkMeta(e *zipEntry) error {
	payload, err := v.payload(e)
	if err != nil {
		return err
	}
	v.crc = crc32.Update(v.crc, crc32.IEEETable, e.appendLocal(nil))
	v.crc = crc32.Update(v.crc, crc32.IEEETable, payload)
	if e.name == planName {
		v.plan = Place{Off: e.end() - e.stored, Len: e.stored, CRC32: hex32(crcOf(payload))}
	}
	_, err = inflate(e, payload, metaLimit(v.size, 0))
	return v.damage(DamageMetadata, e.off, e.end()-e.off, err)
}

// walkBlind checks the entries of an archive whose plan is lost, as far as the
// local headers lead.
func (v *verifier) walkBlind() error {
	for v.off < v.size {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		e, err := v.at(v.off)
		if err != nil {
			// The directory comes next, or the headers lead no further.
			return nil
		}
		if e.method == methodStored {
			payload, err := v.payload(&e)
			if err != nil {
				return err
			}
			if got := crcOf(payload); got != e.crc {
				err := corruptf("%q: checksum %08x, expected %08x", e.name, got, e.crc)
				if err := v.damage(DamageBlock, e.off, e.end()-e.off, err); err != nil {
					return err
				}
			}
		}
		v.off = e.end()
	}
	return nil
}

// walkBlocks checks header and checksum of every block. It returns false if
// neither the headers nor the index lead to the end.
func (v *verifier) walkBlocks() (whole bool, err error) {
	var name []byte
	whole = true
	one := func(i int, b int64) bool {
		if err = v.ctx.Err(); err != nil {
			return false
		}
		name = v.l.appendName(name[:0], i, b)
		whole, err = v.walkBlock(i, b, string(name))
		if v.o.Progress != nil {
			v.o.Progress(v.off)
		}
		return whole && err == nil
	}
	if one(-1, 0) {
		v.l.storedOrder(one)
	}
	for b := int64(1); whole && err == nil && b < v.l.restBlocks; b++ {
		one(-1, b)
	}
	return whole, err
}

// walkBlock checks the entry of a block where the walk is and moves on.
func (v *verifier) walkBlock(i int, b int64, name string) (bool, error) {
	e, err := v.expect(v.off, name)
	n := v.l.number(i, b)
	if err != nil {
		if err := v.damage(DamageHeader, v.off, -1, newBlockError(v.l, v.header, i, b, v.off, err)); err != nil {
			return false, err
		}
	}
	if byIndex, ok := v.fromIndex(n, name); ok {
		if err == nil && byIndex != e {
			err := newBlockError(v.l, v.header, i, b, v.off, corruptf("local header and index disagree"))
			if err := v.damage(DamageHeader, v.off, e.localLen(), err); err != nil {
				return false, err
			}
		}
		// The index has a checksum of its own, the header has none.
		e, err = byIndex, nil
	}
	if err != nil {
		return false, nil
	}
	row := blockidx.Row{Off: e.end() - e.stored, Len: e.stored, Mask: e.mask, CRC: e.crc}
	if err := v.table.Set(n, row); err != nil {
		return false, err
	}
	if n == v.l.restFirst {
		v.first = placeOf(row)
	}
	v.stored += e.stored
	if int64(cap(v.buf)) < e.stored {
		v.buf = make([]byte, e.stored)
	}
	stored := v.buf[:e.stored]
	if err := ioat.ReadFull(v.r, stored, row.Off); err != nil {
		return false, fmt.Errorf("archive: %w", err)
	}
	if ioat.Gap(v.src) > 0 && crcOf(stored) != e.crc {
		if err := readAgain(v.ctx, v.r, stored, row.Off); err != nil {
			return false, fmt.Errorf("archive: %w", err)
		}
	}
	if got := crcOf(stored); got != e.crc {
		err := newBlockError(v.l, v.header, i, b, row.Off, corruptf("checksum %08x, expected %08x", got, e.crc))
		if err := v.damage(DamageBlock, row.Off, row.Len, err); err != nil {
			return false, err
		}
	} else if n == v.l.restFirst {
		// From here on damage can be named by variable.
		h, err := decodeHeader(v.l, placeOf(row), stored)
		if err == nil {
			err = v.l.checkHeader(h)
		}
		if err != nil {
			return true, v.damage(DamageBlock, row.Off, row.Len, err)
		}
		v.header = h
	}
	v.off = e.end()
	return true, nil
}

// fromIndex is the entry of a block as the index has it, if that fits the walk.
func (v *verifier) fromIndex(n int64, name string) (zipEntry, bool) {
	if v.index == nil {
		return zipEntry{}, false
	}
	row, err := v.index.Row(n)
	if err != nil {
		return zipEntry{}, false
	}
	e := zipEntry{name: name, crc: row.CRC, stored: row.Len, size: row.Len, mask: row.Mask, off: v.off}
	return e, e.end() == row.Off+row.Len && e.end() <= v.size
}
