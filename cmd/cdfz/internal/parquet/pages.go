package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// columnReader reads the values of a column of a row group, a page at a time.
type columnReader struct {
	*Column
	omitted bool // from what Next reads
	f       *File
	chunk   *chunk
	pages   int   // that were read
	off     int64 // of the next page
	left    int64 // entries in later pages
	dict    []string

	entries    int64 // of the current page that are left
	defs, reps runs  // of the current page
	indices    runs  // of the current page, if its values are in the dictionary
	plain      []byte
	isIndexed  bool
	bit        int    // the next value of Bool in plain
	out        []byte // memory of the page
	// rep and def are the levels of the entry that was read ahead, if there is one.
	ahead    bool
	rep, def uint32
}

// begin begins a row group.
func (c *columnReader) begin(ch *chunk) {
	*c = columnReader{Column: c.Column, f: c.f, out: c.out, chunk: ch, off: ch.start(), left: ch.values}
}

// cell appends the values of the next row.
func (c *columnReader) cell(dst []Value) ([]Value, error) {
	for first := true; ; first = false {
		if err := c.advance(); err != nil || !c.ahead {
			if err == nil && first {
				err = damage("expected a value, found the end of the column")
			}
			return dst, err
		}
		if isNew := c.rep == 0; isNew != first {
			if first {
				return dst, damage("expected the first value of a row")
			}
			return dst, nil // the entry is one of the next row
		}
		c.ahead = false
		if c.def == 0 && c.Repetition != Required {
			if !first {
				return dst, damage("expected a value in a list, found none")
			}
		} else {
			v, err := c.value()
			if err != nil {
				return dst, err
			}
			dst = append(dst, v)
		}
		if c.Repetition != List {
			return dst, nil
		}
	}
}

// done checks that all values of the row group were read.
func (c *columnReader) done() error {
	if c.ahead || c.entries > 0 || c.left > 0 {
		return damage("expected the end of the column, found more values")
	}
	return nil
}

// advance reads the levels of the next entry unless that was done. ahead stays false at the end.
func (c *columnReader) advance() (err error) {
	if c.ahead {
		return nil
	}
	for c.entries == 0 {
		if c.left == 0 {
			return nil
		}
		if err := c.page(); err != nil {
			return fmt.Errorf("page %d: %w", c.pages, err)
		}
		c.pages++
	}
	c.entries--
	c.ahead, c.rep, c.def = true, 0, 0
	if c.Repetition == List {
		if c.rep, err = c.reps.next(); err != nil {
			return err
		}
	}
	if c.Repetition != Required {
		c.def, err = c.defs.next()
	}
	return err
}

var errValues = damage("expected more values")

// value reads a value of the current page.
func (c *columnReader) value() (v Value, err error) {
	if c.isIndexed {
		i, err := c.indices.next()
		if err == nil && int64(i) >= int64(len(c.dict)) {
			err = damage("expected one of %d values of the dictionary, found number %d", len(c.dict), i)
		}
		if err != nil {
			return v, err
		}
		return Value{Text: c.dict[i]}, nil
	}
	n := 0
	switch c.Kind {
	case Bool:
		if c.bit/8 >= len(c.plain) {
			return v, errValues
		}
		v.Int = int64(c.plain[c.bit/8] >> (c.bit % 8) & 1)
		c.bit++
		return v, nil
	case Int32:
		n = 4
	case Int64, Micros, Double:
		n = 8
	default:
		b, rest, err := cutText(c.plain)
		c.plain = rest
		return Value{Text: string(b)}, err
	}
	if len(c.plain) < n {
		return v, errValues
	}
	switch b := c.plain[:n]; c.Kind {
	case Int32:
		v.Int = int64(int32(binary.LittleEndian.Uint32(b)))
	case Double:
		v.Double = math.Float64frombits(binary.LittleEndian.Uint64(b))
	default:
		v.Int = int64(binary.LittleEndian.Uint64(b))
	}
	c.plain = c.plain[n:]
	return v, nil
}

