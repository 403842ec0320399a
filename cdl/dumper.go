package cdl

import (
	"context"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// dumper is the state of one call of Dump. Text is collected in buf.
type dumper struct {
	ctx     context.Context
	w       io.Writer
	src     slab.Source
	h       *cdf3.Header
	o       *Options
	names   *names
	buf     []byte
	err     error // first error of w
	maxLine int   // bytes of a line of data
	col     int   // bytes in the current line of data, as ncdump counts them
	in      []byte
	bounds  *bounds    // see lastBounds; nil until first used
	times   *timeUnits // of the variable whose attributes are being written; may be nil
}

// flushLen is the length at which buf is written. buf exceeds it by at most one name or
// piece of text.
const flushLen = 64 << 10

func (d *dumper) text(s string) {
	d.buf = append(d.buf, s...)
	d.spill()
}

// spill writes buf if it is full.
func (d *dumper) spill() {
	if len(d.buf) >= flushLen {
		d.flush()
	}
}

func (d *dumper) flush() {
	if d.err == nil {
		_, d.err = d.w.Write(d.buf)
	}
	d.buf = d.buf[:0]
}

func (d *dumper) name(s string) {
	d.buf = appendName(d.buf, s)
	d.spill()
}

// names are the names of a header as C sees them: up to the first NUL.
type names struct {
	vars map[string]int // the last variable of each name
	dims map[string]int
}

func newNames(h *cdf3.Header) *names {
	n := &names{make(map[string]int, len(h.Vars)), make(map[string]int, len(h.Dims))}
	for i := range h.Vars {
		n.vars[cString(h.Vars[i].Name)] = i
	}
	for i := range h.Dims {
		n.dims[cString(h.Dims[i].Name)] = i
	}
	return n
}

// rooted reports whether ncdump puts a slash before the name of a dimension. It does so
// if a search for the normalized name does not find the dimension.
func (n *names) rooted(dims []cdf3.Dim, id int) bool {
	name := cString(dims[id].Name)
	return name == "" || n.dims[name] != id || !utf8.ValidString(name) || decomposed(name)
}

// attr returns the first attribute of that name, or nil.
func attr(attrs []cdf3.Attr, name string) *cdf3.Attr {
	for i := range attrs {
		if cString(attrs[i].Name) == name {
			return &attrs[i]
		}
	}
	return nil
}

// unlimited returns the number of the first unlimited dimension, or -1.
func unlimited(h *cdf3.Header) int {
	return slices.IndexFunc(h.Dims, func(dim cdf3.Dim) bool { return dim.Len == 0 })
}

// int writes a number.
func (d *dumper) int(n int64) { d.buf = strconv.AppendInt(d.buf, n, 10) }

// attrName begins the line of an attribute.
func (d *dumper) attrName(v, name string) {
	d.text("\t\t")
	d.name(v)
	d.text(":")
	d.name(name)
	d.text(" = ")
}

// firstAttrs returns the first attribute of each name.
func firstAttrs(attrs []cdf3.Attr) map[string]*cdf3.Attr {
	first := make(map[string]*cdf3.Attr, len(attrs))
	for i := range attrs {
		if name := cString(attrs[i].Name); first[name] == nil {
			first[name] = &attrs[i]
		}
	}
	return first
}
