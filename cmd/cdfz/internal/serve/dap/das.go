package dap

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TakesSigned reports whether the client with a name in User-Agent takes bytes of DAP2 for signed ones: libnetcdf,
// whose name is oc and its version, such as oc4.9.0.
func TakesSigned(agent string) bool {
	return len(agent) > 2 && agent[:2] == "oc" && '0' <= agent[2] && agent[2] <= '9'
}

// DAS writes the attributes of the data set. signed means that the client takes bytes for signed ones.
// Text is sent in the bytes of the file.
func (d *Dataset) DAS(w io.Writer, signed bool) error {
	return d.das(w, signed, quote)
}

// das writes the attributes, with texts as quote returns them.
func (d *Dataset) das(w io.Writer, signed bool, quote func(string) string) error {
	b := bufio.NewWriter(w)
	h := d.src.Header()
	b.WriteString("Attributes {\n    NC_GLOBAL {\n")
	writeAttrs(b, h.Attrs, signed, quote)
	b.WriteString("    }\n")
	for i := range d.vars {
		v := &d.vars[i]
		fmt.Fprintf(b, "    %s {\n", v.name)
		word, own := signedness(v.v)
		writeAttrs(b, v.v.Attrs, signed || strings.EqualFold(word, "true"), quote)
		// netCDF4-python up to 1.6.2 takes any text for true, even "false".
		if word != "" && !own && !(signed && v.v.Type == cdf3.Byte) {
			fmt.Fprintf(b, "        String %s %s;\n", unsignedAttr, quote(word))
		}
		if v.v.Type == cdf3.Char && v.why == "" {
			// libnetcdf takes a container DODS in that of a variable for one of the file.
			fmt.Fprintf(b, "        Int32 DODS.strlen %d;\n", v.text)
			if n := len(v.v.DimIDs); n > 0 {
				fmt.Fprintf(b, "        String DODS.dimName %s;\n", quote(h.Dims[v.v.DimIDs[n-1]].Name))
			}
		}
		b.WriteString("    }\n")
	}
	for i := range h.Vars {
		if v := &h.Vars[i]; v.Record {
			fmt.Fprintf(b, "    DODS_EXTRA {\n        String Unlimited_Dimension %s;\n    }\n", quote(h.Dims[v.DimIDs[0]].Name))
			break
		}
	}
	b.WriteString("}\n")
	return b.Flush()
}

// unsignedAttr tells clients the sign of integers. DAP2 has only unsigned bytes, and libnetcdf takes all
// integers for signed ones. THREDDS sends it for bytes, and netCDF-Java, netCDF4-python and xarray obey it.
const unsignedAttr = "_Unsigned"

// signedness returns the value of unsignedAttr for a variable, or "" if its type is clear. own is that of the
// file, which goes before.
func signedness(v *cdf3.Var) (word string, own bool) {
	for i := range v.Attrs {
		if a := &v.Attrs[i]; a.Name == unsignedAttr {
			return strings.TrimRight(string(a.Values), "\x00"), true
		}
	}
	switch v.Type {
	case cdf3.Byte:
		return "false", false
	case cdf3.UByte, cdf3.UShort, cdf3.UInt:
		return "true", false
	}
	return "", false
}

// attrType returns the type in DAP2 of an attribute. Bytes are Int16 if one of them is negative, as THREDDS
// sends them: netCDF-Java refuses a negative Byte, and nothing tells pydap that 255 is one.
func attrType(t cdf3.Type, values []byte) string {
	name := typeNames[t]
	switch {
	case name == "" || len(values) == 0:
		return "String"
	case t == cdf3.Byte && slices.ContainsFunc(values, func(c byte) bool { return int8(c) < 0 }):
		return typeNames[cdf3.Short]
	}
	return name
}

// writeAttrs writes attributes. plain means that bytes are sent as those of DAP2, whatever their sign.
func writeAttrs(b *bufio.Writer, list []cdf3.Attr, plain bool, quote func(string) string) {
	seen := make(map[string]bool, len(list))
	for i := range list {
		a := &list[i]
		if seen[a.Name] || !usable(a.Name) || strings.HasPrefix(a.Name, "DODS.") || strings.HasPrefix(a.Name, "DODS_EXTRA.") {
			continue
		}
		seen[a.Name] = true
		t := a.Type
		if t == cdf3.Byte && plain {
			t = cdf3.UByte
		}
		fmt.Fprintf(b, "        %s %s ", attrType(t, a.Values), escape(a.Name))
		if t == cdf3.Char || a.Len == 0 {
			b.WriteString(quote(string(a.Values)))
		} else {
			size := t.Size()
			for k := range a.Len {
				if k > 0 {
					b.WriteString(", ")
				}
				b.WriteString(numberText(t, a.Values[k*size:][:size]))
			}
		}
		b.WriteString(";\n")
	}
}

// numberText returns a number of an attribute, which is big-endian.
func numberText(t cdf3.Type, b []byte) string {
	var u uint64
	for _, c := range b {
		u = u<<8 | uint64(c)
	}
	switch t {
	case cdf3.Byte:
		return strconv.FormatInt(int64(int8(u)), 10)
	case cdf3.Short:
		return strconv.FormatInt(int64(int16(u)), 10)
	case cdf3.Int:
		return strconv.FormatInt(int64(int32(u)), 10)
	case cdf3.UByte, cdf3.UShort, cdf3.UInt:
		return strconv.FormatUint(u, 10)
	case cdf3.Int64:
		return quote(strconv.FormatInt(int64(u), 10))
	case cdf3.UInt64:
		return quote(strconv.FormatUint(u, 10))
	case cdf3.Float:
		return floatText(float64(math.Float32frombits(uint32(u))), 32)
	}
	return floatText(math.Float64frombits(u), 64)
}

// floatText returns the shortest text of a number that is not taken for an integer:
// libnetcdf would lose the sign of -0.
func floatText(x float64, bits int) string {
	s := valueText(x, bits)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return s
	}
	for i := range len(s) {
		if s[i] == '.' || s[i] == 'e' {
			return s
		}
	}
	return s + "."
}

// valueText returns the shortest text of a number. Both pydap and libnetcdf read NaN, inf and -inf; pydap does
// not read +Inf.
func valueText(x float64, bits int) string {
	switch {
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	return strconv.FormatFloat(x, 'g', -1, bits)
}
