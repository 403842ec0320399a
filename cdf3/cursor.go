package cdf3

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"unsafe"
)

const (
	// The first window holds most headers whole, so that they are read at once. Later
	// windows double in size until the number of reads no longer matters.
	minWindow = 64 << 10
	maxWindow = 1 << 20
)

// parser reads a header from front to back.
type parser struct {
	r    io.ReaderAt
	mem  []byte          // what r would read, if r is nil,
	ctx  context.Context // until ctx is done
	have int64           // bytes that r or mem has
	size int64           // size of the file in bytes
	h    *Header
	off  int64  // of the next byte
	win  []byte // a part of the file,
	pos  int    // and the place of the next byte in it
	next int    // size of the next window

	// reserved is the least number of bytes that the remaining elements of lists need.
	reserved int64

	ids      []int   // memory for the next dimension numbers,
	shapes   []int64 // for the next shapes,
	attrRoom []Attr  // and for the next short attribute lists
	attrsLen int     // of all pieces of attrRoom

	kept    []byte // names and values
	keptLen int    // capacity of the full buffers before kept

	// The part being read, for errors: item, and the variable that owns it.
	owner, item part
}

// part is a part of a header.
type part struct {
	kind  string
	index int64 // -1 for none
	name  string
	named bool
}

func (t part) String() string {
	s := t.kind
	if t.index >= 0 {
		s += " " + strconv.FormatInt(t.index, 10)
	}
	if t.named {
		s += " " + quote(t.name)
	}
	return s
}

func (p *parser) in(kind string, index int64) { p.item = part{kind: kind, index: index} }

func (p *parser) where() string {
	if p.owner.kind != "" {
		return p.owner.String() + ", " + p.item.String()
	}
	return p.item.String()
}

func (p *parser) typ() (Type, error) {
	at := p.off
	b, err := p.fixed(4)
	if err != nil {
		return 0, err
	}
	t := Type(binary.BigEndian.Uint32(b))
	if !t.Valid() {
		return 0, p.fail(at, "type code %d, expected 1 to 11", uint32(t))
	}
	return t, nil
}

// begin reads an OFFSET, which is signed in the grammar but must not be negative.
func (p *parser) begin() (int64, error) {
	at := p.off
	b, err := p.fixed(int(p.h.Version.beginLen()))
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
		return 0, p.fail(at, "begin %d, expected 0 or more", v)
	}
	return v, nil
}

// count reads a number of the width of NON_NEG. Callers check its range.
func (p *parser) count() (uint64, error) {
	b, err := p.fixed(int(p.h.Version.countLen()))
	if err != nil {
		return 0, err
	}
	if len(b) == 4 {
		return uint64(binary.BigEndian.Uint32(b)), nil
	}
	return binary.BigEndian.Uint64(b), nil
}

// padded reads n bytes, n <= rest(), and skips the padding to a multiple of 4. The
// result is a copy.
func (p *parser) padded(n int64) ([]byte, error) {
	pad := -n & 3
	if n+pad > p.rest() {
		return nil, p.short(n + pad)
	}
	if n <= maxKept {
		b, err := p.fixed(int(n + pad))
		if err != nil {
			return nil, err
		}
		return p.keep(b[:n]), nil
	}
	// Read window by window, so that no memory is allocated for bytes that have not
	// arrived.
	var out []byte
	for int64(len(out)) < n {
		if p.pos == len(p.win) {
			if err := p.fill(1); err != nil {
				return nil, err
			}
		}
		out = roomFor(out, n)
		k := min(n-int64(len(out)), int64(len(p.win)-p.pos), int64(cap(out)-len(out)))
		out = append(out, p.win[p.pos:][:k]...)
		p.skip(k)
	}
	_, err := p.fixed(int(pad))
	return out, err
}

// maxKept is the longest name or value that shares its memory with others.
const maxKept = 16 << 10

// keep copies b. Names and values share buffers: separate copies would take several
// times their size.
func (p *parser) keep(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	if cap(p.kept)-len(p.kept) < len(b) {
		p.keptLen += cap(p.kept)
		p.kept = make([]byte, 0, max(len(b), min(p.keptLen, 4*maxKept), 256))
	}
	start := len(p.kept)
	p.kept = append(p.kept, b...)
	return p.kept[start:len(p.kept):len(p.kept)]
}

