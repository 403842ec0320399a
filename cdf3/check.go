package cdf3

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// maxName is the length in bytes of the longest name that the C library writes
// (NC_MAX_NAME).
const maxName = 256

// checkName reports what is wrong with the name of a new dimension, variable or attribute, by
// the rules of the specification (Note on names) and of the C library (NC_check_name in
// dstring.c). Names in files may be any bytes.
func checkName(name string) error {
	if msg := nameFault(name); msg != "" {
		return fmt.Errorf("cdf3: name %s: %s", quote(name), msg)
	}
	return nil
}

func nameFault(name string) (msg string) {
	switch {
	case name == "":
		return "expected at least one character, found an empty name"
	case len(name) > maxName:
		return fmt.Sprintf("expected at most %d bytes, found %d", maxName, len(name))
	case !utf8.ValidString(name):
		return "expected UTF-8, found other bytes"
	case strings.Contains(name, "/"):
		return "a slash cannot be part of a name"
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ' || c == 0x7f:
			return fmt.Sprintf("expected no control characters, found 0x%02x at byte %d", c, i)
		case i == 0 && c < utf8.RuneSelf && !alphanumeric(c) && c != '_':
			return fmt.Sprintf("expected a letter, a digit or an underscore as the first character, found %q", c)
		}
	}
	if name[len(name)-1] == ' ' {
		return "expected no blank at the end"
	}
	return ""
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// checker finds the first fault of a header.
type checker struct {
	v   Version
	err error
}

func (c *checker) fail(what, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("cdf3: cannot lay out %s: %s", what, fmt.Sprintf(format, args...))
	}
}

// names checks the names of n items. what describes an item.
func (c *checker) names(n int, name, what func(i int) string) {
	seen := make(map[string]int, n)
	for i := range n {
		s := name(i)
		if msg := nameFault(s); msg != "" {
			c.fail(what(i), "%s", msg)
		}
		if k, ok := seen[s]; ok {
			c.fail(what(i), "number %d has this name, too", k)
		}
		seen[s] = i
	}
}

// typ checks that the version has a type.
func (c *checker) typ(what string, t Type) {
	if t.Valid() && t > Double && c.v != Data64 {
		c.fail(what, "type %v, which %v does not have; CDF-5 does", t, c.v)
	}
}

func (c *checker) attrs(of string, attrs []Attr) {
	what := func(i int) string { return fmt.Sprintf("attribute %d %s%s", i, quote(attrs[i].Name), of) }
	c.names(len(attrs), func(i int) string { return attrs[i].Name }, what)
	for i := range attrs {
		c.typ(what(i), attrs[i].Type)
	}
}

// check makes the checks of Layout that LayoutRead does not make.
func (h *Header) check() error {
	c := checker{v: h.Version}
	dim := func(i int) string { return fmt.Sprintf("dimension %d %s", i, quote(h.Dims[i].Name)) }
	c.names(len(h.Dims), func(i int) string { return h.Dims[i].Name }, dim)
	unlimited := -1
	for i, d := range h.Dims {
		switch {
		case d.Len > h.Version.MaxDim():
			c.fail(dim(i), "length %d, expected at most %d in %v", d.Len, h.Version.MaxDim(), h.Version)
		case d.Len == 0 && unlimited >= 0:
			c.fail(dim(i), "expected one unlimited dimension (of length 0), found %s before", dim(unlimited))
		case d.Len == 0:
			unlimited = i
		}
	}
	c.attrs("", h.Attrs)
	what := func(i int) string { return fmt.Sprintf("variable %d %s", i, quote(h.Vars[i].Name)) }
	c.names(len(h.Vars), func(i int) string { return h.Vars[i].Name }, what)
	for i := range h.Vars {
		v := &h.Vars[i]
		c.typ(what(i), v.Type)
		if len(v.DimIDs) > MaxRank {
			c.fail(what(i), "%d dimensions, expected at most %d", len(v.DimIDs), MaxRank)
		}
		c.attrs(" of "+what(i), v.Attrs)
	}
	return c.err
}

// MaxDim returns the largest length of a dimension that the C library writes (NC_def_dim in
// dim.c).
func (v Version) MaxDim() int64 {
	switch v {
	case Classic:
		return math.MaxInt32 - 3
	case Offset64:
		return math.MaxUint32 - 3
	}
	return math.MaxInt64
}

// TooLarge returns the number of a variable whose size the version does not allow, or -1, for a
// header that was laid out. In CDF-1 and CDF-2, one variable may be larger than its field for the
// size: the last fixed one if there are no records, or the last in each record (NC_check_vlens
// in nc3internal.c of the C library).
func (h *Header) TooLarge() int {
	most := int64(math.MaxUint32 - 3)
	switch h.Version {
	case Classic:
		most = math.MaxInt32 - 3
	case Data64:
		return -1
	}
	last := map[bool]int{}
	for i := range h.Vars {
		last[h.Vars[i].Record] = i
	}
	_, records := last[true]
	for i := range h.Vars {
		v := &h.Vars[i]
		if v.RecLen > most && (i != last[v.Record] || !v.Record && records) {
			return i
		}
	}
	return -1
}
