package cdf3

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

const (
	// The tags of the three lists. Part of the format.
	tagDims  = 0x0a
	tagVars  = 0x0b
	tagAttrs = 0x0c

	// maxHeaderLen keeps a hostile file from filling the memory: what is
	// parsed takes a small multiple of it. The largest headers met are a few
	// megabytes long.
	maxHeaderLen = 1 << 30

	// The window starts at a size that holds most headers whole, so that
	// they are read at once, and doubles up to a size that makes the number
	// of reads irrelevant.
	minWindow = 64 << 10
	maxWindow = 1 << 20
)

// Read reads the header of a classic netCDF file of size bytes.
//
// The error wraps ErrNotCDF if the file is of another kind, and is a
// *FormatError if the header is damaged or does not lie inside the file. An
// error of r is wrapped as it is; so is io.ErrUnexpectedEOF if r ends before
// size.
//
// Read reads little more than the header, in pieces of 64 KiB or more, and
// keeps no reference to r. It allocates in proportion to the length of the
// header, about ten times at worst.
func Read(r io.ReaderAt, size int64) (*Header, error) {
	var start [8]byte
	b := start[:max(0, min(size, int64(len(start))))]
	if err := readFull(r, b, 0); err != nil {
		return nil, err
	}
	if len(b) < magicLen || string(b[:3]) != "CDF" || !Version(b[3]).Valid() {
		return nil, notCDF(r, size, b)
	}
	h := &Header{Version: Version(b[3])}
	p := &parser{r: r, size: size, h: h, wide: h.Version == Data64, off: magicLen}
	if err := p.header(); err != nil {
		return nil, err
	}
	return h, nil
}

// parser reads a header from front to back.
type parser struct {
	r    io.ReaderAt
	size int64
	h    *Header
	wide bool  // counts have 8 bytes, not 4
	off  int64 // of the next byte
	win  []byte
	next int // size of the next window

	buf []byte // win[off-winOff:], the bytes read but not used
}

func (p *parser) header() error {
	h := p.h
	var err error
	if h.NumRecsField, err = p.count("number of records"); err != nil {
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
		return &FormatError{Off: magicLen, What: "number of records", Msg: msg}
	}
	return nil
}

func (p *parser) dims() error {
	const what = "dimension list"
	n, err := p.list(what, tagDims, 2*p.h.Version.countLen())
	for i := int64(0); err == nil && i < n; i++ {
		var d Dim
		what := fmt.Sprintf("dimension %d", i)
		if d.Name, err = p.name(what); err != nil {
			return err
		}
		at := p.off
		var u uint64
		if u, err = p.count(what); err != nil {
			return err
		}
		// The grammar gives CDF-2 lengths 31 bits; the C library writes and
		// reads 32 there.
		if u > math.MaxInt64 || p.h.Version == Classic && u > math.MaxInt32 {
			return p.fail(at, what+" "+quote(d.Name), "length %d, expected at most %d", u, p.maxDimLen())
		}
		d.Len = int64(u)
		p.h.Dims = append(p.h.Dims, d)
	}
	return err
}

func (p *parser) maxDimLen() int64 {
	if p.h.Version == Classic {
		return math.MaxInt32
	}
	return math.MaxInt64
}

// attrs reads an attribute list. What names the list and item its elements,
// in errors.
func (p *parser) attrs(what, item string) ([]Attr, error) {
	n, err := p.list(what, tagAttrs, 4+2*p.h.Version.countLen())
	if err != nil {
		return nil, err
	}
	var attrs []Attr
	for i := int64(0); i < n; i++ {
		var a Attr
		what := fmt.Sprintf("%s %d", item, i)
		if a.Name, err = p.name(what); err != nil {
			return nil, err
		}
		what += " " + quote(a.Name)
		if a.Type, err = p.typ(what); err != nil {
			return nil, err
		}
		at := p.off
		u, err := p.count(what)
		if err != nil {
			return nil, err
		}
		if u > uint64(p.rest()/a.Type.Size()) {
			return nil, p.tooMany(at, what, u, "elements")
		}
		a.Len = int64(u)
		if a.Values, err = p.padded(what, a.Len*a.Type.Size()); err != nil {
			return nil, err
		}
		attrs = append(attrs, a)
	}
	return attrs, nil
}

