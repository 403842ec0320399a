package cdl

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/cdfz-format/cdfz/cdf3"
)

// ncml writes the file as NcML, without values. As in ncdump, whether elements without
// attributes are closed at once depends on the selected variables.
func (d *dumper) ncml(chosen []bool) {
	h := d.h
	d.text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<netcdf xmlns=\"https://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2\" location=\"")
	d.xmlName(d.o.Location)
	d.text("\">\n")
	unlimited := unlimited(h)
	for i := range h.Dims {
		d.text("  <dimension name=\"")
		d.xmlName(h.Dims[i].Name)
		d.text("\" length=\"")
		n := h.Dims[i].Len
		if n == 0 {
			n = h.NumRecs
		}
		d.int(int64(int32(n))) // truncated to C's int
		if d.text("\""); i == unlimited {
			d.text(" isUnlimited=\"true\"")
		}
		d.text(" />\n")
	}
	d.xmlAttrs("  ", h.Attrs, provenance)
	for i := range h.Vars {
		v := &h.Vars[i]
		d.text("  <variable name=\"")
		d.xmlName(v.Name)
		d.text("\"")
		for k, id := range v.DimIDs {
			if k == 0 {
				d.text(" shape=\"")
			} else {
				d.text(" ")
			}
			d.xmlName(h.Dims[id].Name)
		}
		if len(v.DimIDs) > 0 {
			d.text("\"")
		}
		d.text(" type=\"" + v.Type.String() + "\"")
		if len(v.Attrs) == 0 && (d.o.Header || chosen != nil && !chosen[i] || d.o.Coords && !d.coordinate(v) || v.Record && h.NumRecs == 0) {
			d.text(" />\n")
			continue
		}
		d.text(">\n")
		d.xmlAttrs("    ", v.Attrs, "")
		d.text("  </variable>\n")
	}
	d.text("</netcdf>\n")
}

// xmlAttrs writes attributes, like attrs.
func (d *dumper) xmlAttrs(indent string, attrs []cdf3.Attr, hide string) {
	first := firstAttrs(attrs)
	for i := range attrs {
		name := cString(attrs[i].Name)
		if hide != "" && name == hide && !d.o.Special {
			continue
		}
		a := first[name]
		d.text(indent + "<attribute name=\"")
		d.xmlName(a.Name)
		d.text("\"")
		if a.Type == cdf3.Char {
			d.text(" value=\"")
			value := trimNUL(a.Values)
			if d.o.Warn != nil && bytes.IndexByte(value, 0) >= 0 {
				d.o.Warn(fmt.Sprintf("attribute %q has NUL characters, which XML does not allow", name))
			}
			for _, c := range value {
				d.buf = appendXMLByte(d.buf, c)
				d.spill()
			}
		} else {
			d.text(" type=\"" + a.Type.String() + "\" value=\"")
			d.xmlNumbers(a)
		}
		d.text("\" />\n")
	}
}

// xmlNumbers writes the values of an attribute, which ncdump reads as doubles.
func (d *dumper) xmlNumbers(a *cdf3.Attr) {
	size := int(a.Type.Size())
	for b := a.Values; len(b) >= size; b = b[size:] {
		if len(b) < len(a.Values) {
			d.text(" ")
		}
		x := toDouble(a.Type, b)
		switch a.Type {
		case cdf3.Float:
			d.buf = appendXMLFloat(d.buf, x, digits(d.o.FloatDigits, floatDigits))
		case cdf3.Double:
			d.buf = appendXMLFloat(d.buf, x, digits(d.o.DoubleDigits, doubleDigits))
		case cdf3.Int64:
			// C converts doubles out of range to the smallest integer.
			n := int64(math.MinInt64)
			if x < 1<<63 {
				n = int64(x)
			}
			d.buf = strconv.AppendInt(d.buf, n, 10)
		case cdf3.UInt64:
			n := uint64(0)
			if x < 1<<64 {
				n = uint64(x)
			}
			d.buf = strconv.AppendUint(d.buf, n, 10)
		default:
			d.buf = strconv.AppendInt(d.buf, int64(x), 10)
		}
		d.spill()
	}
}

// appendXMLFloat appends a number as C prints it.
func appendXMLFloat(dst []byte, x float64, digits int) []byte {
	if !math.IsNaN(x) && !math.IsInf(x, 0) {
		return appendAttrFloat(dst, x, digits)
	}
	if math.Signbit(x) {
		dst = append(dst, '-')
	}
	if math.IsNaN(x) {
		return append(dst, "nan"...)
	}
	return append(dst, "inf"...)
}

// xmlName writes a name. ncdump does not escape names, so its XML is sometimes invalid.
func (d *dumper) xmlName(s string) {
	for _, c := range []byte(cString(s)) {
		d.buf = appendXMLByte(d.buf, c)
	}
	d.spill()
}

// appendXMLByte appends a character of a value.
func appendXMLByte(dst []byte, c byte) []byte {
	switch {
	case c == '"':
		return append(dst, "&quot;"...)
	case c == '<':
		return append(dst, "&lt;"...)
	case c == '>':
		return append(dst, "&gt;"...)
	case c == '&':
		return append(dst, "&amp;"...)
	case c == '\n':
		return append(dst, "&#xA;"...)
	case c == '\r':
		return append(dst, "&#xD;"...)
	case c == '\t':
		return append(dst, "&#x9;"...)
	case c < 0x20 || c == 0x7f:
		dst = append(dst, "&#"...)
		return append(strconv.AppendInt(dst, int64(c), 10), ';')
	}
	return append(dst, c)
}
