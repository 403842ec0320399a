package cdf3

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"unsafe"

	"github.com/cdfz-format/cdfz/internal/recycled"
)

const (
	// The tags of the three lists. Part of the format.
	tagDims  = 0x0a
	tagVars  = 0x0b
	tagAttrs = 0x0c
)

// Read reads the header of a classic netCDF file of size bytes.
//
// The error wraps ErrNotCDF if the file is of another kind. It is a *FormatError if the
// header is damaged, does not lie inside the file, or is longer than MaxHeaderLen.
// Errors of r are wrapped, and so is io.ErrUnexpectedEOF if r ends before size.
//
// Read reads little more than the header, in pieces of 64 KiB or more, and keeps no
// reference to r. It allocates at most 64 MiB plus eight times the length of the
// header, whatever the counts in it claim.
func Read(r io.ReaderAt, size int64) (*Header, error) {
	var start [8]byte
	b := start[:max(0, min(size, int64(len(start))))]
	if err := readFull(r, b, 0); err != nil {
		return nil, err
	}
	if !isCDF(b) {
		return nil, notCDF(r, size, b)
	}
	win := recycled.Get(min(size, minWindow)) // headers copy what they keep
	defer recycled.Put(win)
	p := &parser{r: r, have: size, size: size, h: &Header{Version: Version(b[3])}, off: magicLen, win: win[:0]}
	if err := p.header(); err != nil {
		return nil, err
	}
	return p.h, nil
}

// ReadBytes is like Read for a file of size bytes that begins with b, in which the whole header
// must lie. It fails once ctx is done. The header does not share the memory of b.
func ReadBytes(ctx context.Context, b []byte, size int64) (*Header, error) {
	b = b[:min(int64(len(b)), max(0, size))]
	if !isCDF(b) {
		return nil, notCDF(bytes.NewReader(b), int64(len(b)), b[:min(len(b), 8)])
	}
	p := &parser{ctx: ctx, mem: b, have: int64(len(b)), size: size, h: &Header{Version: Version(b[3])}, off: magicLen}
	if err := p.header(); err != nil {
		return nil, err
	}
	return p.h, nil
}

// isCDF reports whether a file that begins with b has the magic number of a version.
func isCDF(b []byte) bool {
	return len(b) >= magicLen && string(b[:3]) == "CDF" && Version(b[3]).valid()
}

func (p *parser) header() error {
	h := p.h
	var err error
	p.in("number of records", -1)
	if h.NumRecsField, err = p.count(); err != nil {
		return err
	}
	if err := p.dims(); err != nil {
		return err
	}
	if h.Attrs, err = p.attrs("global attribute list", "global attribute"); err != nil {
		return err
	}
	if err := p.vars(); err != nil {
		return err
	}
	h.Len = p.off
	h.Streaming = h.NumRecsField == h.Version.streaming()
	if h.Streaming {
		h.NumRecs = h.wholeRecords(p.size)
	}
	if msg := h.setNumRecs(); msg != "" {
		p.in("number of records", -1)
		return p.fail(magicLen, "%s", msg)
	}
	return nil
}

func (p *parser) dims() error {
	// In the grammar, lengths in CDF-2 have 31 bits too, but the C library writes and
	// reads up to 2^32-4 there.
	most := uint64(math.MaxInt64)
	if p.h.Version == Classic {
		most = math.MaxInt32
	}
	p.in("dimension list", -1)
	minLen := 2 * p.h.Version.countLen()
	n, err := p.list(tagDims, minLen)
	for i := int64(0); err == nil && i < n; i++ {
		p.reserved -= minLen
		p.h.Dims = append(roomFor(p.h.Dims, n), Dim{})
		d := &p.h.Dims[i]
		p.in("dimension", i)
		if d.Name, err = p.name(); err != nil {
			return err
		}
		at := p.off
		var u uint64
		if u, err = p.count(); err != nil {
			return err
		}
		if u > most {
			return p.fail(at, "length %d, expected at most %d", u, most)
		}
		d.Len = int64(u)
	}
	return err
}

// attrs reads an attribute list. In errors, list names the list and item names its
// elements.
func (p *parser) attrs(list, item string) ([]Attr, error) {
	p.in(list, -1)
	minLen := 4 + 2*p.h.Version.countLen()
	n, err := p.list(tagAttrs, minLen)
	if err != nil {
		return nil, err
	}
	attrs := p.attrList(n)
	for i := int64(0); i < n; i++ {
		p.reserved -= minLen
		attrs = append(roomFor(attrs, n), Attr{})
		a := &attrs[i]
		p.in(item, i)
		if a.Name, err = p.name(); err != nil {
			return nil, err
		}
		if a.Type, err = p.typ(); err != nil {
			return nil, err
		}
		at := p.off
		u, err := p.count()
		if err != nil {
			return nil, err
		}
		if u > uint64(p.rest()/a.Type.Size()) {
			return nil, p.tooMany(at, u, "elements")
		}
		a.Len = int64(u)
		if a.Values, err = p.padded(a.Len * a.Type.Size()); err != nil {
			return nil, err
		}
	}
	return attrs, nil
}

