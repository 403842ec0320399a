package cdl

import (
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
	case d.h.Version == cdf3.Data64:
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
	if s.find(fletcher32) != nil {
		d.special(v, "_Fletcher32", `"true"`)
	}
	if s.find(shuffle) != nil {
		d.special(v, "_Shuffle", `"true"`)
	}
	if f := s.find(deflate); f != nil && len(f.Params) > 0 {
		d.special(v, "_DeflateLevel", strconv.FormatUint(uint64(f.Params[0]), 10))
	}
	b = b[:0]
	for _, f := range s.Filters {
		if f.ID == fletcher32 || f.ID == shuffle || f.ID == deflate {
			continue
		}
		b = append(b, '|')
		b = strconv.AppendUint(b, uint64(f.ID), 10)
		for _, p := range f.Params {
			b = append(b, ',')
			b = strconv.AppendUint(b, uint64(p), 10)
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

func (s *Storage) find(id uint32) *Filter {
	for i := range s.Filters {
		if s.Filters[i].ID == id {
			return &s.Filters[i]
		}
	}
	return nil
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
	d.text(`"` + Kind(d.h.Version) + "\" ;\n")
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