func (p *parser) vars() error {
	const what = "variable list"
	// Name, ndims, attribute list, type, vsize, begin.
	c := p.h.Version.countLen()
	n, err := p.list(what, tagVars, c+c+(4+c)+4+c+p.h.Version.beginLen())
	var recs recordSum
	for i := int64(0); err == nil && i < n; i++ {
		var v Var
		if err = p.variable(&v, &recs, i); err == nil {
			p.h.Vars = append(p.h.Vars, v)
		}
	}
	p.h.RecSize = recs.size()
	return err
}

func (p *parser) variable(v *Var, recs *recordSum, i int64) (err error) {
	what := fmt.Sprintf("variable %d", i)
	if v.Name, err = p.name(what); err != nil {
		return err
	}
	what += " " + quote(v.Name)
	if err = p.dimIDs(what, v); err != nil {
		return err
	}
	if v.Attrs, err = p.attrs("attribute list of "+what, what+": attribute"); err != nil {
		return err
	}
	at := p.off
	if v.Type, err = p.typ(what); err != nil {
		return err
	}
	if msg := p.h.setShape(v); msg != "" {
		return &FormatError{Off: at, What: what, Msg: msg}
	}
	if v.VSize, err = p.count(what); err != nil {
		return err
	}
	at = p.off
	if v.Begin, err = p.begin(what); err != nil {
		return err
	}
	if v.Begin > math.MaxInt64-v.RecLen {
		return p.fail(at, what, "begin %d and length %d overflow", v.Begin, v.RecLen)
	}
	if !recs.add(v) {
		return p.fail(at, what, "the size of a record overflows")
	}
	return nil
}

func (p *parser) dimIDs(what string, v *Var) error {
	at := p.off
	n, err := p.count(what)
	if err != nil {
		return err
	}
	if n > uint64(p.rest()/p.h.Version.countLen()) {
		return p.tooMany(at, what, n, "dimensions")
	}
	v.DimIDs = make([]int, 0, min(n, 1<<10))
	for j := uint64(0); j < n; j++ {
		at := p.off
		id, err := p.count(what)
		if err != nil {
			return err
		}
		if id >= uint64(len(p.h.Dims)) {
			return p.fail(at, what, "dimension number %d, expected less than %d", id, len(p.h.Dims))
		}
		if j > 0 && p.h.Dims[id].Len == 0 {
			return p.fail(at, what, "unlimited dimension %d is dimension %d of the variable, expected the first",
				id, j)
		}
		v.DimIDs = append(v.DimIDs, int(id))
	}
	return nil
}

// list reads the tag and the count of a list whose elements have minLen bytes
// or more.
func (p *parser) list(what string, tag uint32, minLen int64) (int64, error) {
	at := p.off
	b, err := p.fixed(what, 4)
	if err != nil {
		return 0, err
	}
	got := binary.BigEndian.Uint32(b)
	if got != tag && got != 0 {
		return 0, p.fail(at, what, "tag %#x, expected %#x or 0", got, tag)
	}
	at = p.off
	n, err := p.count(what)
	if err != nil {
		return 0, err
	}
	// ABSENT is a tag of 0 with a count of 0.
	if got == 0 && n != 0 {
		return 0, p.fail(at, what, "tag 0 and %d elements, expected none or tag %#x", n, tag)
	}
	if n > uint64(p.rest()/minLen) {
		return 0, p.tooMany(at, what, n, "elements")
	}
	return int64(n), nil
}

func (p *parser) name(what string) (string, error) {
	at := p.off
	n, err := p.count(what)
	if err != nil {
		return "", err
	}
	if n > uint64(p.rest()) {
		return "", p.tooMany(at, what, n, "bytes of name")
	}
	b, err := p.padded(what, int64(n))
	return string(b), err
}

