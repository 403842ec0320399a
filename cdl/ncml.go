package cdl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/latin"
)

// ncml writes the file as NcML, without values. As in ncdump, whether elements without
// attributes are closed at once depends on the selected variables. Unlike ncdump's, it is always
// well-formed: names are escaped, text that is not UTF-8 is taken as Latin-1, and characters that XML
// does not have are replaced.
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
			value := latin.Text(string(trimNUL(a.Values)))
			if d.o.Warn != nil && strings.ContainsFunc(value, forbidden) {
				d.o.Warn(fmt.Sprintf("attribute %q has characters that XML does not allow: U+FFFD replaces them", name))
			}
			d.buf = appendXML(d.buf, value)
			d.spill()
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

// xmlName writes a name.
func (d *dumper) xmlName(s string) {
	d.buf = appendXML(d.buf, latin.Text(cString(s)))
	d.spill()
}

// appendXML appends text in UTF-8 as part of an attribute of XML.
func appendXML(dst []byte, s string) []byte {
	for _, c := range s {
		switch {
		case c == '"':
			dst = append(dst, "&quot;"...)
		case c == '<':
			dst = append(dst, "&lt;"...)
		case c == '>':
			dst = append(dst, "&gt;"...)
		case c == '&':
			dst = append(dst, "&amp;"...)
		case c == '\n':
			dst = append(dst, "&#xA;"...)
		case c == '\r':
			dst = append(dst, "&#xD;"...)
		case c == '\t':
			dst = append(dst, "&#x9;"...)
		case c == 0x7f:
			dst = append(dst, "&#127;"...)
		case forbidden(c):
			dst = utf8.AppendRune(dst, utf8.RuneError)
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return dst
}

// forbidden reports whether no document of XML 1.0 may have a character, not even as a reference.
func forbidden(c rune) bool {
	return c < 0x20 && c != '\t' && c != '\n' && c != '\r' || c == 0xfffe || c == 0xffff
}
