package cdf3

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Append appends the encoded header to dst and returns the extended slice.
//
// The fields that are in a file are written as they are: Version, NumRecsField, Dims,
// Attrs and Vars with VSize and Begin. Computed fields are ignored. Padding is zero
// and an empty list is ABSENT, as the C library writes them. For a header that was
// read from a file, the result always has the same length, and the same bytes if the
// file was written in this form.
//
// Append fails if a field does not fit its width in this version, or the Values and Len
// of an attribute disagree. It then returns dst unchanged.
func (h *Header) Append(dst []byte) ([]byte, error) {
	if !h.Version.valid() {
		return dst, fmt.Errorf("cdf3: cannot write %v, expected CDF-1, CDF-2 or CDF-5", h.Version)
	}
	e := encoder{b: dst, v: h.Version}
	e.b = append(e.b, 'C', 'D', 'F', byte(h.Version))
	e.count("number of records", h.NumRecsField)
	e.list(tagDims, len(h.Dims))
	for i, d := range h.Dims {
		what := fmt.Sprintf("dimension %d %s", i, quote(d.Name))
		e.name(d.Name)
		if d.Len < 0 || h.Version == Classic && d.Len > math.MaxInt32 {
			e.fail("%s: length %d does not fit", what, d.Len)
		}
		e.count(what, uint64(d.Len))
	}
	e.attrs("global", h.Attrs)
	e.list(tagVars, len(h.Vars))
	for i := range h.Vars {
		e.variable(fmt.Sprintf("variable %d %s", i, quote(h.Vars[i].Name)), &h.Vars[i])
	}
	if e.err != nil {
		return dst, e.err
	}
	return e.b, nil
}

// Layout checks a header built by a program and places the variables. The fixed ones follow
// the header in order, then comes the first record of the record variables in order. All
// begin at multiples of 4, as in the C library.
//
// It uses Version, NumRecsField, Dims and Attrs, and the Name, DimIDs, Attrs and Type
// of each variable, and sets all other fields. If NumRecsField is all ones, the header
// becomes Streaming without records, since the size of the file is not known.
//
// Layout fails if a field does not fit its width, a dimension number or the position of
// an unlimited dimension is wrong, or a length overflows. It also fails for what the C
// library does not write, with errors that name the dimension, variable or attribute:
//
//   - names that are empty, longer than 256 bytes, not UTF-8, or contain a slash or a
//     control character, begin with another ASCII character than a letter, a digit or an
//     underscore, or end in a blank
//   - names that occur twice among the dimensions, the variables, or the attributes of one
//     of them
//   - more than one unlimited dimension, and variables of more than [MaxRank] dimensions
//   - types and lengths that the version does not have: unsigned and 64-bit integers are
//     for CDF-5, and [Header.TooLarge] describes the largest variables
//
// The header may be partly changed after an error.
func (h *Header) Layout() error {
	if err := h.check(); err != nil {
		return err
	}
	if err := h.LayoutRead(); err != nil {
		return err
	}
	if i := h.TooLarge(); i >= 0 {
		return fmt.Errorf("cdf3: cannot lay out variable %d %s: %d bytes are too large for %v, unless it is the last variable", i, quote(h.Vars[i].Name), h.Vars[i].RecLen, h.Version)
	}
	return nil
}

// LayoutRead is Layout for a header with the contents of a file that was read. Names and
// types are not checked, so that the parts of odd files can be written again.
func (h *Header) LayoutRead() error {
	var recs recordSum
	for i := range h.Vars {
		v := &h.Vars[i]
		v.Begin, v.VSize = 0, 0
		msg := h.checkVar(v)
		if msg == "" {
			msg = h.setShape(v, make([]int64, len(v.DimIDs)))
		}
		if msg == "" && !recs.add(v) {
			msg = "the size of a record overflows"
		}
		if msg != "" {
			return fmt.Errorf("cdf3: cannot lay out variable %d %s: %s", i, quote(v.Name), msg)
		}
	}
	b, err := h.Append(nil)
	if err != nil {
		return err
	}
	h.Len = int64(len(b))
	h.RecSize = recs.size()
	if err := h.place(); err != nil {
		return err
	}
	h.NumRecs = 0
	h.Streaming = h.NumRecsField == h.Version.streaming()
	if msg := h.setNumRecs(); msg != "" {
		return errors.New("cdf3: cannot lay out the records: " + msg)
	}
	return nil
}

