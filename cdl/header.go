package cdl

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/cdfz-format/cdfz/cdf3"
)

// header writes everything up to the data.
func (d *dumper) header() {
	h := d.h
	unlimited := unlimited(h)
	if len(h.Dims) > 0 {
		d.text("dimensions:\n")
	}
	for i := range h.Dims {
		d.text("\t")
		d.name(h.Dims[i].Name)
		d.text(" = ")
		switch {
		case i == unlimited:
			d.text("UNLIMITED ; // (")
			d.int(h.NumRecs)
			d.text(" currently)\n")
			continue
		case h.Dims[i].Len == 0: // ncdump takes only the first as unlimited
			d.int(h.NumRecs)
		default:
			d.int(h.Dims[i].Len)
		}
		d.text(" ;\n")
	}
	if len(h.Vars) > 0 {
		d.text("variables:\n")
	}
	for i := range h.Vars {
		d.variable(i)
	}
	if len(h.Attrs) > 0 || d.o.Special {
		d.text("\n// global attributes:\n")
	}
	d.attrs("", h.Attrs, provenance)
	if d.o.Special {
		d.globalSpecials()
	}
}

func (d *dumper) variable(i int) {
	v := &d.h.Vars[i]
	d.text("\t")
	d.text(v.Type.String())
	d.text(" ")
	d.name(v.Name)
	for k, id := range v.DimIDs {
		if k == 0 {
			d.text("(")
		} else {
			d.text(", ")
		}
		if d.names.rooted(d.h.Dims, id) {
			d.text("/")
		}
		d.name(d.h.Dims[id].Name)
	}
	if len(v.DimIDs) > 0 {
		d.text(")")
	}
	d.text(" ;\n")
	d.times = d.timeUnits(i, false)
	d.attrs(v.Name, v.Attrs, "")
	d.times = nil
	if d.o.Special {
		d.specials(i)
	}
}

// keywords are the names of variables that need a blank before a colon.
var keywords = []string{"variables", "dimensions", "data", "group", "types"}

// attrs writes the attributes of a variable, or those of the file if v is empty. If
// several attributes have the same name, ncdump prints the values of the first each
// time. Attributes with the name hide are left out, unless it is empty.
func (d *dumper) attrs(v string, attrs []cdf3.Attr, hide string) {
	first := firstAttrs(attrs)
	for i := range attrs {
		name := cString(attrs[i].Name)
		if hide == "" || name != hide {
			d.attr(v, first[name])
		}
	}
}

func (d *dumper) attr(v string, a *cdf3.Attr) {
	d.text("\t\t")
	d.name(v)
	if slices.Contains(keywords, cString(v)) {
		d.text(" ")
	}
	d.text(":")
	d.name(a.Name)
	d.text(" = ")
	if a.Type == cdf3.Char || a.Len == 0 {
		d.attrText(a.Values)
	} else {
		d.attrValues(a)
	}
	d.text(" ;")
	d.attrTimes(a)
	d.text("\n")
}

// attrText writes a text attribute. A line of CDL ends after each newline.
func (d *dumper) attrText(s []byte) {
	d.text(`"`)
	for _, c := range trimNUL(s) {
		d.buf = appendAttrByte(d.buf, c)
		d.spill()
	}
	d.text(`"`)
}

// attrValues writes the values of a numeric attribute, with letters for the type.
func (d *dumper) attrValues(a *cdf3.Attr) {
	b, size := a.Values, int(a.Type.Size())
	for i := 0; i+size <= len(b); i += size {
		if i > 0 {
			d.text(", ")
		}
		d.buf = d.appendAttrValue(d.buf, a.Type, b[i:])
		d.spill()
	}
}

func (d *dumper) appendAttrValue(dst []byte, t cdf3.Type, b []byte) []byte {
	be := binary.BigEndian
	switch t {
	case cdf3.Byte:
		return append(strconv.AppendInt(dst, int64(int8(b[0])), 10), 'b')
	case cdf3.Short:
		return append(strconv.AppendInt(dst, int64(int16(be.Uint16(b))), 10), 's')
	case cdf3.Int:
		return strconv.AppendInt(dst, int64(int32(be.Uint32(b))), 10)
	case cdf3.Float:
		x := float64(math.Float32frombits(be.Uint32(b)))
		return append(appendAttrFloat(dst, x, digits(d.o.FloatDigits, floatDigits)), 'f')
	case cdf3.Double:
		x := math.Float64frombits(be.Uint64(b))
		return appendAttrFloat(dst, x, digits(d.o.DoubleDigits, doubleDigits))
	case cdf3.UByte:
		return append(strconv.AppendUint(dst, uint64(b[0]), 10), "UB"...)
	case cdf3.UShort:
		return append(strconv.AppendUint(dst, uint64(be.Uint16(b)), 10), "US"...)
	case cdf3.UInt:
		return append(strconv.AppendUint(dst, uint64(be.Uint32(b)), 10), 'U')
	case cdf3.Int64:
		return append(strconv.AppendInt(dst, int64(be.Uint64(b)), 10), "LL"...)
	default:
		return append(strconv.AppendUint(dst, be.Uint64(b), 10), "ULL"...)
	}
}