// cutText cuts a text off the values of a page.
func cutText(b []byte) (text, rest []byte, err error) {
	if len(b) < 4 {
		return nil, b, errValues
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if most := min(int64(len(b)-4), MaxText); n > most {
		return nil, b, damage("expected a text of at most %d bytes, found %d", most, n)
	}
	return b[4 : 4+n], b[4+n:], nil
}

// page reads the next page, which may be a dictionary.
func (c *columnReader) page() error {
	h, n, err := c.f.pageHead(c.off, c.chunk.start()+c.chunk.stored-c.off)
	if err != nil {
		return err
	}
	if err := h.check(); err != nil {
		return err
	}
	c.off += n
	if end := c.chunk.start() + c.chunk.stored; h.stored > end-c.off {
		return damage("expected %d bytes, found %d", h.stored, end-c.off)
	}
	if h.typ == pageDictionary {
		if c.pages > 0 {
			return damage("expected values, found another dictionary")
		}
		if !c.Kind.isText() {
			return damage("expected no dictionary of numbers")
		}
	} else if h.values > c.left {
		return damage("expected at most %d values, found %d", c.left, h.values)
	}
	stored, err := c.f.read(c.off, h.stored)
	if err != nil {
		return err
	}
	c.off += h.stored
	if found := crc32.ChecksumIEEE(stored); found != uint32(h.crc) {
		return damage("expected CRC-32 %08x, found %08x", uint32(h.crc), found)
	}
	if err := c.unpack(stored, h.size); err != nil {
		return err
	}
	if h.typ == pageDictionary {
		return c.dictionary(h.values)
	}
	c.left -= h.values
	c.entries = h.values
	return c.data(h.encoding)
}

// unpack fills out with a page.
func (c *columnReader) unpack(stored []byte, size int64) error {
	if int64(cap(c.out)) < size {
		c.out = make([]byte, size)
	}
	if c.chunk.codec == codecUncompressed {
		c.out = append(c.out[:0], stored...)
	} else {
		var err error
		if c.out, err = decoder().DecodeAll(stored, c.out[:0:size]); err != nil {
			return damage("%v", err)
		}
	}
	if int64(len(c.out)) != size {
		return damage("expected %d bytes, found %d", size, len(c.out))
	}
	return nil
}

// dictionary reads the values of a dictionary.
func (c *columnReader) dictionary(n int64) error {
	if 4*n > int64(len(c.out)) {
		return damage("expected at least %d bytes for %d texts, found %d", 4*n, n, len(c.out))
	}
	all, at := string(c.out), 0 // one copy for all texts
	c.dict = make([]string, n)
	for i := range c.dict {
		text, _, err := cutText(c.out[at:])
		if err != nil {
			return fmt.Errorf("text %d of the dictionary: %w", i, err)
		}
		c.dict[i] = all[at+4 : at+4+len(text)]
		at += 4 + len(text)
	}
	return nil
}

// data begins the values of a page.
func (c *columnReader) data(encoding int64) (err error) {
	b := c.out
	if c.Repetition == List {
		if c.reps, b, err = cutLevels(b); err != nil {
			return err
		}
	}
	if c.Repetition != Required {
		if c.defs, b, err = cutLevels(b); err != nil {
			return err
		}
	}
	c.plain, c.bit, c.isIndexed = b, 0, encoding == encodingRLEDictionary
	if !c.isIndexed || len(b) == 0 {
		return nil
	}
	if b[0] > 32 {
		return damage("expected indices of at most 32 bits, found %d", b[0])
	}
	c.indices = runs{b: b[1:], width: int(b[0])}
	return nil
}

// cutLevels cuts levels of one bit off a page.
func cutLevels(b []byte) (runs, []byte, error) {
	if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
		return runs{}, nil, errLevels
	}
	n := binary.LittleEndian.Uint32(b)
	return runs{b: b[4 : 4+n], width: 1}, b[4+n:], nil
}

// pageHead is a PageHeader.
type pageHead struct {
	typ, size, stored, crc int64
	values, encoding       int64
	defs, reps             int64 // encodings of levels
	kinds                  int   // of pages that the header is for
}

// parse reads the header at the start of b, and returns its length.
func (h *pageHead) parse(b []byte) (int64, error) {
	r := &thriftReader{b: b}
	err := r.structure(func(id int64, kind byte) error {
		switch id {
		case 1:
			return r.int(kind, &h.typ)
		case 2:
			return r.int(kind, &h.size)
		case 3:
			return r.int(kind, &h.stored)
		case 4:
			return r.int(kind, &h.crc)
		case 5, 7: // DataPageHeader, DictionaryPageHeader
			if kind != thriftStruct {
				return damage("expected the header of a page, found type %d", kind)
			}
			if id == 5 && h.typ == pageData || id == 7 && h.typ == pageDictionary {
				h.kinds++
			}
			return r.structure(func(id int64, kind byte) error {
				switch id {
				case 1:
					return r.int(kind, &h.values)
				case 2:
					return r.int(kind, &h.encoding)
				case 3, 4:
					if kind != thriftI32 {
						return r.skip(kind) // whether a dictionary is sorted
					}
					if id == 3 {
						return r.int(kind, &h.defs)
					}
					return r.int(kind, &h.reps)
				}
				return r.skip(kind)
			})
		}
		return r.skip(kind)
	})
	return int64(len(b) - len(r.b)), err
}

// check checks the claims of the header.
func (h *pageHead) check() error {
	switch {
	case h.kinds != 1:
		return damage("expected a page of version 1 or a dictionary, found type %d", h.typ)
	case h.typ == pageDictionary && h.encoding != encodingPlain:
		return damage("expected a plain dictionary, found encoding %d", h.encoding)
	case h.typ == pageData && (h.defs != encodingRLE || h.reps != encodingRLE):
		return damage("expected levels in RLE, found encodings %d and %d", h.defs, h.reps)
	case h.typ == pageData && h.encoding != encodingPlain && h.encoding != encodingRLEDictionary:
		return damage("expected plain values or indices of a dictionary, found encoding %d", h.encoding)
	case h.values < 0 || h.values > maxValues || h.values == 0 && h.typ == pageData:
		return damage("expected 1 to %d values, found %d", maxValues, h.values)
	case h.stored < 0 || h.stored > maxPage || h.size < 0 || h.size > maxPage:
		return damage("expected at most %d bytes, found %d, and %d decompressed", maxPage, h.stored, h.size)
	}
	return nil
}

// Bounds of the header of a page in bytes. A header of other writers has up to four texts, the least and the greatest
// of the page, each in an old and a new field.
const (
	usualHead = 1 << 16
	maxHead   = 4*MaxText + usualHead
)

// pageHead reads the header at an offset, where at most so many bytes are left, and returns its length.
func (f *File) pageHead(off, left int64) (*pageHead, int64, error) {
	for _, most := range []int64{usualHead, maxHead} {
		b, err := f.read(off, min(left, most))
		if err != nil {
			return nil, 0, err
		}
		h := &pageHead{typ: -1, defs: encodingRLE, reps: encodingRLE}
		n, err := h.parse(b)
		if err == nil {
			return h, n, nil
		}
		if most == maxHead || left <= most {
			return nil, 0, err
		}
	}
	panic("unreachable")
}