// place sets Begin and VSize from Len and RecLen.
func (h *Header) place() error {
	most := int64(math.MaxInt64)
	if h.Version == Classic {
		most = math.MaxInt32
	}
	off, _ := pad4(h.Len)
	for _, record := range []bool{false, true} {
		for i := range h.Vars {
			v := &h.Vars[i]
			if v.Record != record {
				continue
			}
			n, ok := pad4(v.RecLen)
			if off > most || !ok || off > math.MaxInt64-n {
				return fmt.Errorf("cdf3: cannot lay out variable %d %s: no room for %d bytes at byte %d in %v",
					i, quote(v.Name), v.RecLen, off, h.Version)
			}
			v.Begin, v.VSize = off, uint64(n)
			// A size too large for the field is written as all ones (Note on vsize in
			// the specification).
			if h.Version != Data64 && v.VSize > math.MaxUint32-3 {
				v.VSize = math.MaxUint32
			}
			off += n
		}
	}
	return nil
}

// checkVar makes the checks that Read makes while parsing.
func (h *Header) checkVar(v *Var) (msg string) {
	if !v.Type.Valid() {
		return fmt.Sprintf("type code %d, expected 1 to 11", uint32(v.Type))
	}
	for j, id := range v.DimIDs {
		if id < 0 || id >= len(h.Dims) {
			return fmt.Sprintf("dimension number %d, expected less than %d", id, len(h.Dims))
		}
		switch n := h.Dims[id].Len; {
		case n < 0:
			return fmt.Sprintf("dimension %d has length %d, expected more than 0", id, n)
		case j > 0 && n == 0:
			return fmt.Sprintf("dimension %d has length 0: expected the unlimited dimension %s as the first, found it as number %d", id, quote(h.Dims[id].Name), j+1)
		}
	}
	return ""
}

// encoder appends to b until the first error.
type encoder struct {
	b   []byte
	v   Version
	err error
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("cdf3: cannot write "+format+" in "+e.v.String(), args...)
	}
}

func (e *encoder) variable(what string, v *Var) {
	e.name(v.Name)
	e.count(what, uint64(len(v.DimIDs)))
	for _, id := range v.DimIDs {
		if id < 0 {
			e.fail("%s: dimension number %d", what, id)
		}
		e.count(what, uint64(id))
	}
	e.attrs(what, v.Attrs)
	e.uint32(uint32(v.Type))
	e.count(what, v.VSize)
	switch {
	case v.Begin < 0 || e.v == Classic && v.Begin > math.MaxInt32:
		e.fail("%s: begin %d does not fit", what, v.Begin)
	case e.v == Classic:
		e.uint32(uint32(v.Begin))
	default:
		e.b = binary.BigEndian.AppendUint64(e.b, uint64(v.Begin))
	}
}

func (e *encoder) attrs(of string, attrs []Attr) {
	e.list(tagAttrs, len(attrs))
	for i := range attrs {
		a := &attrs[i]
		if n, ok := mul(a.Type.Size(), max(a.Len, 0)); !ok || a.Len < 0 || n != int64(len(a.Values)) {
			e.fail("attribute %s of %s: %d bytes of values for %d elements of type %v",
				quote(a.Name), of, len(a.Values), a.Len, a.Type)
			return
		}
		e.name(a.Name)
		e.uint32(uint32(a.Type))
		e.count(of, uint64(a.Len))
		e.padded(a.Values)
	}
}

// list writes the tag and the count of a list, or ABSENT for an empty one.
func (e *encoder) list(tag uint32, n int) {
	if n == 0 {
		tag = 0
	}
	e.uint32(tag)
	e.count("a list", uint64(n))
}

func (e *encoder) name(s string) {
	e.count("the name "+quote(s), uint64(len(s)))
	e.padded([]byte(s))
}

func (e *encoder) padded(b []byte) {
	e.b = append(e.b, b...)
	e.b = append(e.b, 0, 0, 0)[:len(e.b)+(-len(b)&3)]
}

func (e *encoder) count(what string, n uint64) {
	switch {
	case e.v == Data64:
		e.b = binary.BigEndian.AppendUint64(e.b, n)
	case n > math.MaxUint32:
		e.fail("%s: %d does not fit", what, n)
	default:
		e.uint32(uint32(n))
	}
}

func (e *encoder) uint32(n uint32) { e.b = binary.BigEndian.AppendUint32(e.b, n) }