func (p *parser) vars() error {
	p.in("variable list", -1)
	// Name, ndims, attribute list, type, vsize, begin.
	c := p.h.Version.countLen()
	minLen := c + c + (4 + c) + 4 + c + p.h.Version.beginLen()
	n, err := p.list(tagVars, minLen)
	var recs recordSum
	for i := int64(0); err == nil && i < n; i++ {
		p.reserved -= minLen
		p.h.Vars = append(roomFor(p.h.Vars, n), Var{})
		err = p.variable(&p.h.Vars[i], &recs, i)
	}
	p.h.RecSize = recs.size()
	return err
}

func (p *parser) variable(v *Var, recs *recordSum, i int64) (err error) {
	p.in("variable", i)
	c := p.h.Version.countLen()
	after := 4 + c + p.h.Version.beginLen() // the fields after the attributes
	p.reserved += after
	if v.Name, err = p.name(); err != nil {
		return err
	}
	if err = p.dimIDs(v); err != nil {
		return err
	}
	p.owner = p.item
	if v.Attrs, err = p.attrs("attribute list", "attribute"); err != nil {
		return err
	}
	p.item = p.owner
	p.owner = part{}
	p.reserved -= after
	at := p.off
	if v.Type, err = p.typ(); err != nil {
		return err
	}
	if msg := p.h.setShape(v, next(&p.shapes, len(v.DimIDs))); msg != "" {
		return p.fail(at, "%s", msg)
	}
	if v.VSize, err = p.count(); err != nil {
		return err
	}
	at = p.off
	if v.Begin, err = p.begin(); err != nil {
		return err
	}
	if v.Begin > math.MaxInt64-v.RecLen {
		return p.fail(at, "begin %d and length %d overflow", v.Begin, v.RecLen)
	}
	if !recs.add(v) {
		return p.fail(at, "the size of a record overflows")
	}
	return nil
}

func (p *parser) dimIDs(v *Var) error {
	at := p.off
	n, err := p.count()
	if err != nil {
		return err
	}
	if n > uint64(p.rest()/p.h.Version.countLen()) {
		return p.tooMany(at, n, "dimensions")
	}
	v.DimIDs = next(&p.ids, int(min(n, claimed)))[:0]
	for j := uint64(0); j < n; j++ {
		at := p.off
		id, err := p.count()
		if err != nil {
			return err
		}
		if id >= uint64(len(p.h.Dims)) {
			return p.fail(at, "dimension number %d, expected less than %d", id, len(p.h.Dims))
		}
		if j > 0 && p.h.Dims[id].Len == 0 {
			return p.fail(at, "unlimited dimension %d is dimension %d of the variable, expected the first",
				id, j)
		}
		v.DimIDs = append(roomFor(v.DimIDs, int64(n)), int(id))
	}
	return nil
}

// list reads the tag and the count of a list whose elements take at least minLen bytes,
// and reserves that many bytes for each. The loops over elements release them.
func (p *parser) list(tag uint32, minLen int64) (int64, error) {
	at := p.off
	b, err := p.fixed(4)
	if err != nil {
		return 0, err
	}
	got := binary.BigEndian.Uint32(b)
	if got != tag && got != 0 {
		return 0, p.fail(at, "tag %#x, expected %#x or 0", got, tag)
	}
	at = p.off
	n, err := p.count()
	if err != nil {
		return 0, err
	}
	// ABSENT is a tag of 0 with a count of 0.
	if got == 0 && n != 0 {
		return 0, p.fail(at, "tag 0 and %d elements, expected none or tag %#x", n, tag)
	}
	if n > p.fit(minLen) {
		return 0, p.tooMany(at, n, "elements")
	}
	p.reserved += int64(n) * minLen
	return int64(n), nil
}

func (p *parser) name() (string, error) {
	at := p.off
	n, err := p.count()
	if err != nil {
		return "", err
	}
	if n > uint64(p.rest()) {
		return "", p.tooMany(at, n, "bytes of name")
	}
	b, err := p.padded(int64(n))
	// The conversion is safe: the bytes belong to the name alone and never change.
	p.item.name = unsafe.String(unsafe.SliceData(b), len(b))
	p.item.named = err == nil
	return p.item.name, err
}
