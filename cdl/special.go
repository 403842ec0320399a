package cdl

import (
	"cmp"
	"math"
	"strconv"

	"github.com/cdfz-format/cdfz/cdf3"
)

// provenance is an attribute that netCDF-4 reserves. Without -s, ncdump hides it in
// classic files as well, where it is an ordinary attribute.
const provenance = "_NCProperties"

// Filters with special attributes for themselves. All others go into _Filter.
const (
	deflate    = 1
	shuffle    = 2
	fletcher32 = 3
)

// specials writes the special attributes of a variable. ncdump writes none for CDF-1
// and CDF-2. For CDF-5 it writes _Storage and then stops with an error at the first
// variable with values longer than a byte. Here _Endianness follows.
func (d *dumper) specials(i int) {
	v := &d.h.Vars[i]
	var s *Storage
	if d.o.Storage != nil {
		s = d.o.Storage(i)
	}
	switch {
	case s != nil && len(s.Block) > 0:
		d.blocked(v, s)
	case d.h.Version == cdf3.Data64 && d.o.Format == "":
		d.special(v, "_Storage", `"contiguous"`)
	default:
		return
	}
	if v.Type.Size() > 1 {
		d.special(v, "_Endianness", `"big"`)
	}
}

// blocked writes the attributes that ncdump prints for a chunked netCDF-4 variable. A
// scalar has none, because netCDF-4 stores scalars without chunks and filters.
func (d *dumper) blocked(v *cdf3.Var, s *Storage) {
	d.special(v, "_Storage", `"chunked"`)
	var b []byte
	for k, n := range s.Block {
		if k > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, n, 10)
	}
	d.special(v, "_ChunkSizes", string(b))
	rest := s.named(v.Type.Size())
	for _, f := range s.Filters[:len(s.Filters)-len(rest)] {
		switch f.ID {
		case fletcher32:
			d.special(v, "_Fletcher32", `"true"`)
		case shuffle:
			d.special(v, "_Shuffle", `"true"`)
		case deflate:
			d.special(v, "_DeflateLevel", strconv.FormatUint(uint64(f.Params[0]), 10))
		}
	}
	b = b[:0]
	for _, f := range rest {
		b = append(b, '|')
		b = strconv.AppendUint(b, uint64(f.ID), 10)
		for _, p := range f.Params {
			b = append(b, ',')
			b = strconv.AppendUint(b, uint64(p), 10)
		}
		if f.Optional {
			b = append(b, '?')
		}
	}
	if len(b) > 0 {
		d.special(v, "_Filter", `"`+string(b[1:])+`"`)
	}
	if s.Codecs != "" {
		d.special(v, "_Codecs", `"`+string(appendText(nil, s.Codecs))+`"`)
	}
}

// appendText appends text with escapes. JSON has no characters that would break lines.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = appendAttrByte(dst, s[i])
	}
	return dst
}

// named returns the filters without attributes of their own. Those before them have some, if the
// chain begins with them in the order of netCDF-4. If attributes cannot express the chain, it
// returns all of it. size is that of the elements.
func (s *Storage) named(size int64) []Filter {
	rest := s.Filters
	for _, id := range []uint32{fletcher32, shuffle, deflate} {
		if len(rest) == 0 || rest[0].ID != id {
			continue
		}
		f := &rest[0]
		plain := len(f.Params) == 0
		switch id {
		case shuffle:
			plain = plain || len(f.Params) == 1 && int64(f.Params[0]) == size
		case deflate:
			plain = len(f.Params) == 1 && f.Params[0] <= 9
		}
		if !plain || f.Optional {
			return s.Filters
		}
		rest = rest[1:]
	}
	for _, f := range rest {
		if len(rest) < len(s.Filters) && (f.ID == fletcher32 || f.ID == shuffle || f.ID == deflate) {
			return s.Filters
		}
	}
	return rest
}

func (d *dumper) special(v *cdf3.Var, name, value string) {
	d.attrName(v.Name, name)
	d.text(value)
	d.text(" ;\n")
}

// globalSpecials writes the special attributes of the file. The first ones belong to
// netCDF-4; a converted classic file may have them as ordinary attributes.
func (d *dumper) globalSpecials() {
	if a := attr(d.h.Attrs, provenance); a != nil && (a.Type == cdf3.Char || a.Len == 0) {
		d.attrName("", provenance)
		d.text(`"`)
		d.text(cString(string(a.Values))) // ncdump does not escape it
		d.text("\" ;\n")
	}
	if n, ok := attrInt(attr(d.h.Attrs, "_SuperblockVersion")); ok {
		d.attrName("", "_SuperblockVersion")
		d.int(n)
		d.text(" ;\n")
	}
	if n, ok := attrInt(attr(d.h.Attrs, "_IsNetcdf4")); ok {
		d.attrName("", "_IsNetcdf4")
		d.int(min(1, n*n))
		d.text(" ;\n")
	}
	if d.o.BlockSize > 0 {
		d.attrName("", "_BlockSize")
		d.int(d.o.BlockSize)
		d.text(" ;\n")
	}
	d.attrName("", "_Format")
	d.text(`"` + cmp.Or(d.o.Format, Kind(d.h.Version)) + "\" ;\n")
}

// attrInt returns the value of an attribute that is one number and fits a C int.
func attrInt(a *cdf3.Attr) (int64, bool) {
	if a == nil || a.Len != 1 {
		return 0, false
	}
	x := a.Float64s()
	if len(x) == 0 || !(x[0] >= math.MinInt32 && x[0] <= math.MaxInt32) {
		return 0, false
	}
	return int64(x[0]), true
}
