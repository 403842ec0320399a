package dap

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// DAS writes the attributes of the data set.
func (d *Dataset) DAS(w io.Writer) error {
	b := bufio.NewWriter(w)
	h := d.src.Header()
	b.WriteString("Attributes {\n    NC_GLOBAL {\n")
	writeAttrs(b, h.Attrs)
	b.WriteString("    }\n")
	for i := range d.vars {
		v := &d.vars[i]
		fmt.Fprintf(b, "    %s {\n", v.name)
		writeAttrs(b, v.v.Attrs)
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

func writeAttrs(b *bufio.Writer, list []cdf3.Attr) {
	seen := make(map[string]bool, len(list))
	for i := range list {
		a := &list[i]
		if seen[a.Name] || !usable(a.Name) || strings.HasPrefix(a.Name, "DODS.") || strings.HasPrefix(a.Name, "DODS_EXTRA.") {
			continue
		}
		seen[a.Name] = true
		name := typeNames[a.Type]
		if name == "" || a.Len == 0 {
			name = "String"
		}
		fmt.Fprintf(b, "        %s %s ", name, escape(a.Name))
		if a.Type == cdf3.Char || a.Len == 0 {
			b.WriteString(quote(string(a.Values)))
		} else {
			size := a.Type.Size()
			for k := range a.Len {
				if k > 0 {
					b.WriteString(", ")
				}
				b.WriteString(numberText(a.Type, a.Values[k*size:][:size]))
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
	case cdf3.Byte, cdf3.UByte: // unsigned in DAP2
		return strconv.FormatUint(u, 10)
	case cdf3.Short:
		return strconv.FormatInt(int64(int16(u)), 10)
	case cdf3.Int:
		return strconv.FormatInt(int64(int32(u)), 10)
	case cdf3.UShort, cdf3.UInt:
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
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', -1, bits)[:4]
	}
	s := strconv.FormatFloat(x, 'g', -1, bits)
	for i := range len(s) {
		if s[i] == '.' || s[i] == 'e' {
			return s
		}
	}
	return s + "."
}