func (p *parser) typ(what string) (Type, error) {
	at := p.off
	b, err := p.fixed(what, 4)
	if err != nil {
		return 0, err
	}
	t := Type(binary.BigEndian.Uint32(b))
	if !t.Valid() {
		return 0, p.fail(at, what, "type code %d, expected 1 to 11", uint32(t))
	}
	return t, nil
}

// begin reads an OFFSET, signed in the grammar and never negative.
func (p *parser) begin(what string) (int64, error) {
	at := p.off
	b, err := p.fixed(what, int(p.h.Version.beginLen()))
	if err != nil {
		return 0, err
	}
	var v int64
	if len(b) == 4 {
		v = int64(int32(binary.BigEndian.Uint32(b)))
	} else {
		v = int64(binary.BigEndian.Uint64(b))
	}
	if v < 0 {
		return 0, p.fail(at, what, "begin %d, expected none below 0", v)
	}
	return v, nil
}

// count reads a number of the width of NON_NEG, without judging it.
func (p *parser) count(what string) (uint64, error) {
	b, err := p.fixed(what, int(p.h.Version.countLen()))
	if err != nil {
		return 0, err
	}
	if len(b) == 4 {
		return uint64(binary.BigEndian.Uint32(b)), nil
	}
	return binary.BigEndian.Uint64(b), nil
}

// padded reads n bytes, n <= rest(), and skips the padding to 4 after them.
// The result is a copy.
func (p *parser) padded(what string, n int64) ([]byte, error) {
	pad := -n & 3
	if n+pad > p.rest() {
		return nil, p.short(what, n+pad)
	}
	// By windows: memory is not taken before the bytes are there.
	var out []byte
	for n > 0 {
		if len(p.buf) == 0 {
			if err := p.fill(1); err != nil {
				return nil, err
			}
		}
		k := min(n, int64(len(p.buf)))
		out = append(out, p.buf[:k]...)
		p.skip(k)
		n -= k
	}
	_, err := p.fixed(what, int(pad))
	return out, err
}

// fixed returns the next n bytes, n <= 8. They are valid until the next call.
func (p *parser) fixed(what string, n int) ([]byte, error) {
	if int64(n) > p.rest() {
		return nil, p.short(what, int64(n))
	}
	if len(p.buf) < n {
		if err := p.fill(n); err != nil {
			return nil, err
		}
	}
	b := p.buf[:n]
	p.skip(int64(n))
	return b, nil
}

func (p *parser) skip(n int64) {
	p.buf = p.buf[n:]
	p.off += n
}

// fill reads the next window, so that buf holds n bytes or more of rest().
func (p *parser) fill(n int) error {
	p.next = min(max(2*p.next, minWindow), maxWindow)
	want := int(min(int64(max(p.next, n)), p.rest()))
	if cap(p.win) < want {
		p.win = make([]byte, want)
	}
	p.win = p.win[:want]
	k := copy(p.win, p.buf)
	if err := readFull(p.r, p.win[k:], p.off+int64(k)); err != nil {
		return err
	}
	p.buf = p.win
	return nil
}

// rest is the number of bytes that the rest of the header may have.
func (p *parser) rest() int64 { return min(p.size, maxHeaderLen) - p.off }

func (p *parser) fail(at int64, what, format string, args ...any) error {
	return &FormatError{Off: at, What: what, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) tooMany(at int64, what string, n uint64, of string) error {
	return p.fail(at, what, "%d %s do not fit in the %s", n, of, p.bounds())
}

func (p *parser) short(what string, n int64) error {
	return p.fail(p.off, what, "truncated header: %d bytes expected, found the end of the %s", n, p.bounds())
}

func (p *parser) bounds() string {
	if p.size > maxHeaderLen {
		return fmt.Sprintf("%d bytes that a header may have", maxHeaderLen)
	}
	return fmt.Sprintf("file of %d bytes", p.size)
}
