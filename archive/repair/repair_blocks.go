package repair

import (
	"errors"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
)

// Decisions of a repairer about the rows of the index.

// walkBlocks decides about every block from archive offset off on. It returns the end
// of the last one.
func (x *repairer) walkBlocks(off int64) (int64, error) {
	l := x.L
	var name []byte
	var err error
	one := func(v int, b int64) bool {
		if err = x.Ctx.Err(); err != nil {
			return false
		}
		name = l.AppendName(name[:0], v, b)
		var e czip.ZipEntry
		if e, err = x.block(v, b, string(name), off); err != nil {
			return false
		}
		off = e.End()
		if err = x.p.t.Table.Set(l.Number(v, b), blockidx.Row{Off: off - e.Stored, Len: e.Stored, Mask: e.Mask, CRC: e.Crc}); err != nil {
			return false
		}
		if x.o.Progress != nil {
			x.o.Progress(off)
		}
		return true
	}
	if one(-1, 0) {
		l.StoredOrder(one)
	}
	for b := int64(1); err == nil && b < l.RestBlocks; b++ {
		one(-1, b)
	}
	return off, err
}

// block compares the copies of the row of a block whose local header is expected at
// off.
func (x *repairer) block(v int, b int64, name string, off int64) (czip.ZipEntry, error) {
	fail := func(err error) (czip.ZipEntry, error) {
		return czip.ZipEntry{}, plan.NewBlockError(x.L, x.p.header, v, b, off, err)
	}
	var copies []czip.ZipEntry
	byIndex, indexed, err := x.fromIndex(x.L.Number(v, b), name)
	if err != nil {
		return czip.ZipEntry{}, err
	}
	if indexed {
		copies = append(copies, byIndex)
	}
	local, lerr := x.Expect(off, name)
	if lerr == nil {
		copies = append(copies, local)
	} else if !errors.Is(lerr, fault.ErrCorrupt) {
		return czip.ZipEntry{}, lerr
	}
	if e, ok := x.Dir.Next(name, off); ok && e.Name == name {
		copies = append(copies, e)
	}
	_, decoded := x.L.BlockInfo(v, b)
	inPlace := copies[:0:0]
	for _, e := range copies {
		if e.Off == off && e.Method == czip.MethodStored && e.Stored == e.Size && e.End() <= x.Size && e.Stored <= opening.MaxStored(decoded) {
			inPlace = append(inPlace, e)
		}
	}
	if len(inPlace) == 0 && lerr == nil {
		lerr = fault.Corruptf("%d bytes stored for a block of %d", local.Stored, decoded)
	}
	if len(inPlace) == 0 {
		return fail(lerr)
	}
	e, ok, err := x.choose(v, b, inPlace, decoded, indexed && inPlace[0] == byIndex)
	if err != nil {
		return czip.ZipEntry{}, err
	}
	switch {
	case !ok && indexed && byIndex.Off != off:
		// The index has another place for the block, and nothing refutes it.
		return fail(fault.Corruptf("index and local header have different places"))
	case !ok:
		err := plan.NewBlockError(x.L, x.p.header, v, b, e.End()-e.Stored, fault.Corruptf("its %d stored bytes do not have checksum %08x", e.Stored, e.Crc))
		x.damage(verify.DamageBlock, e.End()-e.Stored, e.Stored, err)
		x.lost[x.L.Number(v, b)] = e.Off
	}
	if lerr != nil || e != local {
		x.p.Headers++
	}
	return e, nil
}

// choose returns the copy of a row that the block's bytes confirm. ok is false if they
// confirm none. sealed is set if the first copy is that of the index, whose pages have checksums of
// their own.
func (x *repairer) choose(v int, b int64, copies []czip.ZipEntry, decoded int64, sealed bool) (e czip.ZipEntry, ok bool, err error) {
	agree := true
	for _, c := range copies {
		agree = agree && c == copies[0]
	}
	if x.o.Quick && agree {
		x.p.Unsure = true
		return copies[0], true, nil
	}
	var fit []czip.ZipEntry
	for i, c := range copies {
		crc, err := x.Checksum(x.Ctx, c.End()-c.Stored, c.Stored)
		if err != nil {
			return c, false, err
		}
		if crc != c.Crc {
			if agree {
				return c, false, nil
			}
			continue
		}
		if sealed && i == 0 || agree && (len(copies) > 1 || c.Mask == 0) {
			return c, true, nil
		}
		fit = append(fit, c)
	}
	if len(fit) == 0 {
		return copies[0], false, nil
	}
	// The checksum does not cover the mask. A copy that decodes wins, however many others
	// agree, and two equal copies beat one.
	const decoding = 10 // votes, more than there are copies
	best, votes := fit[0], 0
	for _, c := range fit {
		n := 0
		for _, d := range fit {
			if d == c {
				n++
			}
		}
		decodes, err := x.decodes(v, b, &c, decoded)
		if err != nil {
			return c, false, err
		}
		if decodes {
			n += decoding
		}
		if n > votes {
			best, votes = c, n
		}
	}
	x.p.Unsure = x.p.Unsure || votes < decoding+2
	return best, votes > decoding, nil
}

// decodes reports whether a block decodes to its length with the mask of a row.
func (x *repairer) decodes(v int, b int64, e *czip.ZipEntry, decoded int64) (bool, error) {
	chain, _ := x.L.BlockInfo(v, b)
	c := x.L.Filters[chain]
	if len(c) < 32 && e.Mask>>len(c) != 0 || decoded > image.DefaultMemory || e.Stored > image.DefaultMemory {
		return false, nil
	}
	coder, err := filters.NewDecoder(c)
	if err != nil {
		return false, nil
	}
	stored, err := x.Payload(e)
	if err != nil {
		return false, err
	}
	return coder.Decode(make([]byte, decoded), stored, e.Mask) == nil, nil
}

// fromIndex returns the entry of a block according to the index, unless its page is
// damaged.
func (x *repairer) fromIndex(n int64, name string) (czip.ZipEntry, bool, error) {
	if x.Index == nil || n >= x.Index.Rows() {
		return czip.ZipEntry{}, false, nil
	}
	row, err := x.Index.Row(n)
	if errors.Is(err, blockidx.ErrCorrupt) {
		return czip.ZipEntry{}, false, nil
	}
	e := czip.ZipEntry{Name: name, Crc: row.CRC, Stored: row.Len, Size: row.Len, Mask: row.Mask}
	e.Off = row.Off - e.LocalLen()
	return e, true, err
}

// confirm reports whether the index has the same length and checksum of a block, or does not
// have them, and sets the mask to that of the index. Another archive that was written over a part
// of this one may have blocks of the same names.
func (x *repairer) confirm(n int64, row *blockidx.Row) bool {
	if x.Index == nil || n >= x.Index.Rows() {
		return true
	}
	want, err := x.Index.Row(n)
	if err != nil {
		return true
	}
	row.Mask = want.Mask
	return row.CRC == want.CRC && row.Len == want.Len
}
