package archive

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// How a repairer decides about the rows of the index.

// walkBlocks decides about every block from archive offset off on. It returns
// where the last one ends.
func (x *repairer) walkBlocks(off int64) (int64, error) {
	l := x.l
	var name []byte
	var err error
	one := func(v int, b int64) bool {
		if err = x.ctx.Err(); err != nil {
			return false
		}
		name = l.appendName(name[:0], v, b)
		var e zipEntry
		if e, err = x.block(v, b, string(name), off); err != nil {
			return false
		}
		off = e.end()
		if err = x.p.t.table.Set(l.number(v, b), blockidx.Row{Off: off - e.stored, Len: e.stored, Mask: e.mask, CRC: e.crc}); err != nil {
			return false
		}
		if x.o.Progress != nil {
			x.o.Progress(off)
		}
		return true
	}
	if one(-1, 0) {
		l.storedOrder(one)
	}
	for b := int64(1); err == nil && b < l.restBlocks; b++ {
		one(-1, b)
	}
	return off, err
}

// block weighs the copies of the row of a block whose local header is expected at
// off.
func (x *repairer) block(v int, b int64, name string, off int64) (zipEntry, error) {
	fail := func(err error) (zipEntry, error) {
		return zipEntry{}, newBlockError(x.l, x.p.header, v, b, off, err)
	}
	var copies []zipEntry
	byIndex, indexed, err := x.fromIndex(x.l.number(v, b), name)
	if err != nil {
		return zipEntry{}, err
	}
	if indexed {
		copies = append(copies, byIndex)
	}
	local, lerr := x.expect(off, name)
	if lerr == nil {
		copies = append(copies, local)
	} else if !errors.Is(lerr, ErrCorrupt) {
		return zipEntry{}, lerr
	}
	if e, ok := x.dir.next(name, off); ok && e.name == name {
		copies = append(copies, e)
	}
	_, decoded := x.l.blockInfo(v, b)
	inPlace := copies[:0:0]
	for _, e := range copies {
		if e.off == off && e.method == methodStored && e.stored == e.size && e.end() <= x.size && e.stored <= maxStored(decoded) {
			inPlace = append(inPlace, e)
		}
	}
	if len(inPlace) == 0 && lerr == nil {
		lerr = corruptf("%d bytes stored for a block of %d", local.stored, decoded)
	}
	if len(inPlace) == 0 {
		return fail(lerr)
	}
	e, ok, err := x.choose(v, inPlace, decoded, indexed && inPlace[0] == byIndex)
	if err != nil {
		return zipEntry{}, err
	}
	switch {
	case !ok && indexed && byIndex.off != off:
		// The index says that the block is elsewhere, and nothing refutes it.
		return fail(corruptf("index and local header place it differently"))
	case !ok:
		err := newBlockError(x.l, x.p.header, v, b, e.end()-e.stored, corruptf("its %d stored bytes have another checksum than %08x", e.stored, e.crc))
		x.damage(DamageBlock, e.end()-e.stored, e.stored, err)
	}
	if lerr != nil || e != local {
		x.p.Headers++
	}
	return e, nil
}

// choose returns the copy of a row that the block's bytes confirm; ok is false if
// they confirm none. sealed says whether the first copy has a checksum of its own.
func (x *repairer) choose(v int, copies []zipEntry, decoded int64, sealed bool) (e zipEntry, ok bool, err error) {
	agree := true
	for _, c := range copies {
		agree = agree && c == copies[0]
	}
	if x.o.Quick && agree {
		x.p.Unsure = true
		return copies[0], true, nil
	}
	var fit []zipEntry
	for i, c := range copies {
		crc, err := x.checksum(c.end()-c.stored, c.stored)
		if err != nil {
			return c, false, err
		}
		if crc != c.crc {
			if agree {
				return c, false, nil
			}
			continue
		}
		if sealed && i == 0 || agree && (len(copies) > 1 || c.mask == 0) {
			return c, true, nil
		}
		fit = append(fit, c)
	}
	if len(fit) == 0 {
		return copies[0], false, nil
	}
	// The checksum does not cover the mask: what decodes counts, and two copies
	// more than one.
	best, votes := fit[0], 0
	for _, c := range fit {
		n := 0
		for _, d := range fit {
			if d == c {
				n++
			}
		}
		decodes, err := x.decodes(v, &c, decoded)
		if err != nil {
			return c, false, err
		}
		if decodes {
			n += 10
		}
		if n > votes {
			best, votes = c, n
		}
	}
	x.p.Unsure = x.p.Unsure || votes < 12
	return best, votes > 10, nil
}

// decodes says whether a block decodes to its length with the mask of a row.
func (x *repairer) decodes(v int, e *zipEntry, decoded int64) (bool, error) {
	chain := x.l.Rest.Chain
	if v >= 0 {
		chain = x.l.Vars[v].Chain
	}
	c := x.l.filters[chain]
	if len(c) < 32 && e.mask>>len(c) != 0 || decoded > defaultMemory || e.stored > defaultMemory {
		return false, nil
	}
	coder, err := filters.NewCoder(c)
	if err != nil {
		return false, nil
	}
	stored, err := x.payload(e)
	if err != nil {
		return false, err
	}
	return coder.Decode(make([]byte, decoded), stored, e.mask) == nil, nil
}

// checksum is the CRC-32 of archive bytes.
func (x *repairer) checksum(off, n int64) (uint32, error) {
	if x.buf == nil {
		x.buf = make([]byte, 1<<20)
	}
	crc := uint32(0)
	for end := off + n; off < end; off += int64(len(x.buf)) {
		b := x.buf[:min(int64(len(x.buf)), end-off)]
		if err := ioat.ReadFull(x.r, b, off); err != nil {
			return 0, fmt.Errorf("archive: %w", err)
		}
		if err := x.ctx.Err(); err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
	}
	return crc, nil
}

// fromIndex is the entry of a block as the index has it, unless its page is damaged.
func (x *repairer) fromIndex(n int64, name string) (zipEntry, bool, error) {
	if x.idx == nil || n >= x.idx.Rows() {
		return zipEntry{}, false, nil
	}
	row, err := x.idx.Row(n)
	if errors.Is(err, blockidx.ErrCorrupt) {
		return zipEntry{}, false, nil
	}
	e := zipEntry{name: name, crc: row.CRC, stored: row.Len, size: row.Len, mask: row.Mask}
	e.off = row.Off - e.localLen()
	return e, true, err
}
