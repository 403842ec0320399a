// Package dap answers requests of DAP2, the Data Access Protocol of OPeNDAP, for a
// classic netCDF file from any source. It knows neither HTTP nor archives.
//
// [New] describes a file as a data set, [Dataset.DAS] writes its attributes, and
// [Dataset.Parse] makes a [Request] of a constraint expression, whose DDS and data are
// written in bounded memory.
//
// # The mapping
//
// Variables become arrays. There are no Grids, in which other servers repeat the
// coordinate variables: clients find these by their names, and libnetcdf lists variables
// in Grids after all others. Text (char) becomes String, without the last dimension, whose
// name and length are in the attributes DODS.dimName and DODS.strlen, as libnetcdf reads
// them. byte and ubyte both become Byte, which is unsigned in DAP2. The record dimension is
// the attribute DODS_EXTRA.Unlimited_Dimension.
//
// Variables of the types int64 and uint64, which DAP2 lacks, and those with a dimension of
// more than 2^31-1 elements can be in no request, and a request for all variables of such
// a file is an error. Attributes of these types, and those without values, become text.
// Variables and attributes with the name of an earlier one, or a name that is empty or has
// NUL in it, are left out. So are attributes called DODS or DODS_EXTRA and a dot, which
// clients take for those that this package adds: files copied over DAP2 have them.
//
// Variables without elements come after all others: libnetcdf hides them, and then does
// not find the variable of number 0 if one of them is before it.
//
// Selections and functions are refused.
//
// Facts follow "The Data Access Protocol, DAP 2.0" (NASA ESE-RFC-004.1.1),
// https://www.earthdata.nasa.gov/s3fs-public/imported/ESE-RFC-004v1.1.pdf, and what
// libnetcdf reads.
package dap

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// Error is an error that clients get as such. Other errors are those of the source and
// of writing.
type Error struct {
	Code    int // of HTTP
	Message string
}

func (e *Error) Error() string { return "dap: " + e.Message }

// Encode writes the error in the form of the protocol.
func (e *Error) Encode(w io.Writer) error {
	_, err := fmt.Fprintf(w, "Error {\n    code = %d;\n    message = %s;\n};\n", e.Code, quote(e.Message))
	return err
}

func errorf(format string, args ...any) *Error {
	return &Error{Code: 400, Message: fmt.Sprintf(format, args...)}
}

// Dataset is a netCDF file as DAP2 shows it. It is safe for concurrent use.
type Dataset struct {
	name   string // escaped
	src    slab.Source
	vars   []variable
	byName map[string]int // positions in vars, by escaped and other names
}

// variable is a variable that DAP2 shows.
type variable struct {
	num  int // in the header
	v    *cdf3.Var
	name string // escaped
	dims []string
	// shape is without the last dimension of text, whose length is text.
	shape []int64
	text  int64
	why   string // why DAP2 cannot carry it; "" if it can
}

// maxCount is the largest length of an array or a string.
const maxCount = math.MaxInt32

// typeNames are the names of types in DAP2.
var typeNames = map[cdf3.Type]string{
	cdf3.Byte: "Byte", cdf3.UByte: "Byte", cdf3.Char: "String", cdf3.Short: "Int16", cdf3.UShort: "UInt16",
	cdf3.Int: "Int32", cdf3.UInt: "UInt32", cdf3.Float: "Float32", cdf3.Double: "Float64",
}

// New describes a file. The name is that of the data set.
func New(src slab.Source, name string) *Dataset {
	h := src.Header()
	d := &Dataset{name: escape(name), src: src, byName: make(map[string]int, len(h.Vars))}
	for i := range h.Vars {
		v := &h.Vars[i]
		if _, ok := d.byName[v.Name]; ok || !usable(v.Name) {
			continue
		}
		d.byName[v.Name] = 0
		d.vars = append(d.vars, newVariable(h, i))
	}
	slices.SortStableFunc(d.vars, func(a, b variable) int { return cmp.Compare(a.empty(), b.empty()) })
	for i := range d.vars {
		d.byName[d.vars[i].v.Name] = i
	}
	for i := range d.vars {
		v := &d.vars[i]
		// Clients send a name as it is in the DDS, or with its escapes undone.
		for _, name := range []string{v.name, "_" + v.v.Name} {
			if _, ok := d.byName[name]; !ok {
				d.byName[name] = i
			}
		}
	}
	return d
}

// Named returns the same data set under another name.
func (d *Dataset) Named(name string) *Dataset {
	named := *d
	named.name = escape(name)
	return &named
}

func newVariable(h *cdf3.Header, num int) variable {
	v := &h.Vars[num]
	out := variable{num: num, v: v, name: escape(v.Name), shape: v.Shape}
	for _, id := range v.DimIDs {
		out.dims = append(out.dims, escape(h.Dims[id].Name))
	}
	for i, n := range v.Shape {
		if n > maxCount {
			out.why = fmt.Sprintf("dimension %s has %d elements, and DAP2 has lengths up to %d", out.dims[i], n, maxCount)
		}
	}
	if v.Type == cdf3.Char {
		out.text = 1
		if last := len(v.Shape) - 1; last >= 0 {
			out.text, out.shape, out.dims = v.Shape[last], v.Shape[:last], out.dims[:last]
		}
	}
	if typeNames[v.Type] == "" {
		out.why = fmt.Sprintf("it has type %s, which DAP2 lacks", v.Type)
	}
	return out
}

// empty returns 1 for variables without elements and 0 for others.
func (v *variable) empty() int {
	if slices.Contains(v.v.Shape, 0) {
		return 1
	}
	return 0
}

// usable reports whether clients can hold a name: libnetcdf crashes on NUL.
func usable(name string) bool { return name != "" && !strings.Contains(name, "\x00") }

const hexDigits = "0123456789ABCDEF"

// escape returns a name as DAP2 writes it: all bytes but letters, digits and _-.+ become
// %XX. libnetcdf does not undo most escapes and takes these as they are. It opens no file
// with a name that begins with one, so that _ comes before it.
func escape(name string) string {
	plain := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '+'
	}
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if plain(c) {
			b.WriteByte(c)
		} else {
			if i == 0 {
				b.WriteByte('_')
			}
			b.WriteString(string([]byte{'%', hexDigits[c>>4], hexDigits[c&15]}))
		}
	}
	return b.String()
}

// quote returns a string as DAP2 writes it. NUL, which no client's text may contain, is
// written as in C.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case 0:
			b.WriteString(`\000`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