// claimed bounds the memory for dimension numbers of a variable before they are read.
const claimed = 1024

// next returns memory for n values from a piece for many variables. It is never nil: a
// scalar has an empty shape, which JSON writes as [] and not as null.
func next[T any](piece *[]T, n int) []T {
	if n > len(*piece) || *piece == nil {
		*piece = make([]T, max(n, 256))
	}
	s := (*piece)[:n:n]
	*piece = (*piece)[n:]
	return s
}

// Attribute lists of up to shortList elements share pieces of up to attrPiece elements: one for
// each variable would take as many allocations.
const (
	shortList = 64
	attrPiece = 1024
)

// attrList returns an empty attribute list with room for n elements, if that is few.
func (p *parser) attrList(n int64) []Attr {
	if n == 0 || n > shortList {
		return nil
	}
	if int(n) > len(p.attrRoom) {
		p.attrRoom = make([]Attr, max(int(n), min(p.attrsLen, attrPiece)))
		p.attrsLen += len(p.attrRoom)
	}
	s := p.attrRoom[:0:n]
	p.attrRoom = p.attrRoom[n:]
	return s
}

// roomy is a number of bytes that a list may take at once. No more than a few lists claim elements
// that are missing, because the first ends reading.
const roomy = 2 << 20

// roomFor returns s with room for one more element; there are at most n. It allocates
// in proportion to the elements read so far.
func roomFor[T any](s []T, n int64) []T {
	if len(s) < cap(s) {
		return s
	}
	room := max(64, 4*int64(len(s)))
	if n <= 2*room || n*int64(unsafe.Sizeof(*new(T))) <= roomy {
		room = n // instead of growing once more
	}
	t := make([]T, len(s), room)
	copy(t, s)
	return t
}

// fixed returns the next n bytes. They are valid until the next call.
func (p *parser) fixed(n int) ([]byte, error) {
	if int64(n) > p.rest() {
		return nil, p.short(int64(n))
	}
	if len(p.win)-p.pos < n {
		if err := p.fill(n); err != nil {
			return nil, err
		}
	}
	b := p.win[p.pos:][:n]
	p.skip(int64(n))
	return b, nil
}

func (p *parser) skip(n int64) {
	p.pos += int(n)
	p.off += n
}

// fill reads the next window, so that win holds at least n bytes from pos on. n must not exceed
// rest().
func (p *parser) fill(n int) error {
	p.next = min(max(2*p.next, minWindow), maxWindow)
	want := int(min(int64(max(p.next, n)), p.rest()))
	if p.mem != nil {
		p.win, p.pos = p.mem[p.off:][:want], 0
		return p.ctx.Err()
	}
	left := p.win[p.pos:]
	if cap(p.win) < want {
		p.win = make([]byte, want)
	}
	p.win, p.pos = p.win[:want], 0
	k := copy(p.win, left)
	return readFull(p.r, p.win[k:], p.off+int64(k))
}

// rest returns how many more bytes the header may have.
func (p *parser) rest() int64 { return min(p.have, MaxHeaderLen) - p.off }

// fit returns how many elements of minLen bytes fit in the rest of the header.
func (p *parser) fit(minLen int64) uint64 { return uint64(max(0, p.rest()-p.reserved) / minLen) }

func (p *parser) fail(at int64, format string, args ...any) error {
	return &FormatError{Off: at, what: p.where(), Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) tooMany(at int64, n uint64, of string) error {
	return p.fail(at, "%d %s do not fit in the %s", n, of, p.bounds())
}

func (p *parser) short(n int64) error {
	return p.fail(p.off, "truncated header: expected %d bytes, found the end of the %s", n, p.bounds())
}

func (p *parser) bounds() string {
	if p.have > MaxHeaderLen {
		return fmt.Sprintf("%d bytes that a header may have", MaxHeaderLen)
	}
	return fmt.Sprintf("file of %d bytes", p.have)
}
